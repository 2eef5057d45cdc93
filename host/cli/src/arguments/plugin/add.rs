//! The command line of `plugin add`.

use super::target::package_reference;
use crate::arguments::PrintArguments;
use clap::Args;
use gage_core::OciReference;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin add oci://registry.example/metrics/word-recall:0.1.0
  gage-host plugin add oci://registry.example/metrics/word-recall:0.1.0 --id recall --config nightly.yaml

Comments and the layout of the suite stay. Nothing is granted: if the component asks for something,
the lines to add are printed.

Exit codes: 0 the entry was added, 2 the suite or the component cannot be used, 3 the policy does
not trust the component, 5 the registry does not answer.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginAddArguments {
    /// The package, with a tag or a digest.
    #[arg(value_name = "REF", value_parser = package_reference())]
    pub(crate) reference: OciReference,

    /// The suite that gets the entry.
    #[arg(long, value_name = "SUITE", default_value = "suite.yaml")]
    pub(crate) config: PathBuf,

    /// The id of the plugin in the suite; by default the last part of its name, with `_` for `-`.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
