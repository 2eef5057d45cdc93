//! The documents that the program reads and writes.

use gage_sdk::serde_json::Value;
use serde::{Deserialize, Serialize};

/// What to measure.
#[derive(Deserialize)]
pub(crate) struct Request {
    /// Time for each member.
    pub(crate) seconds: f64,
    pub(crate) members: Vec<MemberRequest>,
}

/// A member with the batch to call it with.
#[derive(Deserialize)]
pub(crate) struct MemberRequest {
    /// Name of the component.
    pub(crate) plugin: String,
    pub(crate) kind: Kind,
    pub(crate) member: String,
    /// JSON text of the parameters, as the component receives it.
    pub(crate) params: String,
    /// Of a metric, objects with values by input name. Of a preprocessor, texts of rows.
    pub(crate) items: Vec<Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Metric,
    Preprocessor,
}

#[derive(Serialize)]
pub(crate) struct Report {
    /// In the order of the request.
    pub(crate) members: Vec<MemberCosts>,
}

#[derive(Serialize)]
pub(crate) struct MemberCosts {
    pub(crate) plugin: String,
    pub(crate) member: String,
    /// Seconds per item of the median round.
    pub(crate) median_s: f64,
    /// Seconds per item of the fastest round.
    pub(crate) least_s: f64,
    /// For each item, the primary score or the Sample, to show that both sides do the same work.
    pub(crate) results: Vec<Value>,
}
