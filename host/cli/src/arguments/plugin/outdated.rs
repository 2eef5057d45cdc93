//! The command line of `plugin outdated`.

use crate::arguments::{PermissionArguments, PrintArguments};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin outdated
  gage-host plugin outdated --config nightly.yaml --json

Tags that are versions (1.2.3 or v1.2.3) are compared as such. Pre-releases count only if the pinned
version is one. Of another tag, the digest is compared. A registry that the policy does not name is
not asked: `not trusted`.

A registry that fails does not hide the others: the newest version of its plugins is unknown.

Exit codes: 0 every plugin is up to date, 3 some are not, 2 the suite or a registry cannot be used,
5 a registry cannot answer now. Of several, the first one in the order 2, 3, 5 counts.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginOutdatedArguments {
    /// The suite.
    #[arg(long, value_name = "CONFIG", default_value = "suite.yaml")]
    pub(crate) config: PathBuf,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
