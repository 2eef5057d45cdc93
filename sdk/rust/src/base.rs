//! The shapes that metrics often have. Each is a trait for what is the author's own, and a type
//! that makes a [`Metric`](crate::metric::Metric) of it, for the list in
//! [`metrics!`](crate::metrics): `metrics: [Comparison<SameLength>]`.
//!
//! | shape | trait | the author gives |
//! | --- | --- | --- |
//! | [`Comparison`] | [`Compare`] | a card for an answer and its reference |
//! | [`SequenceDistance`] | [`Distance`] | a distance between two texts, or none for that of Levenshtein |
//! | [`MultiReference`] | [`ScoreText`] | a score for an answer and one of several references, or none for equality |
//! | [`NumericThreshold`] | [`Decide`] | whether two numbers are near enough, or none for a tolerance and bounds |
//! | [`Likelihood`] | [`Describe`] | a name |
//! | [`Ranking`] | [`Describe`] | a name |
//!
//! What has none of these shapes implements `Metric` itself.
//!
//! The author's type is read from the parameters: its fields are parameters of its own, declared in
//! the spec with [`MetricSpec::param`]. A type without any is `struct Name {}`, with braces. Inputs
//! and parameters of the shape are added to the author's spec.

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

/// For shapes that leave nothing to the author but the name.
pub trait Describe {
    /// What it is called in suites.
    fn name() -> &'static str;

    /// The version and the description; see [`MetricSpec::new`].
    fn spec() -> MetricSpec;
}

/// Where the inputs of the shapes stand that compare two values.
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

/// The text as the shapes compare it: trimmed, with single blanks, in lower case unless case counts.
fn comparable(text: &str, case_sensitive: bool) -> String {
    normalize_text(text, Normalize { case_sensitive, collapse_whitespace: true, ..Normalize::default() })
}

/// A parameter that is one of some words, in any case.
fn one_of<T: Copy>(name: &str, value: &str, allowed: &[(&str, T)]) -> Result<T, PluginError> {
    let found = allowed.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<&str> = allowed.iter().map(|(word, _)| *word).collect();
        let message = format!("params: '{name}' must be one of {}, not '{value}'", words.join(", "));
        PluginError::invalid_config(message).at(format!("/{name}"))
    })
}

/// A text as a card shows it: cut where it is very long, since a card has a size limit.
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

    /// The card of one item.
    pub fn score<M: Metric>(params: serde_json::Value, inputs: &[Value]) -> Result<ScoreCard, PluginError> {
        M::prepare(params)?.score(Inputs::new(inputs))
    }

    /// A member of the detail of a card.
    pub fn detail(card: &ScoreCard, name: &str) -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&card.detail)
            .map_or(json!(null), |detail| detail[name].clone())
    }
}
