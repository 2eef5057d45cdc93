//! Mathematical answers: reads LaTeX, Unicode and plain notation, and decides whether two answers are equal.
//!
//! Everything here is a pure function, and the work for a pair of answers is limited.

mod answer;
mod arithmetic;
mod comparison;
mod equality;
mod expression;
mod final_answer;
mod limits;
mod syntax;
mod unit;
mod unit_table;
mod words;

pub use equality::{Comparison, Outcome, compare};
pub use limits::{Budget, MAX_ANSWER_BYTES, MAX_STEPS};
