//! Bootstrap replicates of a figure.

use serde::{Deserialize, Serialize};

/// Values of a figure in all replicates, for the comparison of two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resamples {
    /// Effective number of independent parts.
    pub parts: f64,
    /// The value in each replicate; null if it had none.
    pub values: Vec<Option<f64>>,
}
