//! The command line of `plugin verify`.

use super::target::{ComponentTarget, component_target};
use crate::arguments::PrintArguments;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin verify --key team.pub word-recall.wasm
  gage-host plugin verify oci://registry.example/metrics/word-recall:0.1.0
  gage-host plugin verify oci://registry.example/metrics/word-recall:0.1.0 --json

Only signatures by keys are checked. For an identity of Fulcio or another provider, use `cosign verify`.

Exit codes: 0 a key made one of the signatures, 3 none did, 2 the component or a key cannot be used.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginVerifyArguments {
    /// A public key in PEM; may be given several times. By default the keys of the policy file.
    #[arg(long = "key", value_name = "PUB")]
    pub(crate) keys: Vec<PathBuf>,

    /// The component: a file with its signature in FILE.sigstore.json, or a package.
    #[arg(value_name = "FILE|REF", value_parser = component_target())]
    pub(crate) target: ComponentTarget,

    /// Read the package from the cache, and ask no registry.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
