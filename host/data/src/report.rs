//! What a person wants to know of a dataset before a run: what is wrong with it, and what is in it.

mod statistics;
mod tokens;
mod validation;

pub use statistics::{Count, Distribution, Statistics, StatisticsReport};
pub use tokens::TokenCounter;
pub use validation::{Offender, Reason, Unanswered, Validation, ValidationReport};
