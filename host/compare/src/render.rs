//! Renders a comparison for terminals, build servers and pull requests. All third-party text is escaped.

mod github;
mod junit;
mod markdown;
mod terminal;

pub use github::github_annotations;
pub use junit::junit_xml;
pub use markdown::markdown;
pub use terminal::render_comparison;

use super::format;
use super::reason;
use super::result::{Comparison, MetricComparison, SliceDrift, TagDrift};
use super::verdict::Verdict;
use gage_figures::Interval;

/// Maximum q-value at which a slice is reported as changed.
const MAX_CHANGED_Q_VALUE: f64 = 0.05;

/// Message for a run that is compared with itself.
const SAME_RUN: &str = "both are the same run, so nothing can differ";

/// Maximum number of slices, and of error tags, that are shown for a metric.
const MAX_PARTS: usize = 5;

impl Comparison {
    /// Returns the verdict in one line.
    pub fn headline(&self) -> String {
        let gated = || self.metrics.iter().filter(|metric| metric.gate.is_some());
        let Some(verdict) = self.verdict else {
            return format!("{} compared; no gate was set", metrics(self.metrics.len()));
        };
        if let Some(refusal) = &self.refusal {
            return format!("{verdict}: {}", format::sentence(refusal));
        }
        let of_verdict: Vec<String> = gated()
            .filter(|metric| metric.gate.as_ref().is_some_and(|gate| gate.verdict == verdict))
            .map(MetricComparison::name)
            .collect();
        match verdict {
            Verdict::Pass => format!("{verdict}: {}", metrics(of_verdict.len())),
            _ => format!(
                "{verdict}: {} of {}: {}",
                of_verdict.len(),
                metrics(gated().count()),
                of_verdict.join(", ")
            ),
        }
    }

    /// Returns the metrics, the most important first, otherwise in the order of the suite.
    fn by_importance(&self) -> Vec<&MetricComparison> {
        let mut sorted: Vec<&MetricComparison> = self.metrics.iter().collect();
        sorted.sort_by_key(|metric| match metric.gate.as_ref().map(|gate| gate.verdict) {
            Some(Verdict::Mismatch) => 0,
            Some(Verdict::Regression) => 1,
            Some(Verdict::Incomplete) => 2,
            Some(Verdict::Inconclusive) => 3,
            Some(Verdict::Pass) => 4,
            None => 5,
        });
        sorted
    }
}

fn metrics(number: usize) -> String {
    format::counted(number as u64, "metric")
}

/// Formats a score or a mean: four decimals, fewer from 100 on, and scientific notation from a million on.
fn score(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.3e}"),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}

/// Formats a difference with its sign; the minus is as wide as the plus.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", score(value.abs()))
}

/// `0.9800 → 0.9400, −0.0400 (95 %: −0.0540 to −0.0290)`.
fn change_of(metric: &MetricComparison) -> String {
    let (Some(base), Some(new), Some(difference)) = (metric.base, metric.new, metric.difference) else {
        return "no sample is scored in both runs".to_owned();
    };
    change(base, new, difference, metric.interval)
}

fn change(base: f64, new: f64, difference: f64, interval: Option<Interval>) -> String {
    let interval = interval
        .map(|interval| format!(" (95 %: {} to {})", signed(interval.low), signed(interval.high)))
        .unwrap_or_default();
    format!("{} → {}, {}{interval}", score(base), score(new), signed(difference))
}

/// `40 of 1,000 worse, 2 better; coverage 100 %`.
fn counts_of(metric: &MetricComparison) -> String {
    let (worse, better) = (format::count(metric.worse), format::count(metric.better));
    let clusters = metric
        .clusters
        .map(|clusters| format!(" in {}", format::counted(clusters, "cluster")))
        .unwrap_or_default();
    let coverage = format::percent(metric.coverage);
    // The reason of an incomplete gate already includes this.
    let is_said = metric.gate.as_ref().is_some_and(|gate| gate.verdict == Verdict::Incomplete);
    let unscored: String = match is_said {
        true => String::new(),
        false => reason::unscored(metric).iter().map(|part| format!("; {part}")).collect(),
    };
    format!(
        "{worse} worse, {better} better of {}{clusters}; coverage {coverage}{unscored}",
        format::count(metric.n)
    )
}

/// Returns the first few error tags and then the first few slices that changed, one line each, with the number of further
/// ones.
fn drift_lines(metric: &MetricComparison) -> Vec<String> {
    let tags = metric.error_tags.iter().filter(|tag| tag.base != tag.new || tag.worse > 0);
    let mut lines = first_few(tags.map(|tag| format!("tag {}", tag_line(tag))), "tag");
    // Sorted by q-value, so the most certain come first.
    let slices = metric.slices.iter().filter(|slice| slice.q_value <= MAX_CHANGED_Q_VALUE);
    lines.extend(first_few(slices.map(|slice| format!("slice {}", slice_line(slice))), "slice"));
    lines
}

fn first_few(mut lines: impl Iterator<Item = String>, what: &str) -> Vec<String> {
    let mut shown: Vec<String> = lines.by_ref().take(MAX_PARTS).collect();
    match lines.count() {
        0 => {}
        more => shown.push(format!("… and {more} more {what}{}", if more == 1 { "" } else { "s" })),
    }
    shown
}

fn slice_line(slice: &SliceDrift) -> String {
    let name = format::shortened(&format!("{}={}", slice.by, slice.key));
    format!(
        "{name}: {} → {} over {} (q = {})",
        score(slice.base),
        score(slice.new),
        format::count(slice.n),
        format::number((slice.q_value * 1e4).ceil() / 1e4)
    )
}

fn tag_line(tag: &TagDrift) -> String {
    let name = format::shortened(&tag.tag);
    let (base, new) = (format::count(tag.base), format::count(tag.new));
    let worse = match tag.worse {
        0 => String::new(),
        worse => format!(", {} of those that became worse", format::count(worse)),
    };
    format!("{name}: {base} → {new}{worse}")
}
