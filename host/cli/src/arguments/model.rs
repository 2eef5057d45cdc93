//! The command line of `gage-host model`.

use super::PrintArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Describe a model file and the memory that it needs, without loading it.
    Inspect(ModelInspectArguments),
    /// Fetch a model file from a hub or another server into the cache, and print its path.
    Fetch(ModelFetchArguments),
    /// List the model files in a folder.
    List(ModelListArguments),
    /// Measure a model: prompts, answers, choices by log-likelihood, against a bare loop over llama.cpp.
    Bench(ModelBenchArguments),
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  gage-host model inspect config/models/gage-tiny.gguf
  gage-host model inspect model.gguf --json";

#[derive(Args, Debug)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct ModelInspectArguments {
    /// The GGUF file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const FETCH_EXAMPLES: &str = "\
Examples:
  gage-host model fetch hub:owner/name/model-q4_k_m.gguf
  gage-host model fetch hub:owner/name/model-q4_k_m.gguf@v1.0 --sha256 DIGEST
  gage-host model fetch https://huggingface.co/owner/name/resolve/main/model.gguf
  gage-host model fetch https://example.org/models/model.gguf --sha256 DIGEST";

#[derive(Args, Debug)]
#[command(after_help = FETCH_EXAMPLES)]
pub(crate) struct ModelFetchArguments {
    /// hub:OWNER/NAME/FILE, with @REVISION if it is not main; or the address of a file, on a hub or any other server.
    /// A file in the cache is checked and not fetched again; an interrupted download continues.
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// Required digest of the file, 64 hexadecimal digits. The digest of a hub is always checked.
    /// Other servers give none; without this option the digest is printed and recorded.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) sha256: Option<String>,

    /// Address of the hub.
    // The address may have a password.
    #[arg(
        long,
        env = "HF_ENDPOINT",
        value_name = "URL",
        default_value = "https://huggingface.co",
        hide_env_values = true
    )]
    pub(crate) endpoint: String,

    /// Fetch nothing; use only files fetched before.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

const LIST_EXAMPLES: &str = "\
Examples:
  gage-host model list
  gage-host model list config/models --json";

#[derive(Args, Debug)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ModelListArguments {
    /// The folder; by default `models` in the program's cache folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  gage-host model bench config/models/gage-tiny.gguf
  gage-host model bench model.gguf --repeats 5 --json";

#[derive(Args, Debug)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct ModelBenchArguments {
    /// The GGUF file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Tokens of a prompt, and of the common part of four choices.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    pub(crate) prompt_tokens: u32,

    /// Tokens of an answer.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub(crate) answer_tokens: u32,

    /// Prompts in the queue, for the last figure.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) queued: u32,

    /// Rounds of each figure; the median is printed.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeats: u32,

    /// Time limit of each figure, for gage-host and for the loop; looked at after every batch.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
