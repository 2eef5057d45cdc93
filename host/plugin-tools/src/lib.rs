//! Tools for plugin authors: create projects, and build, test and benchmark components.
//!
//! A project is a folder with `gage-plugin.toml`, the author's source, and `gage/`, which holds the contract
//! and the SDK. The program embeds everything that a new project needs. Builds run the tools of the project's
//! language. Depends on `gage-plugin` and `gage-toolchain`; knows nothing of runs.

mod bench;
mod build;
mod cases;
mod error;
mod files;
mod language;
mod name;
mod project;
mod scaffold;
mod trial;

pub use bench::{BenchOptions, BenchReport, ItemsReport, bench};
pub use build::{BuildOptions, BuiltComponent, build};
pub use cases::{Case, read_cases};
pub use error::ToolError;
pub use language::Language;
pub use project::{Project, SETTINGS};
pub use scaffold::{CreatedProject, NewProject, create};
pub use trial::{CaseFailure, Purity, TestReport, test};
