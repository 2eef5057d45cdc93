//! Rules that the sources keep and no compiler checks. Sources are read, not compiled.
//!
//! - [`cycles`]: modules of one folder that import one another in a circle. A module counts with everything below it.
//!   Imports between a module and its own submodules are not looked at, nor is test code.
//! - [`bad_names`]: types and constants whose names hide what they are.

mod cycles;
mod imports;
mod modules;
mod names;
mod source_error;

pub use cycles::{Cycle, cycles};
pub use modules::CrateModules;
pub use names::bad_names;
pub use source_error::SourceError;
