//! `gage-host plan`.

use super::{BudgetArguments, ConfigArguments, DEFAULT_LOG, positive, positive_count};
use clap::Args;
use std::path::PathBuf;

const PLAN_EXAMPLES: &str = "\
Examples:
  gage-host plan config/custom/tiny.yaml
  gage-host plan suite.yaml --concurrency 64 --latency 0.8..3 --json";

#[derive(Args, Debug)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,

    /// Maximum number of requests in flight.
    #[arg(short = 'j', long, env = "GAGE_HOST_CONCURRENCY", value_name = "N", default_value_t = 16, allow_negative_numbers = true, value_parser = positive)]
    pub(crate) concurrency: usize,

    /// Number of tasks that run at the same time; by default task_parallelism of the suite, or 1.
    #[arg(long, env = "GAGE_HOST_TASK_PARALLELISM", value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) task_parallelism: Option<usize>,

    /// Maximum number of samples of each task.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive_count)]
    pub(crate) max_samples: Option<u64>,

    /// Duration of a request in seconds: a number, or a range such as 0.8..3.
    #[arg(long, value_name = "SECONDS", default_value = "0.5..5", value_parser = range)]
    pub(crate) latency: (f64, f64),

    /// A tokenizer.json, or a folder with one, to count prompt tokens. By default the tokenizer of the model
    /// file or of the dataset's tokenizer_config; otherwise 4 bytes count as a token.
    #[arg(long, value_name = "PATH")]
    pub(crate) tokenizer: Option<PathBuf>,

    /// Print the plan as JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,

    /// Logs to show on the standard error stream.
    #[arg(long, env = "GAGE_HOST_LOG", value_name = "FILTER", default_value = DEFAULT_LOG)]
    pub(crate) log: String,

    // Last, for its heading would count for what follows.
    #[command(flatten)]
    pub(crate) budget: BudgetArguments,
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 1e6);
    match (number(low), number(high)) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => Err("write seconds above 0, like 2, or from the least to the most, like 0.5..5".to_owned()),
    }
}
