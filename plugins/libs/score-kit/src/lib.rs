//! Shared parts of the metrics on scores and the aggregators. Everything here is a pure function.

pub mod estimator;
pub mod perplexity;
pub mod repeats;
pub mod sum;

pub use perplexity::{Measure, TextLikelihood};
pub use repeats::Repeats;
pub use sum::Sum;
