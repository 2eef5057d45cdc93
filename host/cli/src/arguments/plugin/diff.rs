//! The command line of `plugin diff`.

use super::target::{ComponentTarget, component_target};
use crate::arguments::PrintArguments;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin diff old.wasm new.wasm
  gage-host plugin diff oci://registry.example/m/word-recall:0.1.0 new.wasm
  gage-host plugin diff old.wasm new.wasm --items cases.jsonl
  gage-host plugin diff old.wasm new.wasm --items runs/nightly --json

Items are scored by metrics and extractors. For other kinds, only the descriptions are compared.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginDiffArguments {
    /// The first component: a file, the name of a built-in one, or a package.
    #[arg(value_name = "A", value_parser = component_target())]
    pub(crate) before: ComponentTarget,

    /// The second component.
    #[arg(value_name = "B", value_parser = component_target())]
    pub(crate) after: ComponentTarget,

    /// Score these items with both components: a file of cases (docs/reference/plugin-cases.md), or the samples of a run,
    /// by its folder or its id.
    #[arg(long, value_name = "FILE|RUN")]
    pub(crate) items: Option<PathBuf>,

    /// Folder in which run ids are looked up.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// Read packages from the cache, and ask no registry.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
