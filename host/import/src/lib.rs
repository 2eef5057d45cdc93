//! Converts suites of the older Python program GAGE to suites of gage-host.
//!
//! Pure: takes a text, and returns a text with notes. Reads no file, no variable and no clock. Imports `gage-config`
//! only. The tables of what the older program knew are in the module `tables`.

mod convert;
mod note;
mod python_name;
mod tables;
mod template_text;
mod tree;
mod variables;
mod yaml;

pub use convert::{Import, import_gage};
pub use note::{Note, NoteSeverity};
