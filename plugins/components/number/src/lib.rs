//! Metrics on numbers: `numeric_match` and `numeric_error`.

mod numeric_error;
mod numeric_match;

pub use numeric_error::NumericError;
pub use numeric_match::NumericMatch;

gage_sdk::metrics!(
    name: "number",
    description: "Metrics on numbers",
    metrics: [NumericMatch, NumericError],
);
