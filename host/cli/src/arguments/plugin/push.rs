//! The command line of `plugin push`.

use super::target::package_reference;
use crate::arguments::PrintArguments;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use gage_core::OciReference;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host plugin push word-recall.wasm oci://registry.example/metrics/word-recall:0.1.0
  gage-host plugin push . oci://127.0.0.1:5000/metrics/word-recall:0.1.0 --revision \"$(git rev-parse HEAD)\"

Credentials are those of `docker login`, in config.json of $DOCKER_CONFIG or ~/.docker. Only registries of this
machine are used without TLS. Version, description, license and source come from [package] in gage-plugin.toml,
if the component is that of a project.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PluginPushArguments {
    /// The component: a file, or the folder of a project.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// New name of the component, with a tag: oci://registry.example/metrics/word-recall:0.1.0.
    #[arg(value_name = "REF", value_parser = package_reference())]
    pub(crate) reference: OciReference,

    /// Revision of the source, such as a commit of git.
    #[arg(long, value_name = "REVISION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) revision: Option<String>,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}
