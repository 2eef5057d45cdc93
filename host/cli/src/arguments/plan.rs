//! `gage-host plan`.

use super::compare::margin;
use super::{BudgetArguments, ConfigArguments, DEFAULT_LOG, positive, positive_count};
use clap::Args;
use gage_core::MAX_SHARDS;
use std::path::PathBuf;

const PLAN_EXAMPLES: &str = "\
Examples:
  gage-host plan config/custom/tiny.yaml
  gage-host plan suite.yaml --concurrency 64 --latency 0.8..3 --json
  gage-host plan suite.yaml --shards 16
  gage-host plan suite.yaml --power --changed 0.1";

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

    /// Maximum number of samples of each task: those of the first rows.
    #[arg(
        long,
        visible_alias = "limit",
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = positive_count
    )]
    pub(crate) max_samples: Option<u64>,

    /// Duration of a request in seconds: a number, or a range such as 0.8..3.
    #[arg(long, value_name = "SECONDS", default_value = "0.5..5", value_parser = range)]
    pub(crate) latency: (f64, f64),

    /// A tokenizer.json, or a folder with one, to count prompt tokens. By default the tokenizer of the model
    /// file or of the dataset's tokenizer_config; otherwise 4 bytes count as a token.
    #[arg(long, value_name = "PATH")]
    pub(crate) tokenizer: Option<PathBuf>,

    /// Also show the work of each of N shards, for `run --shard`.
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u64).range(1..=MAX_SHARDS),
        conflicts_with = "power"
    )]
    pub(crate) shards: Option<u64>,

    /// Show what the gates of the suite can show: how often they pass, the samples that they need, and the smallest loss
    /// that they detect.
    #[arg(long)]
    pub(crate) power: bool,

    /// With --power: a gate on every metric with this margin, instead of the suite's.
    #[arg(long, value_name = "NUMBER", requires = "power", allow_negative_numbers = true, value_parser = margin)]
    pub(crate) margin: Option<f64>,

    /// With --power: share of samples whose score changes between two runs, from 0 to 1. By default, three shares are
    /// shown.
    #[arg(long, value_name = "SHARE", requires = "power", allow_negative_numbers = true, value_parser = share)]
    pub(crate) changed: Option<f64>,

    /// With --power: correlation of the changes of samples in one cluster, from 0 to 1.
    #[arg(long, value_name = "SHARE", requires = "power", default_value = "0.1", allow_negative_numbers = true, value_parser = share)]
    pub(crate) correlation: f64,

    /// With --power: number of comparisons with one baseline, of several candidates or night by night.
    #[arg(long, value_name = "N", requires = "power", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) comparisons: Option<u32>,

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

/// Reads a share.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 1 is needed, such as 0.1".to_owned())
}
