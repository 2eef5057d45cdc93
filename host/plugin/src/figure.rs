//! The figure that an aggregator reports.

/// A figure that an aggregator gives.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AggregatorFigure {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error, where there is one.
    pub stderr: Option<f64>,
    /// How many rows it stands for.
    pub count: u64,
}
