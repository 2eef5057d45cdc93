//! The command line of `plugin import`.

use crate::arguments::PrintArguments;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin import plugins.tar

Every digest is checked. If one is wrong, nothing is added. A compressed file must be unpacked
first. The policy file decides about the signatures when a suite uses the packages.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginImportArguments {
    /// The archive that `gage-host plugin export` wrote.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
