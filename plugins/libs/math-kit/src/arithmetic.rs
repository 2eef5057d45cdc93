//! Values of expressions: exact rational numbers, and numbers within proven bounds.

mod ball;
mod complex;
mod evaluation;
mod exact;
mod identity;

pub use exact::exact_value;
pub use identity::{Order, Verdict, order, same_multiple, same_value};
