//! Description of a component's member: its inputs, outputs and parameters.

use serde_json::Value;

/// Parts of a description that only some kinds have.
#[derive(Default)]
pub(crate) struct OptionalMetadata {
    pub(crate) hook: Option<&'static str>,
    pub(crate) values: Vec<ValueDescription>,
    pub(crate) default_aggregation: Option<String>,
}

/// A member's description of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MemberDescription {
    /// The name.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// Version, which changes whenever a result could.
    pub version: String,
    /// Kind of a doc hook: `text`, `visual` or `audio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// Inputs that the host resolves, for metrics and extractors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputDescription>,
    /// Values that a metric reports; the first is the primary one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueDescription>,
    /// Aggregation of a metric's scores into one figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_aggregation: Option<String>,
    /// JSON Schema of the parameters.
    pub params_schema: Value,
}

/// A value that the host resolves for a member.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct InputDescription {
    /// The name.
    pub name: String,
    /// Parameters that override its path; the first that is set wins.
    pub path_params: Vec<String>,
    /// Paths used otherwise; the first that exists wins.
    pub default_paths: Vec<String>,
}

/// A value that a metric reports.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ValueDescription {
    /// The name.
    pub name: String,
    /// True if higher values are better.
    pub higher_is_better: bool,
    /// Minimum value, if there is one.
    pub minimum: Option<f64>,
    /// Maximum value, if there is one.
    pub maximum: Option<f64>,
}

impl ValueDescription {
    /// Returns the minimum and maximum value, if both are known.
    pub fn scale(&self) -> Option<[f64; 2]> {
        let scale = [self.minimum?, self.maximum?];
        (scale.iter().all(|bound| bound.is_finite()) && scale[0] < scale[1]).then_some(scale)
    }
}
