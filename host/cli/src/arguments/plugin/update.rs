//! The command line of `plugin update`.

use crate::arguments::{PermissionArguments, PrintArguments};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin update
  gage-host plugin update word_recall --config nightly.yaml

Only the tag and the sha256 of an entry change; an entry without a sha256 gets one. The suite is
written when all components are fetched and the policy trusts them.

Exit codes: 0 done, 2 the suite or a component cannot be used, 3 the policy does not trust a
component, 5 a registry does not answer.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginUpdateArguments {
    /// Ids of the plugins; by default all from registries.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,

    /// The suite.
    #[arg(long, value_name = "CONFIG", default_value = "suite.yaml")]
    pub(crate) config: PathBuf,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
