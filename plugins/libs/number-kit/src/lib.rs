//! What the plugins on numbers share: numbers with a unit and a tolerance, and how far one is from
//! another.

mod best;
mod comparison;
mod measurement;

pub use best::best;
pub use comparison::{Deviation, Failure, Pair, own_tolerance, own_tolerance_abs, tolerance_parameter};
pub use measurement::{Format, Measurement};
