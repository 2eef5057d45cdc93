//! Tools for plugin authors: create projects, and build, test and benchmark components.
//!
//! A project is a folder with `gage-plugin.toml`, the author's source, and `gage/`, which holds the contract
//! and the SDK. The program embeds everything that a new project needs. Builds run the tools of the project's
//! language. Depends on `gage-plugin` and `gage-toolchain`; knows nothing of runs.

mod bench;
mod build;
mod case_lines;
mod cases;
mod component_changes;
mod error;
mod files;
mod language;
mod name;
mod native;
mod project;
mod requirements;
mod scaffold;
mod trial;
mod upgrade;
mod watch;

pub use bench::{BenchOptions, BenchReport, ItemsReport, bench};
pub use build::{BuildOptions, BuiltComponent, LockedPackages, build, lock_packages};
pub use case_lines::{CaseLine, CaseLines};
pub use cases::{CASES, Case, read_cases};
pub use component_changes::{DescriptionChange, description_changes};
pub use error::ToolError;
pub use language::Language;
pub use native::{NativeOptions, interpreter};
pub use project::{PackageInfo, Project, SETTINGS};
pub use scaffold::{CreatedProject, NewProject, create};
pub use trial::{
    CaseFailure, ItemDifference, MemberComparison, Purity, ScoreComparison, TestReport, test, test_native,
};
pub use upgrade::{FileChange, Upgrade};
pub use watch::{FileStates, WatchPause, WatchedFiles, wait_for_change};
