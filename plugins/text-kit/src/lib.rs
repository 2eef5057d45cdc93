//! What the first-party plugins share: text and numbers read as Python reads them, JSON values
//! turned into text, parameters, thought tags.
//!
//! The scores of existing suites were defined by a Python program, so white space, lower case and
//! the spelling of numbers follow Python to the letter. Everything here is a pure function.

pub mod decimal;
pub mod number;
pub mod params;
pub mod text;
pub mod thoughts;
pub mod value;

pub use decimal::Decimal;
pub use params::Params;
