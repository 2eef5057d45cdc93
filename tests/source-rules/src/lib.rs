//! Rules that the sources keep and no compiler checks. Sources are read, not compiled.
//!
//! - [`cycles`]: modules of one folder that import one another in a circle. A module counts with everything below it.
//!   Imports between a module and its own submodules are not looked at, nor is test code.
//! - [`bad_names`]: types and constants whose names hide what they are.
//! - [`repeated_types`]: names that stand for several things in one crate.
//! - [`long_test_names`]: tests whose names are sentences.
//! - [`public_items`]: what a crate offers, so that a change of it is noticed.

mod cycles;
mod imports;
mod modules;
mod names;
mod public_items;
mod repeated_types;
mod source_error;
mod test_names;

pub use cycles::{Cycle, cycles};
pub use modules::CrateModules;
pub use names::bad_names;
pub use public_items::public_items;
pub use repeated_types::repeated_types;
pub use source_error::SourceError;
pub use test_names::{MAX_TEST_NAME_CHARS, long_test_names};
