//! The command line of `plugin sign`.

use super::target::{ComponentTarget, component_target};
use crate::arguments::PrintArguments;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin sign --key team.key word-recall.wasm
  gage-host plugin sign --key team.key oci://registry.example/metrics/word-recall@sha256:DIGEST

Make a pair of keys, and keep the first file secret:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out team.key
  openssl pkey -in team.key -pubout -out team.pub";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginSignArguments {
    /// The private key: ECDSA P-256 or Ed25519, as PKCS #8 in PEM without a password.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<PathBuf>,

    /// The component: a file, whose signature is written to FILE.sigstore.json, or a package, whose signature is added
    /// to its registry.
    #[arg(value_name = "FILE|REF", value_parser = component_target())]
    pub(crate) target: ComponentTarget,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
