//! `gage-host distill`, `init`, `lock`, `verify`, `runs`: suites that are frozen, and what came of them.

use super::{
    ConfigArguments, NamedRunArguments, PermissionArguments, PrintArguments, RunsFolderArguments,
    TemplateArguments, is_suite,
};
use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

const DISTILL_EXAMPLES: &str = "\
Examples:
  gage-host distill config/custom/tiny_sums.yaml --builtin-name tiny_sums
  gage-host distill config/custom/tiny.yaml --builtin-name tiny_suite --force-merge";

#[derive(Args, Debug)]
#[command(after_help = DISTILL_EXAMPLES)]
pub(crate) struct DistillArguments {
    /// The suite, a YAML file of the kind PipelineConfig.
    #[arg(value_name = "CONFIG")]
    pub(crate) config: PathBuf,

    /// Name of the template.
    #[arg(long, value_name = "NAME")]
    pub(crate) builtin_name: String,

    /// The version; by default the next one.
    #[arg(long, value_name = "vN")]
    pub(crate) version: Option<String>,

    /// Freeze a suite of several tasks as one template.
    #[arg(long)]
    pub(crate) force_merge: bool,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) common: TemplateArguments,
}

/// The file that `init` makes from a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitKind {
    /// A file that names the template and says where it runs.
    RunConfig,
    /// A suite that you can edit.
    PipelineConfig,
}

const INIT_EXAMPLES: &str = "\
Examples:
  gage-host init tiny_sums
  gage-host init tiny_sums --version v1 --mode pipeline-config
  gage-host init tiny_sums --output nightly.yaml";

#[derive(Args, Debug)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct InitArguments {
    /// The template: its name, or its file.
    #[arg(value_name = "SUITE")]
    pub(crate) suite: String,

    /// The version; by default the latest.
    #[arg(long, value_name = "vN")]
    pub(crate) version: Option<String>,

    /// Kind of file to create.
    #[arg(long, value_enum, default_value = "run-config")]
    pub(crate) mode: InitKind,

    /// The file to write; by default a new one in run_configs or custom, next to the folder of templates.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) common: TemplateArguments,
}

const LOCK_EXAMPLES: &str = "\
Examples:
  gage-host lock config/run_configs/tiny_sums_run_1.yaml
  gage-host lock config/run_configs/tiny_sums_run_1.yaml --check
  gage-host lock config/run_configs/tiny_sums_run_1.yaml --update datasets.arithmetic

Exit codes:
  0    locked, or nothing differs
  2    the suite or its lock is wrong
  3    --check: something differs";

#[derive(Args, Debug)]
#[command(after_help = LOCK_EXAMPLES)]
pub(crate) struct LockArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,

    /// Write nothing; print the differences from the lock.
    #[arg(long, conflicts_with = "update")]
    pub(crate) check: bool,

    /// Accept differences: all, or a part: datasets, datasets.ID, plugins, prompts, backends, settings
    /// (with prompts), host, suite.
    #[arg(long, value_name = "PART", num_args = 0..=1, default_missing_value = "")]
    pub(crate) update: Option<String>,

    /// The lock file; by default the suite's file with .gage.lock instead of .yaml, and NAME.gage.lock in the working
    /// folder for a ready suite.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,

    /// Fetch no dataset; use only datasets fetched before.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

impl LockArguments {
    /// Treats a suite given as the value of `--update` as the suite, and updates all parts.
    ///
    /// # Errors
    /// If no suite is given: the error, and the command to type.
    pub(crate) fn resolved(mut self) -> Result<LockArguments, (String, String)> {
        if self.config.given().is_some() {
            return Ok(self);
        }
        let named = self.update.clone().unwrap_or_default();
        if is_suite(Path::new(&named)) {
            self.config.config = Some(PathBuf::from(named));
            self.update = Some(String::new());
            return Ok(self);
        }
        if !self.config.path().as_os_str().is_empty() {
            return Ok(self);
        }
        let message = match named.as_str() {
            "" => "no suite is given".to_owned(),
            part => {
                format!("no suite is given: `{part}` was read as the part to update, and is not a suite")
            }
        };
        Err((
            message,
            format!("write it in front: gage-host lock SUITE --update {named}").trim_end().to_owned(),
        ))
    }
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  gage-host verify runs/nightly
  gage-host verify nightly --json

Exit codes:
  0    everything is as it was written, and every figure comes out again
  2    the folder is not a run folder
  3    a file or a figure differs from what the run recorded";

#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// Compare digests and checksums only; do not score again.
    #[arg(long)]
    pub(crate) files_only: bool,

