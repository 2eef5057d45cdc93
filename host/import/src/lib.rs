//! Converts suites of other programs to suites of gage-host: of GAGE, lm-evaluation-harness and promptfoo, and logs of
//! Inspect.
//!
//! Pure: takes a text, and returns a text with notes. Reads no variable and no clock, and other files only through
//! [`SourceFolder`]. The tables of what the older program knew are in the module `tables`.

mod convert;
mod ids;
mod inspect;
mod lm_eval;
mod metric_entry;
mod note;
mod promptfoo;
mod python_name;
mod source_folder;
mod tables;
mod template_names;
mod template_text;
mod template_tokens;
mod tree;
mod variables;
mod yaml;

pub use convert::{Import, import_gage};
pub use inspect::{ANSWERS, InspectLogError, RECORDED_SUITE, ROWS, SUITE, import_inspect};
pub use lm_eval::import_lm_eval;
pub use note::{Note, NoteSeverity};
pub use promptfoo::import_promptfoo;
pub use source_folder::SourceFolder;
