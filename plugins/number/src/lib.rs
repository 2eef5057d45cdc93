//! Metrics on numbers: `numeric_match`.

mod numeric_match;

pub use numeric_match::NumericMatch;

gage_sdk::metrics!(
    name: "number",
    description: "Metrics on numbers",
    metrics: [NumericMatch],
);
