//! Suites that are frozen, so that anyone runs them again and gets the same figures.
//!
//! - A [`BuiltinTemplate`] is a suite under a digest, which [`distill`] makes of a configuration; a RunConfig binds
//!   one, and says where it runs. [`load`] makes a configuration of either kind of file.
//! - A [`Lock`] says everything that a suite is made from that can change a figure; [`Lock::differences`] names what is
//!   another now.
//! - [`check_run`] says whether a run folder is what was written.
//!
//! Everything that this crate writes is whole or absent, and holds no secret. Runs nothing, and shows nothing.

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
mod rewrite_paths;
mod run_config;
mod runs;
mod secrets;
mod template;
mod variables;
mod verify;
mod yaml;

pub use distill::{DistillOptions, DistilledTemplate, Mode, distill};
pub use error::SuiteError;
pub use files::shown_folder;
pub use init::{InitMode, InitOptions, InitializedRunConfig, init};
pub use load::{LoadedSuite, Origin, load};
pub use lock::{DatasetRows, LOCK_VERSION, Lock, PluginPlaces, UnknownPart};
pub use parameters::Parameter;
pub use runs::{Deletion, FoundRuns, RunEntry, RunHeadline, leftovers, list, newest_unfinished};
pub use template::{BuiltinTemplate, TemplateRef};
pub use variables::{secret_variables, without_default};
pub use verify::{CHECKSUMS, FileFinding, FileState, VerifyReport, check_run};
