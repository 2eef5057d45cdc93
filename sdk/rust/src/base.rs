//! Common kinds of metrics ("shapes"). Each is a trait for the author's part, and a type that turns it into a
//! [`Metric`](crate::metric::Metric) for the list in [`metrics!`](crate::metrics):
//! `metrics: [Comparison<SameLength>]`.
//!
//! | shape | trait | the author gives |
//! | --- | --- | --- |
//! | [`Comparison`] | [`Compare`] | a card for an answer and its reference |
//! | [`SequenceDistance`] | [`Distance`] | a distance between two texts; default: Levenshtein |
//! | [`MultiReference`] | [`ScoreText`] | a score for an answer and one of several references; default: equality |
//! | [`NumericThreshold`] | [`Decide`] | whether two numbers are close enough; default: a tolerance and bounds |
//! | [`Likelihood`] | [`Describe`] | a name |
//! | [`Ranking`] | [`Describe`] | a name |
//!
//! Metrics of other shapes implement `Metric` directly.
//!
//! The author's type is deserialized from the parameters: its fields are additional parameters, declared in
//! the spec with [`MetricSpec::param`]. A type without fields is `struct Name {}`, with braces. Inputs and
//! parameters of the shape are added to the author's spec.

mod comparison;
mod distance;
mod likelihood;
mod ranking;
mod references;
mod threshold;

pub use comparison::{Compare, Comparison};
pub use distance::{Distance, SequenceDistance};
pub use likelihood::Likelihood;
pub use ranking::Ranking;
pub use references::{MultiReference, ScoreText};
pub use threshold::{Decide, Limits, NumericThreshold};

use crate::PluginError;
use crate::metric::{MetricSpec, ValueKind};
use crate::text::{Normalize, normalize_text};
use serde_json::{Value, json};

/// Author's part of shapes that need only a name.
pub trait Describe {
    /// Returns its name in suites.
    fn name() -> &'static str;

    /// Returns the version and the description; see [`MetricSpec::new`].
    fn spec() -> MetricSpec;
}

/// Indices of the inputs of shapes that compare two values.
const PREDICTION: usize = 0;
const REFERENCE: usize = 1;

/// Adds the answer and the label as inputs.
fn with_pair(spec: MetricSpec, kind: ValueKind) -> MetricSpec {
    spec.input("prediction", &["prediction_field"], &["model_output.answer"], kind).input(
        "reference",
        &["label_field"],
        &["sample.label"],
        kind,
    )
}

/// Adds the parameter `case_sensitive`.
fn with_case(spec: MetricSpec) -> MetricSpec {
    spec.param("case_sensitive", json!({ "type": "boolean", "default": false }))
}

/// Normalizes a text for comparison: trimmed, with single blanks, in lower case unless case counts.
fn comparable(text: &str, case_sensitive: bool) -> String {
    normalize_text(text, Normalize { case_sensitive, collapse_whitespace: true, ..Normalize::default() })
}

/// Parses a parameter that is one of several words, ignoring case.
fn one_of<T: Copy>(name: &str, value: &str, allowed: &[(&str, T)]) -> Result<T, PluginError> {
    let found = allowed.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<&str> = allowed.iter().map(|(word, _)| *word).collect();
        let message = format!("params: '{name}' must be one of {}, not '{value}'", words.join(", "));
        PluginError::invalid_config(message).at(format!("/{name}"))
    })
}

/// Truncates a very long text for a card, since a card has a size limit.
fn shown(text: &str) -> Value {
    const MAX_MESSAGE_BYTES: usize = 4096;
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_MESSAGE_BYTES)]).into()
}

#[cfg(test)]
mod testing {
    use crate::metric::{Inputs, Metric, Value};
    use crate::{PluginError, ScoreCard};
    use serde_json::json;

    /// Returns the card of one item.
    pub fn score<M: Metric>(params: serde_json::Value, inputs: &[Value]) -> Result<ScoreCard, PluginError> {
        M::prepare(params)?.score(Inputs::new(inputs))
    }

    /// Returns a member of the detail of a card.
    pub fn detail(card: &ScoreCard, name: &str) -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&card.detail)
            .map_or(json!(null), |detail| detail[name].clone())
    }
}
