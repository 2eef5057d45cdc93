//! Answers in words.

use super::reading::MAX_SCORE;
use super::result::{GateNote, MetricComparison, TaskPairing};
use super::unscored::Unscored;
use super::verdict::Verdict;
use std::collections::BTreeMap;

/// Longest part of a text of others that stands in a reason, in characters.
const MAX_REASON_CHARS: usize = 200;

/// Most characters of a sentence of the program that holds such texts.
const MAX_SENTENCE_CHARS: usize = 600;

/// Digits of a digest that are shown.
const SHOWN_DIGITS: usize = 12;

/// Why a metric has its verdict; `is_too_few` where no scores of so few samples could have passed.
pub(super) fn of(metric: &MetricComparison, gate: &GateNote, gain: f64, is_too_few: bool) -> String {
    let change = change(metric, gain);
    // As it was written: rounded it could be another.
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
            "{change}, which is no accident ({}); a loss of {margin} or more cannot be ruled out ({})",
            p_value(gate.worse_adjusted),
            p_value(gate.margin_p_value)
        ),
        Verdict::Inconclusive => {
            let mut text = match gain < 0.0 {
                true => format!("{change}, which may be an accident ({})", p_value(gate.worse_adjusted)),
                false => change,
            };
            text += &format!(
                "; a loss of {margin} or more cannot be ruled out ({})",
                p_value(gate.margin_p_value)
            );
            if is_too_few {
                let alpha = number(gate.alpha);
                text += &format!(
                    "; no scores of {} could rule it out at alpha {alpha}",
                    counted(metric.n, "sample")
                );
            }
            match gate.samples_needed {
                Some(needed) => text += &format!("; to tell, about {} are needed", counted(needed, "sample")),
                None => text += "; no number of samples would tell",
            }
            match metric.smallest_visible {
                Some(visible) => {
                    text += &format!("; with {} a loss of {} is seen", count(metric.n), number(visible));
                }
                None => {
                    let are = if metric.n == 1 { "is" } else { "are" };
                    text += &format!("; {} {are} too few to see any loss", count(metric.n));
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
        Verdict::Mismatch => "the runs are not of the same thing".to_owned(),
    }
}

/// `2 samples have scores beyond ±1e100, …`.
pub(super) fn too_large(metric: &MetricComparison) -> String {
    let have = if metric.too_large == 1 { "has" } else { "have" };
    format!(
        "{} {have} scores too large to compare (beyond ±{MAX_SCORE:e}); mend what gives such scores, or leave this metric out of the gate",
        counted(metric.too_large, "sample")
    )
}

fn change(metric: &MetricComparison, gain: f64) -> String {
    let all = counted(metric.n, "sample");
    let changed = match (metric.worse, metric.better) {
        (0, 0) => return format!("none of {all} changed"),
        (worse, 0) => format!("{} of {all} worse, none better", count(worse)),
        (0, better) => format!("{} of {all} better, none worse", count(better)),
        (worse, better) => format!("{} of {all} worse, {} better", count(worse), count(better)),
    };
    let direction = if gain < 0.0 { "worse" } else { "better" };
    match gain {
        0.0 => format!("{changed}, the mean as before"),
        gain => format!("{changed}, the mean {direction} by {}", number(gain.abs())),
    }
}

/// Why samples have no partner.
pub(super) fn causes(tasks: &[TaskPairing]) -> String {
    let sum = |part: fn(&TaskPairing) -> u64| tasks.iter().map(part).sum::<u64>();
    let causes = [
        (sum(|task| task.only_in_base), "only in the baseline"),
        (sum(|task| task.only_in_new), "only in the new run"),
        (sum(|task| task.different_content), "of the same id with other content"),
        (sum(|task| task.duplicate_ids), "with an id that occurs twice"),
        (sum(|task| task.not_reached), "that neither run came to"),
    ];
    let listed = causes.iter().filter(|(number, _)| *number > 0);
    listed.map(|(number, cause)| format!("{} {cause}", count(*number))).collect::<Vec<_>>().join(", ")
}

/// `not scored in the baseline: 3 truncated, 1 with the score null`, for each run that lacks scores.
pub(super) fn unscored(metric: &MetricComparison) -> Vec<String> {
    let runs = [("the baseline", &metric.unscored_base), ("the new run", &metric.unscored_new)];
    let lacking = runs.into_iter().filter(|(_, ends)| !ends.is_empty());
    lacking.map(|(name, ends)| format!("not scored in {name}: {}", causes_of(ends))).collect()
}

fn causes_of(ends: &BTreeMap<Unscored, u64>) -> String {
    let causes = ends.iter().map(|(cause, number)| format!("{} {}", count(*number), cause.words()));
    causes.collect::<Vec<_>>().join(", ")
}

/// A number with as many digits as say something: three.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    // Between -4 and 8.
    let digits = 2 - size.log10().floor() as i32;
    let text = format!("{value:.places$}", places = usize::try_from(digits.max(0)).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `p = 0.013`, `p < 0.0001`.
pub(super) fn p_value(value: f64) -> String {
    match value {
        small if small < 0.0001 => "p < 0.0001".to_owned(),
        value => format!("p = {}", number((value * 1e4).ceil() / 1e4)),
    }
}

/// Rounded down, so that only the whole is 100 %.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", number((part * 1_000.0 + 1e-9).floor() / 10.0))
}

/// So many of a thing: `1 sample`, `1,000 samples`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {thing}{end}", count(number))
}

/// A number of samples, thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The beginning of a text of others, on one line and without what steers a terminal.
pub(super) fn shortened(text: &str) -> String {
    bounded(text, MAX_REASON_CHARS)
}

/// The same of a text of the program that holds what was shortened: what to do stands at its end.
pub(super) fn sentence(text: &str) -> String {
    bounded(text, MAX_SENTENCE_CHARS)
}

fn bounded(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    let printable = gage_core::printable_line(&cut).into_owned();
    if cut.len() < text.len() { format!("{printable}…") } else { printable }
}

/// A text with as many digits of its digests as people compare: `"sha256:0661326432ea…"`.
pub(super) fn with_short_digests(text: &str) -> String {
    const NAME: &str = "sha256:";
    let mut parts = text.split(NAME);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (digest, rest) = part.split_at(digits);
        let is_open = short.ends_with('"');
        short += NAME;
        short += digest.get(..SHOWN_DIGITS).unwrap_or(digest);
        // It may have been cut off already, with its quotation mark.
        let rest = match (digits > SHOWN_DIGITS, rest.strip_prefix('…')) {
            (true, Some(rest)) if is_open => format!("…\"{rest}"),
            (true, Some(rest)) => format!("…{rest}"),
            (true, None) => format!("…{rest}"),
            (false, _) => rest.to_owned(),
        };
        short += &rest;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_as_long_as_people_compare() {
        let digest = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            (format!("content: \"sha256:{digest}\" before"), "content: \"sha256:0123456789ab…\" before"),
            (format!("\"sha256:{}… before", &digest[..40]), "\"sha256:0123456789ab…\" before"),
            (format!("sha256:{digest}, sha256:{digest}"), "sha256:0123456789ab…, sha256:0123456789ab…"),
            ("\"sha256:aa\" sha256: é".to_owned(), "\"sha256:aa\" sha256: é"),
        ] {
            assert_eq!(with_short_digests(&text), expected);
        }
    }
}
