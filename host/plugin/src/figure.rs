//! A figure reported by an aggregator.

/// A figure reported by an aggregator.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AggregatorFigure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The standard error; `None` if unknown.
    pub stderr: Option<f64>,
    /// Number of rows that it summarizes.
    pub count: u64,
}
