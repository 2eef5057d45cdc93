//! Metric on mathematical answers: `math_equal`.

mod math_equal;

pub use math_equal::MathEqual;

gage_sdk::metrics!(name: "math", description: "Metric on mathematical answers", metrics: [MathEqual],);
