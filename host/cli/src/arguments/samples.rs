//! The command line of `samples`.

use super::{NamedRunArguments, positive};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  gage-host samples nightly --failed
  gage-host samples runs/nightly --failed --task arithmetic --limit 100
  gage-host samples nightly --failed --json";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SamplesArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// Only samples that failed: without an answer or a score, or with an answer that does not pass a metric.
    #[arg(long)]
    pub(crate) failed: bool,

    /// Only samples of this task.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// Maximum number of samples to print.
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = positive)]
    pub(crate) limit: usize,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
