//! The command line of `plugin pull`.

use super::target::package_reference;
use crate::arguments::PrintArguments;
use crate::arguments::output_file::output_file;
use clap::Args;
use gage_core::OciReference;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin pull oci://registry.example/metrics/word-recall:0.1.0
  gage-host plugin pull oci://registry.example/metrics/word-recall:0.1.0 -o word-recall.wasm

The package is kept in the cache folder, where `run --offline` finds it. A second pull also fetches signatures
that were added since.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginPullArguments {
    /// The package: oci://registry.example/metrics/word-recall:0.1.0, or with @sha256:DIGEST in place of the tag.
    #[arg(value_name = "REF", value_parser = package_reference())]
    pub(crate) reference: OciReference,

    /// Also write the component to this file, and its signature to FILE.sigstore.json. Other files of these names are
    /// not replaced.
    #[arg(long, short, value_name = "FILE", value_parser = output_file())]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