    /// A folder of components; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only problems; nothing if the run is unchanged.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs in a folder, with their first figures.
    #[command(after_help = RUNS_LIST_EXAMPLES)]
    List(RunsFolderArguments),
    /// Show the identity, the state and the files of a run.
    Show(RunsShowArguments),
    /// Show how far the shards of a run are.
    Status(RunsStatusArguments),
    /// Choose the baseline of a suite; without a run, list the baselines.
    Baseline(RunsBaselineArguments),
    /// Show the figures of a suite over time, and its flip rate.
    Trend(RunsTrendArguments),
    /// Set damaged lines of a journal aside, so that its run can be read and resumed again.
    Repair(RunsRepairArguments),
    /// List runs that could be deleted; delete them with --yes.
    Gc(RunsGcArguments),
}

const RUNS_LIST_EXAMPLES: &str = "\
Examples:
  gage-host runs list
  gage-host runs list --output-dir nightly --json";

const RUNS_SHOW_EXAMPLES: &str = "\
Examples:
  gage-host runs show runs/nightly
  gage-host runs show nightly --sample q17";

#[derive(Args, Debug)]
#[command(after_help = RUNS_SHOW_EXAMPLES)]
pub(crate) struct RunsShowArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// Show this sample instead: what was sent to the model and to the judges, and what they answered.
    #[arg(long, value_name = "ID")]
    pub(crate) sample: Option<String>,

    /// A folder of components, for judges of your own; may be given several times.
    #[arg(
        long = "plugin-dir",
        env = "GAGE_HOST_PLUGIN_DIR",
        value_name = "DIR",
        value_delimiter = ':',
        requires = "sample"
    )]
    pub(crate) plugin_folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const RUNS_STATUS_EXAMPLES: &str = "\
Examples:
  gage-host runs status nightly
  gage-host runs status runs/nightly --watch

Exit codes:
  0    the shards are shown, also if some are not done
  2    there is no such run, or it has no shards";

#[derive(Args, Debug)]
#[command(after_help = RUNS_STATUS_EXAMPLES)]
pub(crate) struct RunsStatusArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// Show it again whenever it changes, until all shards have ended.
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const RUNS_BASELINE_EXAMPLES: &str = "\
Examples:
  gage-host runs baseline nightly      # the baseline of the suite of this run
  gage-host runs baseline              # those of all suites
  gage-host runs baseline --remove tiny";

#[derive(Args, Debug)]
#[command(after_help = RUNS_BASELINE_EXAMPLES)]
pub(crate) struct RunsBaselineArguments {
    /// The id of the run, or its folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,

    /// Remove the baseline of this suite.
    #[arg(long, value_name = "SUITE", conflicts_with = "run")]
    pub(crate) remove: Option<String>,

    #[command(flatten)]
    pub(crate) runs: RunsFolderArguments,
}

const RUNS_TREND_EXAMPLES: &str = "\
Examples:
  gage-host runs trend tiny
  gage-host runs trend tiny --metric exact_match --last 50 --json";

#[derive(Args, Debug)]
#[command(after_help = RUNS_TREND_EXAMPLES)]
pub(crate) struct RunsTrendArguments {
    /// The suite, by the name that `runs list` shows.
    #[arg(value_name = "SUITE")]
    pub(crate) suite: String,

    /// Show only this metric.
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,

    /// Maximum number of runs, the newest.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = super::positive)]
    pub(crate) last: usize,

    #[command(flatten)]
    pub(crate) runs: RunsFolderArguments,
}

const RUNS_REPAIR_EXAMPLES: &str = "\
Examples:
  gage-host runs repair runs/nightly
  gage-host runs repair nightly --json

Exit codes:
  0    the journal is repaired, or nothing was damaged
  2    the run cannot be repaired, or a process is writing to it";

#[derive(Args, Debug)]
#[command(after_help = RUNS_REPAIR_EXAMPLES)]
pub(crate) struct RunsRepairArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const RUNS_GC_EXAMPLES: &str = "\
Examples:
  gage-host runs gc --keep 10          # says which runs would go
  gage-host runs gc --keep 10 --yes    # deletes them
  gage-host runs gc --unfinished";

#[derive(Args, Debug)]
#[command(after_help = RUNS_GC_EXAMPLES)]
pub(crate) struct RunsGcArguments {
    /// Number of newest runs to keep.
    #[arg(long, value_name = "N", required_unless_present = "unfinished")]
    pub(crate) keep: Option<usize>,

    /// Delete only killed and interrupted runs. They could still be resumed.
    #[arg(long)]
    pub(crate) unfinished: bool,

    /// Delete them.
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) runs: RunsFolderArguments,
}
