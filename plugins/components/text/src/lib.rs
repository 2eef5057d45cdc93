//! Metrics on text: `exact_match`, `extracted_match`, `contains`, `regex_match` and `text_length`.
//!
//! Each gives the scores of the Python program that the suites were first written for, except where
//! the README of `plugins/` says otherwise: JSON values are compared as JSON values, not by how
//! Python prints them.

mod comparison;
mod contains;
mod exact_match;
mod extracted_match;
mod regex_match;
mod text_length;

pub use contains::Contains;
pub use exact_match::ExactMatch;
pub use extracted_match::ExtractedMatch;
pub use regex_match::RegexMatch;
pub use text_length::TextLength;

gage_sdk::metrics!(
    name: "text",
    description: "Metrics on text: equality, containment, regular expressions, length",
    metrics: [ExactMatch, ExtractedMatch, Contains, RegexMatch, TextLength],
);
