//! `gage-host data`: what is in a dataset.

use super::{PermissionArguments, PrintArguments, positive_count};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Show the first Samples after preprocessing: 3 of each dataset, or --max-samples.
    #[command(after_help = PREVIEW_EXAMPLES)]
    Preview(PreviewArguments),
    /// Read every row, and report invalid rows with the reason.
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(DataArguments),
    /// Count lengths, answers, labels, duplicates and media of the Samples.
    Stats(StatsArguments),
}

#[derive(Args, Debug)]
pub(crate) struct PreviewArguments {
    #[command(flatten)]
    pub(crate) data: DataArguments,

    /// Show what each task of the suite sends to its model, in full. A chat template of the model is applied later.
    #[arg(long)]
    pub(crate) rendered: bool,
}

/// The dataset of a command.
#[derive(Args, Debug)]
pub(crate) struct DataArguments {
    /// A suite (.yaml, or the name of a ready suite), or a file of rows: .jsonl, .json, .csv, .tsv, .parquet; all but
    /// the last may be compressed (.gz, .zst).
    #[arg(value_name = "SUITE|FILE")]
    pub(crate) source: PathBuf,

    /// Dataset of the suite; by default all of them.
    #[arg(long, value_name = "ID")]
    pub(crate) dataset: Option<String>,

    /// Format of a file of rows; by default from its name.
    #[arg(long, value_name = "LOADER")]
    pub(crate) loader: Option<String>,

    /// Preprocessor of the rows of a file.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) preprocess: String,

    /// Maximum number of rows to read.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive_count)]
    pub(crate) max_samples: Option<u64>,

    /// Replace a value of the suite; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// A folder of components; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Fetch nothing; use only files fetched before.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

const PREVIEW_EXAMPLES: &str = "\
Examples:
  gage-host data preview config/custom/tiny.yaml
  gage-host data preview rows.jsonl --preprocess multi_choice --max-samples 1
  gage-host data preview config/custom/tiny.yaml --rendered
  gage-host data preview config/custom/tiny.yaml --json";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  gage-host data validate config/custom/tiny.yaml
  gage-host data validate rows.jsonl.gz --json

Exit codes: 0 if no dataset has more invalid rows than it allows (max_invalid, 5 %
by default), 4 otherwise.";

const STATS_EXAMPLES: &str = "\
Examples:
  gage-host data stats config/custom/tiny.yaml
  gage-host data stats rows.jsonl --tokenizer models/qwen/tokenizer.json";

#[derive(Args, Debug)]
#[command(after_help = STATS_EXAMPLES)]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) data: DataArguments,

    /// A tokenizer.json, or a folder with one, to count lengths in tokens as well.
    #[arg(long, value_name = "PATH")]
    pub(crate) tokenizer: Option<PathBuf>,
}
