//! The description of a component's member: what it reads, what it reports, which parameters it has.

use serde_json::Value;

/// The parts of a description that only some kinds have.
#[derive(Default)]
pub(crate) struct OptionalMetadata {
    pub(crate) hook: Option<&'static str>,
    pub(crate) values: Vec<ValueDescription>,
    pub(crate) default_aggregation: Option<String>,
}

/// What a member of a component says of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MemberDescription {
    /// The name.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Changes whenever a result could.
    pub version: String,
    /// Of a doc hook: `text`, `visual` or `audio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<&'static str>,
    /// What it reads, where the host resolves it: metrics and extractors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputDescription>,
    /// What a metric reports; the first is the primary one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueDescription>,
    /// How a metric's scores become one figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_aggregation: Option<String>,
    /// JSON Schema of its parameters.
    pub params_schema: Value,
}

/// A value that the host resolves for a member.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct InputDescription {
    /// The name.
    pub name: String,
    /// Parameters that override its path; the first that is set wins.
    pub path_params: Vec<String>,
    /// Where it is looked for otherwise; the first that exists wins.
    pub default_paths: Vec<String>,
}

/// A value that a metric reports.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ValueDescription {
    /// The name.
    pub name: String,
    /// Which direction is better.
    pub higher_is_better: bool,
    /// Smallest value, where there is one.
    pub minimum: Option<f64>,
    /// Largest value, where there is one.
    pub maximum: Option<f64>,
}

impl ValueDescription {
    /// Smallest and largest value, where both are known.
    pub fn scale(&self) -> Option<[f64; 2]> {
        let scale = [self.minimum?, self.maximum?];
        (scale.iter().all(|bound| bound.is_finite()) && scale[0] < scale[1]).then_some(scale)
    }
}
