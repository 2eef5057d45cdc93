//! Spans of an answer in the form that is compared.

use super::alignment::aligned;
use crate::squad::without_articles;
use gage_sdk::PluginError;
use gage_text_kit::number::{float_text, parse_float};
use gage_text_kit::text::{lower, words};
use std::collections::BTreeSet;

/// Maximum number of spans of an answer.
const MAX_SPANS: usize = 100;

/// The spans of an answer, normalized.
pub(super) struct Spans(Vec<String>);

impl Spans {
    /// # Errors
    /// `invalid-input` for too many spans.
    pub(super) fn new(spans: &[String]) -> Result<Spans, PluginError> {
        if spans.len() > MAX_SPANS {
            let message = format!("an answer has {} spans; {MAX_SPANS} are allowed", spans.len());
            return Err(PluginError::invalid_input(message));
        }
        Ok(Spans(spans.iter().map(|span| normalized(span)).collect()))
    }

    /// Returns whether nothing is left of all spans.
    pub(super) fn is_blank(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    /// Returns whether both have equally many spans, and each span of one is a span of the other.
    pub(super) fn is_equal(&self, other: &Spans) -> bool {
        let set = |spans: &Spans| spans.0.iter().cloned().collect::<BTreeSet<String>>();
        self.0.len() == other.0.len() && set(self) == set(other)
    }

    /// Returns the mean F1 of the aligned spans, rounded to two digits.
    pub(super) fn f1(&self, reference: &Spans) -> f64 {
        let bags = |spans: &'_ Spans| -> Vec<BTreeSet<String>> {
            spans.0.iter().map(|span| words(span).map(str::to_owned).collect()).collect()
        };
        let (predicted, expected) = (bags(self), bags(reference));
        let scores: Vec<Vec<f64>> =
            expected.iter().map(|right| predicted.iter().map(|bag| overlap(bag, right)).collect()).collect();
        let sum: f64 = aligned(&scores).iter().sum();
        let mean = sum / predicted.len().max(expected.len()).max(1) as f64;
        (mean * 100.0).round_ties_even() / 100.0
    }
}

/// Returns F1 of the words of two spans. If the reference has numbers, one of them must be in the prediction.
fn overlap(predicted: &BTreeSet<String>, expected: &BTreeSet<String>) -> f64 {
    let common = expected.intersection(predicted).count();
    let mut numbers = expected.iter().filter(|word| parse_float(word).is_some()).peekable();
    if numbers.peek().is_some() && !numbers.any(|number| predicted.contains(number)) {
        return 0.0;
    }
    // A side without words has all of its words in common.
    let share = |of: &BTreeSet<String>| if of.is_empty() { 1.0 } else { common as f64 / of.len() as f64 };
    let (precision, recall) = (share(predicted), share(expected));
    if precision == 0.0 && recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
}

/// Returns a span in lower case, without punctuation and articles, and with numbers as Python spells a float. Words end
/// at a space or a hyphen.
fn normalized(span: &str) -> String {
    let mut found = String::with_capacity(span.len());
    for token in span.split([' ', '-']) {
        let token = lower(token);
        let plain: String = match parse_float(&token) {
            Some(_) => token.into_owned(),
            None => token.chars().filter(|character| !character.is_ascii_punctuation()).collect(),
        };
        let plain = parse_float(&plain).map_or(plain, spelled);
        for word in words(&without_articles(plain.chars())) {
            if !found.is_empty() {
                found.push(' ');
            }
            found.push_str(word);
        }
    }
    found
}

/// Implements Python's `str` of a float.
fn spelled(number: f64) -> String {
    /// Python writes larger numbers with an exponent.
    const MIN_SCIENTIFIC: f64 = 1e16;
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if number.abs() >= MIN_SCIENTIFIC {
        return format!("{number:e}").replace('e', "e+");
    }
    if number.fract() == 0.0 { format!("{number:.1}") } else { float_text(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_normalized() {
        for (span, expected) in [
            ("The U.S. Army", "us army"),
            ("5", "5.0"),
            ("5,000 men", "5000.0 men"),
            ("3.5% of a ten-year $20", "35.0 of ten year 20.0"),
            ("1e20 .00001 1_0", "1e+20 1e-05 10.0"),
            ("nan Infinity", "nan inf"),
            ("An", ""),
            ("5\nthe", "5"),
            ("-", ""),
        ] {
            assert_eq!(normalized(span), expected, "{span:?}");
        }
    }

    #[test]
    fn longer_lists_lower_the_mean() {
        let spans = |texts: &[&str]| {
            Spans::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        for (predicted, expected, f1) in [
            (vec!["a b c", "x"], vec!["x"], 0.5),
            (vec!["red dog"], vec!["dog", "red cat", "bird"], 0.22),
            (vec!["3 dogs"], vec!["4 dogs"], 0.0),
            (vec!["the"], vec!["a"], 1.0),
        ] {
            assert_eq!(spans(&predicted).f1(&spans(&expected)), f1, "{predicted:?}");
        }
    }
}
