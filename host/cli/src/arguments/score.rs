//! The arguments of `gage-host score`.

use super::{OutcomeArguments, PermissionArguments, run_id};
use clap::Args;
use std::path::PathBuf;

const SCORE_EXAMPLES: &str = "\
Examples:
  gage-host score runs/nightly
  gage-host score runs/nightly --metric token_f1 --metric \"numeric_match(tolerance=0.1)\"
  gage-host score runs/nightly --config newer.yaml --run-id nightly-rescored";

#[derive(Args, Debug)]
#[command(after_help = SCORE_EXAMPLES)]
pub(crate) struct ScoreArguments {
    /// The run whose answers are scored: its id or its folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    /// Score with this metric instead of the suite's: a name, a call, or an entry in JSON; may be given several times.
    #[arg(long = "metric", value_name = "METRIC", conflicts_with = "config")]
    pub(crate) metrics: Vec<String>,

    /// Score with the tasks, metrics and extractors of this suite instead of the run's.
    #[arg(long, value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Ask this judge again about the recorded answers, or `all`; may be given several times. Needs the dataset, but asks
    /// no other model.
    #[arg(long = "judge", value_name = "NAME", conflicts_with = "metrics")]
    pub(crate) judges: Vec<String>,

    /// Requests to judges in flight; by default 16.
    #[arg(short = 'j', long, value_name = "N", requires = "judges")]
    pub(crate) concurrency: Option<usize>,

    /// Replace a value of the suite; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// A folder of components; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    /// Fetch nothing; use only plugins and datasets fetched before.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Folder in which the new run folder is created; by default that of the run.
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Name of the new run and of its folder; by default made from date and time.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<String>,

    #[command(flatten)]
    pub(crate) print: OutcomeArguments,
}
