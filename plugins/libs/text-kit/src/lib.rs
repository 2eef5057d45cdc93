//! Shared parts of the first-party plugins. They read text and numbers as Python does, and numbers as people write
//! them. They also cover JSON values as text, fields of parsed answers, parameters, thought tags, LaTeX boxes, and JSON
//! inside other text.
//!
//! A Python program defined the scores of existing suites. White space, lower case and the spelling of numbers
//! therefore follow Python to the letter. Everything here is a pure function.

pub mod answer;
pub mod decimal;
pub mod json;
pub mod json_text;
pub mod latex_boxed;
pub mod number;
mod number_chinese;
mod number_digits;
mod number_fraction;
mod number_markup;
mod number_power;
mod number_scale;
pub mod number_search;
pub mod number_written;
pub mod params;
pub mod references;
pub mod text;
pub mod thoughts;
pub mod unit;
mod unit_search;
mod unit_spelling;
mod unit_table;
pub mod value;

pub use decimal::Decimal;
pub use params::Params;
