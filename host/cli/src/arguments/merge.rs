//! The arguments of `gage-host merge`.

use super::{NamedRunArguments, OutcomeArguments, PermissionArguments};
use clap::Args;
use std::path::PathBuf;

const MERGE_EXAMPLES: &str = "\
Examples:
  gage-host merge nightly
  gage-host merge runs/nightly --partial
  gage-host merge s3://bucket/prefix/nightly";

#[derive(Args, Debug)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct MergeArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// Write the run even if shards or records are missing: it is incomplete, and they count as not_reached.
    #[arg(long)]
    pub(crate) partial: bool,

    /// A folder of components; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    /// Fetch no plugin; use only plugins fetched before. Shards in object storage are still fetched.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) print: OutcomeArguments,
}
