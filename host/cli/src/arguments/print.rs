//! The flags of what a command prints, shared by several commands.

use super::observe::{LogArguments, ProgressArguments};
use clap::Args;
use std::path::PathBuf;

/// The folder of all templates, if none is named.
pub(crate) const DEFAULT_TEMPLATES: &str = "config/builtin_templates";

/// The form of what is printed.
#[derive(Args, Debug)]
pub(crate) struct PrintArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

/// A run, by its folder or its id.
#[derive(Args, Debug)]
pub(crate) struct NamedRunArguments {
    /// The folder of the run, or its id.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    /// Folder in which run ids are looked up.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,
}

/// The form of a run's outcome, and what is shown while it goes on.
#[derive(Args, Debug)]
pub(crate) struct OutcomeArguments {
    /// Print the summary as JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressArguments,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

/// A folder of runs, for a command that prints what is in it.
#[derive(Args, Debug)]
pub(crate) struct RunsFolderArguments {
    /// Folder of the run folders.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The folder of all templates, for a command that writes a file.
#[derive(Args, Debug)]
pub(crate) struct TemplateArguments {
    /// The folder of all templates.
    #[arg(long, env = "GAGE_HOST_TEMPLATES", value_name = "DIR", default_value = DEFAULT_TEMPLATES)]
    pub(crate) templates: PathBuf,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only errors.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}
