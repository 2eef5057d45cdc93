//! The command line of `report`.

use super::PermissionArguments;
use super::output_file::output_file;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host report nightly
  gage-host report baseline nightly --output nightly.html
  gage-host report runs/baseline runs/nightly runs/candidate";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArguments {
    /// Run folders, or run ids below --output-dir. Further runs are compared with the first.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,

    /// The file to write; by default report.html in the folder of the last run.
    #[arg(long, short, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: Option<PathBuf>,

    /// Folder in which run ids are looked up.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Print the written files as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but the JSON of --json.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}
