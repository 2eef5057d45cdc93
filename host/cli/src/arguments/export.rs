//! The command line of `export`.

use super::PermissionArguments;
use super::output_file::output_file;
use clap::Args;
use gage_export::{ExportFormat, Relationship};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host export nightly --format parquet
  gage-host export runs/nightly --format lm-eval --out lm-eval-results
  gage-host export nightly --format csv --out figures.csv --force
  gage-host export nightly --format every-eval-ever --organization \"Example Lab\" --developer example";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// The run: its folder, or its id below --output-dir.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    /// The format to write.
    #[arg(long, short, value_name = "FORMAT")]
    pub(crate) format: ExportFormat,

    /// The file to write, or the folder for formats of several files; by default exports/FORMAT in the folder of the
    /// run.
    #[arg(long, short, value_name = "PATH", value_parser = output_file())]
    pub(crate) out: Option<PathBuf>,

    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,

    /// Export the finished part of an unfinished run.
    #[arg(long)]
    pub(crate) partial: bool,

    /// every-eval-ever: the organization that made the run.
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    pub(crate) organization: String,

    /// every-eval-ever: the developer of the model; by default the part before / in its name.
    #[arg(long, value_name = "NAME", value_parser = developer)]
    pub(crate) developer: Option<String>,

    /// every-eval-ever: relationship of the organization to the developer.
    #[arg(long, value_name = "WHAT", default_value = "other")]
    pub(crate) relationship: Relationship,

    /// Folder in which run ids are looked up.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Print the written files as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but the JSON of --json.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

fn developer(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is needed".to_owned()),
        name if name.contains('/') => {
            Err("a name without / is needed: it becomes the first part of a path".to_owned())
        }
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::command;

    #[test]
    fn quiet_commands_still_take_json() {
        for words in ["export run --format lm-eval", "report run", "compare base new"] {
            let words = format!("gage-host {words} --json --quiet");
            let parsed = command(&|_| None).try_get_matches_from(words.split(' '));
            assert!(parsed.is_ok(), "{words}: {:?}", parsed.err());
        }
    }
}
