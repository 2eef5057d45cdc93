//! Source rules that no compiler checks. Sources are parsed, not compiled.
//!
//! - [`cycles`]: modules of one folder that import one another in a cycle. A module includes everything below it.
//!   Imports between a module and its own submodules, and test code, are not checked.
//! - [`bad_names`]: types and constants whose names do not describe them.
//! - [`repeated_types`]: names with several meanings in one crate.
//! - [`long_test_names`]: tests whose names are too long.
//! - [`message_texts`]: the texts of errors and warnings; the page of messages shows each of them.
//! - [`public_items`]: the public API of a crate, so that changes to it are noticed.

mod cycles;
mod imports;
mod messages;
mod modules;
mod names;
mod public_items;
mod repeated_types;
mod source_error;
mod test_names;

pub use cycles::{Cycle, cycles};
pub use messages::{MessageText, message_texts};
pub use modules::CrateModules;
pub use names::bad_names;
pub use public_items::public_items;
pub use repeated_types::repeated_types;
pub use source_error::SourceError;
pub use test_names::{MAX_TEST_NAME_CHARS, long_test_names};
