//! `gage-host new`: a suite for a file of rows.

use super::output_file::output_file;
use clap::Args;
use std::path::PathBuf;

const NEW_EXAMPLES: &str = "\
Examples:
  gage-host new questions.csv --model openai:gpt-4.1-mini
  gage-host new questions.jsonl --model ./model.gguf --question text --answer team
  gage-host new                        # asks for everything";

#[derive(Args, Debug)]
#[command(after_help = NEW_EXAMPLES)]
pub(crate) struct NewSuiteArguments {
    /// A file of rows: .jsonl, .json, .csv, .tsv or .parquet. In a terminal, what is left out is asked for.
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,

    /// The model: openai:MODEL, anthropic:MODEL, gemini:MODEL, openai:MODEL@URL, or a .gguf file.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Field of a row that holds the question; by default guessed from names and values.
    #[arg(long, value_name = "FIELD")]
    pub(crate) question: Option<String>,

    /// Field of a row that holds the right answer; by default guessed from names and values.
    #[arg(long, value_name = "FIELD")]
    pub(crate) answer: Option<String>,

    /// Score with this metric; may be given several times. By default the answers decide.
    #[arg(long = "metric", value_name = "METRIC")]
    pub(crate) metrics: Vec<String>,

    /// The suite to write.
    #[arg(long, short, value_name = "FILE", default_value = "suite.yaml", value_parser = output_file())]
    pub(crate) output: PathBuf,
}
