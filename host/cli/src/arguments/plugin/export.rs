//! The command line of `plugin export`.

use crate::arguments::output_file::output_file;
use crate::arguments::{PermissionArguments, PrintArguments};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin export -o plugins.tar
  gage-host plugin export --config nightly.yaml -o plugins.tar

If there is a lock beside the suite, such as suite.gage.lock, the packages that it names are
exported. Packages that are not in the cache are fetched first. `gage-host plugin import
plugins.tar` adds them to the cache of another machine.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginExportArguments {
    /// The suite whose packages are exported; by default suite.yaml, if the working folder has it.
    #[arg(long, value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// The file to write: an OCI image layout as a tar archive, with the signatures.
    #[arg(long, short, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: PathBuf,

    /// Fetch nothing: every package must be in the cache.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
