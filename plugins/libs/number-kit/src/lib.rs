//! Shared parts of the number plugins: numbers with a unit and a tolerance, and the distance between two of them.

mod best;
mod comparison;
mod measurement;
mod tolerance;

pub use best::best;
pub use comparison::{Deviation, Failure, Pair};
pub use measurement::{Format, Measurement};
pub use tolerance::{own_tolerance, own_tolerance_abs, tolerance_parameter};
