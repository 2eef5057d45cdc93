//! `budget`: limits after which a run ends early.

use crate::mapping_reader::MappingReader;
use crate::node::NodeValue;
use crate::problems::Problems;
use crate::source::Span;
use std::time::Duration;

/// Budget of a run. A limit that is not set does not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetSpec {
    /// Maximum cost by the prices of `pricing`, in their currency.
    pub max_cost: Option<f64>,
    /// Maximum number of tokens of all prompts and completions, including those of judges.
    pub max_tokens_total: Option<u64>,
    /// Maximum time of the process, from its first request.
    pub max_time: Option<Duration>,
    /// Maximum number of failed samples. The run ends when more have failed.
    pub max_failures: Option<u64>,
    /// Span of the cost.
    pub cost_span: Option<Span>,
}

impl BudgetSpec {
    pub(crate) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> BudgetSpec {
        let node = table.get("budget");
        let mut inner = table.section(node, "budget", problems);
        let budget = BudgetSpec {
            max_cost: inner.float("max_cost", 0.0..=1e12, problems),
            cost_span: inner.get("max_cost").map(|node| node.span),
            max_tokens_total: inner.integer("max_tokens_total", 1..=u64::MAX, problems),
            max_time: read_time(&mut inner, problems),
            max_failures: inner.integer("max_failures", 0..=u64::MAX, problems),
        };
        inner.finish(problems);
        budget
    }

    /// Returns the part of this budget for one of `shards` processes, so that together they keep to it. Failures are rounded up,
    /// and all else down. The time is that of each process.
    #[must_use]
    pub fn of_shard(self, shards: u64) -> BudgetSpec {
        let shards = shards.max(1);
        BudgetSpec {
            // A number of shards stays far below 2^53.
            max_cost: self.max_cost.map(|cost| cost / shards as f64),
            max_tokens_total: self.max_tokens_total.map(|tokens| (tokens / shards).max(1)),
            max_failures: self.max_failures.map(|failures| failures.div_ceil(shards)),
            ..self
        }
    }

    /// Returns this budget, with unset limits taken from `lower`.
    #[must_use]
    pub fn over(self, lower: &BudgetSpec) -> BudgetSpec {
        BudgetSpec {
            max_cost: self.max_cost.or(lower.max_cost),
            max_tokens_total: self.max_tokens_total.or(lower.max_tokens_total),
            max_time: self.max_time.or(lower.max_time),
            max_failures: self.max_failures.or(lower.max_failures),
            cost_span: self.cost_span.or(lower.cost_span),
        }
    }
}

fn read_time(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<Duration> {
    let node = table.get("max_time")?;
    let text = match (&node.value, &node.plain) {
        (NodeValue::Text(text), _) | (_, Some(text)) => text.clone(),
        _ => node.to_json().to_string(),
    };
    parse_duration(&text).map_err(|message| table.error("max_time", message, problems).severity).ok()
}

/// Parses a duration: seconds, or numbers with the units `s`, `m`, `h`, `d`, such as `90`, `30m`, `1h30m`.
///
/// # Errors
/// Returns what is wrong with the text, and the expected form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write seconds, or units like 90s, 30m, 1h30m");
    let mut seconds = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
        let (number, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let mut characters = behind.chars();
        let unit = match characters.next() {
            None if rest.len() == text.trim().len() => 1.0,
            Some('s') => 1.0,
            Some('m') => 60.0,
            Some('h') => 3_600.0,
            Some('d') => 86_400.0,
            _ => return Err(wrong()),
        };
        seconds += number * unit;
        rest = characters.as_str();
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_units() {
        for (text, seconds) in
            [("90", 90.0), ("0.5", 0.5), ("30m", 1_800.0), ("1h30m", 5_400.0), ("1d1s", 86_401.0)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "0", "-1", "1h30", "m", "5x", "1.2.3", "nan", "1e400"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
