//! `gage-host demo`: the tiny suite that is part of the program.

use super::PrintArguments;
use clap::Args;
use std::path::PathBuf;

const DEMO_EXAMPLES: &str = "\
Examples:
  gage-host demo
  gage-host demo --dir /tmp/demo";

#[derive(Args, Debug)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArguments {
    /// Folder for the suite, its data, its models and its runs. Files that you changed are not overwritten.
    #[arg(long, value_name = "DIR", default_value = "gage-host-demo")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
