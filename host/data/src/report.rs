//! Reports on a dataset before a run: invalid rows and statistics of its content.

mod statistics;
mod tokens;
mod validation;

pub use statistics::{Count, Distribution, Statistics, StatisticsReport};
pub use tokens::TokenCounter;
pub use validation::{Offender, Reason, ReferenceProblem, Validation, ValidationReport};
