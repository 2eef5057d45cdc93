//! `gage-host data`: what is in a dataset.

use super::PrintArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Show the first Samples, as they are after preprocessing: 3 of each dataset, or --max-samples.
    #[command(after_help = PREVIEW_EXAMPLES)]
    Preview(DataArguments),
    /// Read every row, and say which are no Samples and why.
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(DataArguments),
    /// Count what is in the Samples: lengths, answers, labels, duplicates, media.
    Stats(StatsArguments),
}

/// Which dataset.
#[derive(Args, Debug)]
pub(crate) struct DataArguments {
    /// A suite (.yaml), or a file of rows: .jsonl, .json, .csv, .tsv, .parquet; all but the last may
    /// be compressed (.gz, .zst).
    #[arg(value_name = "SUITE|FILE")]
    pub(crate) source: PathBuf,

    /// Which dataset of the suite; by default all of them.
    #[arg(long, value_name = "ID")]
    pub(crate) dataset: Option<String>,

    /// How a file of rows is read; by default what its name says.
    #[arg(long, value_name = "LOADER")]
    pub(crate) loader: Option<String>,

    /// What turns the rows of a file into Samples.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) preprocess: String,

    /// Look at no more rows than this.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_samples: Option<u64>,

    /// Replace a value of the suite; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// A folder of components; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    /// Fetch nothing: use what was fetched before.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

const PREVIEW_EXAMPLES: &str = "\
Examples:
  gage-host data preview config/custom/tiny.yaml
  gage-host data preview rows.jsonl --preprocess multi_choice --max-samples 1
  gage-host data preview config/custom/tiny.yaml --json";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  gage-host data validate config/custom/tiny.yaml
  gage-host data validate rows.jsonl.gz --json

Exit codes: 0 when no dataset has more rows that are no Samples than it allows (max_invalid, 5 %
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

    /// A tokenizer.json, or a folder with one: lengths are counted in tokens as well.
    #[arg(long, value_name = "PATH")]
    pub(crate) tokenizer: Option<PathBuf>,
}
