//! Frozen suites, which anyone can run again with the same results.
//!
//! - A [`BuiltinTemplate`] is a suite with a digest, which [`distill`] creates from a configuration.
//!   A RunConfig binds one, and specifies where it runs. [`load`] makes a configuration of either kind of file.
//! - A [`Lock`] records everything in a suite that can change a figure; [`Lock::differences`] lists what has changed.
//! - [`check_run`] checks that a run folder is as it was written.
//!
//! All files are written atomically, and contain no secrets. This crate runs nothing, and displays nothing.

mod distill;
mod document;
mod editor_schema;
mod error;
mod files;
mod init;
mod load;
mod lock;
mod parameters;
mod placeholders;
mod plugin_entries;
mod ready;
mod rewrite_paths;
mod run_config;
mod runs;
mod secrets;
mod template;
mod variables;
mod verify;
mod yaml;

pub use distill::{DistillOptions, DistilledTemplate, Mode, distill};
pub use editor_schema::write_suite;
pub use error::SuiteError;
pub use files::{shown_folder, write_new};
pub use init::{InitMode, InitOptions, InitializedRunConfig, init};
pub use load::{LoadedSuite, Origin, SuiteInputs, choices, load};
pub use lock::{DatasetRows, LOCK_VERSION, Lock, PluginPlaces, UnknownPart};
pub use parameters::Parameter;
pub use plugin_entries::{PluginPin, SuitePlugins};
pub use ready::{READY_SUITES, ReadySuite};
pub use runs::{Deletion, FoundRuns, RunEntry, RunHeadline, leftovers, list, newest_unfinished};
pub use template::{BuiltinTemplate, TemplateRef};
pub use variables::{secret_variables, without_default};
pub use verify::{CHECKSUMS, FileFinding, FileState, VerifyReport, check_run};
