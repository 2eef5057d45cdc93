//! Reasons of verdicts, in words.

use super::format::{count, counted, number, p_value, percent};
use super::reading::MAX_SCORE;
use super::result::{GateNote, MetricComparison, TaskPairing};
use super::unscored::UnscoredReason;
use super::verdict::Verdict;
use std::collections::BTreeMap;

/// Returns the reason for a metric's verdict. `is_too_few` is true if not even a run without changes could pass.
pub(super) fn of(metric: &MetricComparison, gate: &GateNote, gain: f64, is_too_few: bool) -> String {
    let change = change(metric, gain);
    // As written in the gate; rounding could change it.
    let margin = gate.margin.to_string();
    match gate.verdict {
        Verdict::Pass => {
            let ruled_out =
                format!("a loss of {margin} or more is ruled out ({})", p_value(gate.margin_p_value));
            match gate.worse_adjusted <= gate.alpha {
                true => format!("{change}: a loss, but within the margin; {ruled_out}"),
                false => format!("{change}; {ruled_out}"),
            }
        }
        Verdict::Regression => format!(
            "{change}, which chance does not explain ({}); a loss of {margin} or more cannot be ruled out ({})",
            p_value(gate.worse_adjusted),
            p_value(gate.margin_p_value)
        ),
        Verdict::Inconclusive => {
            let mut text = match gain < 0.0 {
                true => format!("{change}, which may be chance ({})", p_value(gate.worse_adjusted)),
                false => change,
            };
            text += &format!(
                "; a loss of {margin} or more cannot be ruled out ({})",
                p_value(gate.margin_p_value)
            );
            if is_too_few {
                let alpha = number(gate.alpha);
                let clusters =
                    metric.clusters.map(|clusters| format!(" in {}", counted(clusters, "cluster")));
                let are = if metric.n == 1 { "is" } else { "are" };
                text += &format!(
                    "; even without any change, {}{} {are} too few to rule it out at alpha {alpha}",
                    counted(metric.n, "sample"),
                    clusters.unwrap_or_default()
                );
            }
            match gate.samples_needed {
                Some(needed) => {
                    text += &format!("; about {} are needed to decide", counted(needed, "sample"))
                }
                None if metric.clusters == Some(1) => {
                    text += "; all samples are in one cluster, which says nothing about others";
                }
                None => text += "; no number of samples would decide",
            }
            match metric.smallest_visible {
                Some(visible) => {
                    text += &format!("; with {} a loss of {} is detected", count(metric.n), number(visible));
                }
                None => {
                    let are = if metric.n == 1 { "is" } else { "are" };
                    text += &format!("; {} {are} too few to detect any loss", count(metric.n));
                }
            }
            text
        }
        Verdict::Incomplete if metric.too_large > 0 => too_large(metric),
        Verdict::Incomplete => {
            let mut text = format!(
                "{} of the samples are scored in both runs; the gate asks for {}",
                percent(metric.coverage),
                percent(gate.min_coverage)
            );
            for part in unscored(metric) {
                text += &format!("; {part}");
            }
            text
        }
        Verdict::Mismatch => "the runs are not comparable".to_owned(),
    }
}

/// `2 samples have scores beyond ±1e100, …`.
pub(super) fn too_large(metric: &MetricComparison) -> String {
    let have = if metric.too_large == 1 { "has" } else { "have" };
    format!(
        "{} {have} scores too large to compare (beyond ±{MAX_SCORE:e}); correct these scores, or leave this \
         metric out of the gate",
        counted(metric.too_large, "sample")
    )
}

fn change(metric: &MetricComparison, gain: f64) -> String {
    let all = counted(metric.n, "sample");
    let changed = match (metric.worse, metric.better) {
        (0, 0) if gain == 0.0 => return format!("none of {all} changed"),
        (0, 0) => format!("no score of {all} changed"),
        (worse, 0) => format!("{} of {all} worse, none better", count(worse)),
        (0, better) => format!("{} of {all} better, none worse", count(better)),
        (worse, better) => format!("{} of {all} worse, {} better", count(worse), count(better)),
    };
    let direction = if gain < 0.0 { "worse" } else { "better" };
    let what = if metric.test.is_of_corpus() { "the figure" } else { "the mean" };
    match gain {
        0.0 => format!("{changed}, {what} as before"),
        gain => format!("{changed}, {what} {direction} by {}", number(gain.abs())),
    }
}

/// Lists the causes of samples without a partner, with their counts.
pub(super) fn causes(tasks: &[TaskPairing]) -> String {
    let sum = |part: fn(&TaskPairing) -> u64| tasks.iter().map(part).sum::<u64>();
    let causes = [
        (sum(|task| task.only_in_base), "only in the baseline"),
        (sum(|task| task.only_in_new), "only in the new run"),
        (sum(|task| task.different_content), "with the same id but other content"),
        (sum(|task| task.duplicate_ids), "with an id that occurs twice"),
        (sum(|task| task.not_reached), "that neither run reached"),
    ];
    let listed = causes.iter().filter(|(number, _)| *number > 0);
    listed.map(|(number, cause)| format!("{} {cause}", count(*number))).collect::<Vec<_>>().join(", ")
}

/// `not scored in the baseline: 3 truncated, 1 with a null score`, for each run that lacks scores.
pub(super) fn unscored(metric: &MetricComparison) -> Vec<String> {
    let runs = [("the baseline", &metric.unscored_base), ("the new run", &metric.unscored_new)];
    let lacking = runs.into_iter().filter(|(_, ends)| !ends.is_empty());
    lacking.map(|(name, ends)| format!("not scored in {name}: {}", causes_of(ends))).collect()
}

fn causes_of(ends: &BTreeMap<UnscoredReason, u64>) -> String {
    let causes = ends.iter().map(|(cause, number)| format!("{} {}", count(*number), cause.words()));
    causes.collect::<Vec<_>>().join(", ")
}
