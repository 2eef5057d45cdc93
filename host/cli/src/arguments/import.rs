//! The command line of `import`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Convert a suite of the older Python program GAGE; every change is a comment and a note.
    #[command(after_help = EXAMPLES)]
    Gage(ImportGageArguments),
}

const EXAMPLES: &str = "\
Examples:
  gage-host import gage old.yaml
  gage-host import gage old.yaml -o suite.yaml
  gage-host import gage old.yaml -o suite.yaml --json

Exit codes:
  0    converted
  2    converted, but a note needs work; or the file is not a suite, or OUT exists";

#[derive(Args, Debug)]
pub(crate) struct ImportGageArguments {
    /// The old suite, a YAML file.
    #[arg(value_name = "SUITE")]
    pub(crate) suite: PathBuf,

    /// The file to write; by default the suite is printed.
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Print suite and notes as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show only notes that need work.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}
