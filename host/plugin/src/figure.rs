//! The figure that an aggregator reports.

/// A figure that an aggregator gives.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AggregatorFigure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// The standard error, where there is one.
    pub stderr: Option<f64>,
    /// How many rows it stands for.
    pub count: u64,
}
