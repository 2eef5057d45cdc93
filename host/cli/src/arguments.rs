//! The command line. Types only; the commands are in [`crate::commands`].

mod budget;
mod cache;
mod compare;
mod completions;
mod data;
mod demo;
mod export;
mod import;
mod judge;
mod launch;
mod merge;
mod model;
mod new;
mod observe;
mod output_file;
mod permissions;
mod plan;
mod plugin;
mod print;
mod report;
mod resume;
mod samples;
mod score;
mod suite;
mod suites;
mod view;

pub(crate) use budget::BudgetArguments;
pub(crate) use cache::CacheArguments;
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use compare::CompareArguments;
pub(crate) use completions::{CompletionsArguments, ManPagesArguments};
pub(crate) use data::{DataArguments, DataCommand, PreviewArguments, StatsArguments};
pub(crate) use demo::DemoArguments;
pub(crate) use export::ExportArguments;
use gage_core::{Outcome, Shard};
use gage_storage::{ObjectUrl, StorageError};
use gage_suite::ReadySuite;
pub(crate) use import::{ImportCommand, ImportInspectArguments, ImportSuiteArguments};
pub(crate) use judge::{CalibrateArguments, JudgeCommand};
pub(crate) use launch::{LaunchArguments, LaunchCommand, LaunchStorage};
pub(crate) use merge::MergeArguments;
pub(crate) use model::{
    ModelBenchArguments, ModelCommand, ModelFetchArguments, ModelInspectArguments, ModelListArguments,
};
pub(crate) use new::NewSuiteArguments;
pub(crate) use observe::{LogArguments, ObserveArguments, ProgressArguments};
use output_file::output_file;
pub(crate) use permissions::PermissionArguments;
pub(crate) use plan::PlanArguments;
pub(crate) use plugin::{
    BenchArguments, BuildArguments, CompileArguments, ComponentTarget, InspectArguments, NewArguments,
    PluginAddArguments, PluginCommand, PluginDiffArguments, PluginExportArguments, PluginImportArguments,
    PluginLockArguments, PluginOutdatedArguments, PluginPullArguments, PluginPushArguments,
    PluginSignArguments, PluginUpdateArguments, PluginVerifyArguments, TestArguments, UpgradeArguments,
};
pub(crate) use print::{
    DEFAULT_TEMPLATES, NamedRunArguments, OutcomeArguments, PrintArguments, RunsFolderArguments,
    TemplateArguments,
};
pub(crate) use report::ReportArguments;
pub(crate) use resume::Resume;
pub(crate) use samples::SamplesArguments;
pub(crate) use score::ScoreArguments;
use std::path::{Path, PathBuf};
pub(crate) use suite::{
    DistillArguments, InitArguments, InitKind, LockArguments, RunsBaselineArguments, RunsCommand,
    RunsGcArguments, RunsRepairArguments, RunsShowArguments, RunsStatusArguments, RunsTrendArguments,
    VerifyArguments,
};
pub(crate) use suites::{SuitesCommand, SuitesListArguments, SuitesShowArguments, as_eval};
pub(crate) use view::ViewArguments;

/// Default filter of logs: warnings, except llama.cpp's about model files.
pub(crate) const DEFAULT_LOG: &str = "warn,llama-cpp-2=error";

/// The argument by which this program is called to compile a component, as a child of itself.
pub(crate) const COMPILE: &str = "compile-component";

const EXIT_CODES: &str = "\
Exit codes:
  0    done, or passed
  1    internal error
  2    the configuration or the command line is wrong, and nothing was written; or a data file broke
       off, or a backend refused every request, and the folder is kept
  3    something is not what it was: the suite differs from its lock (--locked), a run folder from
       what the run recorded (verify), an input from the start of the run, the compared runs in
       more than the model, the shards of a run from each other (merge), or the SDK in a project
       from this version (plugin upgrade --check), or the plugins of a suite from the newest ones
       (plugin outdated), or a package from its digest; or the policy does not trust a plugin
  4    incomplete: coverage below min_coverage, a metric without a figure, more invalid rows than
       max_invalid, a used-up budget, a failed sample with fail_fast, repeated crashes of a model,
       or shards of a run that are not complete (merge)
  5    retry later: a server answered nothing for outage_limit, or asks for too long a wait;
       continue with --resume. A registry of plugins cannot be reached, is too slow, or answers
       429 or 5xx; repeat the command. With --shard also: another process writes to the shard
  10   regression: the run is worse than its baseline
  11   inconclusive: too few samples to decide
  130  interrupted; continue with --resume";

/// Evaluate language models with sandboxed scorers and reproducible suites.
#[derive(Debug, Parser)]
#[command(name = "gage-host", version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tiny suite and model that are part of this program, and leave them in a folder for you to edit.
    Demo(DemoArguments),
    /// Write a suite for a file of rows.
    New(NewSuiteArguments),
    /// Run a suite, and write a run folder.
    Run(Box<RunArguments>),
    /// Run a ready suite, such as gsm8k, with a model.
    Eval(Box<RunArguments>),
    /// List the ready suites, and print their cards.
    #[command(subcommand)]
    Suites(SuitesCommand),
    /// Score the answers of a run again, with other metrics, newer plugins or other judges.
    Score(Box<ScoreArguments>),
    /// Make one run from its shards, which `run --shard` wrote.
    Merge(MergeArguments),
    /// Compare a run with a baseline, sample by sample, and apply a gate.
    Compare(Box<CompareArguments>),
    /// Write runs as one HTML file: figures, plots, samples, and differences.
    Report(ReportArguments),
    /// Write a run in the format of lm-evaluation-harness, Inspect or Every Eval Ever, as Parquet or CSV.
    Export(ExportArguments),
    /// Show a folder of runs in a browser: reports, running runs, and trends of figures.
    View(ViewArguments),
    /// Estimate requests, cost, time and statistical power without running the suite.
    Plan(PlanArguments),
    /// Print a script that runs a suite in shards on Slurm, Kubernetes or Ray.
    #[command(subcommand)]
    Launch(Box<LaunchCommand>),
    /// Freeze a suite: write it as a template with a digest.
    Distill(DistillArguments),
    /// Create a configuration that runs a template.
    Init(InitArguments),
    /// Record the digest of everything that can change a figure of a suite, or report changes.
    Lock(LockArguments),
    /// Check that a run folder is unchanged and that its figures can be computed again.
    Verify(VerifyArguments),
    /// Print the samples of a run: questions, references, answers and scores.
    Samples(SamplesArguments),
    /// List, show, repair and delete run folders; choose baselines and show trends.
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Measure how far the verdicts of a judge can be trusted.
    #[command(subcommand)]
    Judge(JudgeCommand),
    /// Convert a suite of another program to a suite of gage-host.
    #[command(subcommand)]
    Import(ImportCommand),
    /// Report every mistake in a suite without running it.
    Validate(ValidateArguments),
    /// Inspect a dataset: its first Samples, its invalid rows, its statistics.
    #[command(subcommand)]
    Data(DataCommand),
    /// Print the JSON Schema of a format.
    Schema(SchemaArguments),
    /// List the names that a suite can use: metrics, preprocessors, backends, loaders and other plugins.
    List(ListArguments),
    /// Explain a metric, an extractor, a judge or an aggregator, with an example.
    Metrics(MetricsArguments),
    /// Create, build, inspect, test, measure, share and sign plugins.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Fetch, inspect and measure model files.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Check this machine: the program that runs model files, its kernels and GPUs, and what it is kept from.
    Doctor(DoctorArguments),
    /// List the environment variables that gage-host reads, with their meanings and values.
    Env(EnvArguments),
    /// Print a script that completes commands and options in a shell.
    Completions(CompletionsArguments),
    /// Write the man pages, for packages.
    #[command(hide = true)]
    ManPages(ManPagesArguments),
    /// Compile the component on the standard input; what the program calls itself for.
    #[command(name = COMPILE, hide = true)]
    Compile(CompileArguments),
}

/// The suite of commands that are given none.
const DEFAULT_SUITE: &str = "suite.yaml";

/// Returns the suite of commands that are given none, if the working folder has it.
pub(crate) fn default_suite() -> Option<&'static Path> {
    Some(Path::new(DEFAULT_SUITE)).filter(|path| path.is_file())
}

/// Returns whether a word names a suite: a file, or the name of a ready suite.
pub(crate) fn is_suite(word: &Path) -> bool {
    word.is_file() || word.to_str().is_some_and(|name| ReadySuite::named(name).is_some())
}

/// The suite, and changes to it.
#[derive(Args, Debug)]
pub(crate) struct ConfigArguments {
    /// The suite: a YAML file of the kind PipelineConfig or RunConfig, or the name of a ready suite, such as
    /// gsm8k; by default suite.yaml, if the working folder has it.
    #[arg(value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// The suite, as an option.
    #[arg(long = "config", value_name = "CONFIG", conflicts_with = "config", hide = true)]
    pub(crate) config_option: Option<PathBuf>,

    /// The file of the ready suite that the command line names. It is written before the suite is read.
    #[arg(skip)]
    pub(crate) ready_file: Option<PathBuf>,

    /// Replace a value of the suite; may be given several times. A segment of the key below a
    /// list is an index or an id: tasks.0.max_samples=5, backends.tiny.config.slots=1.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// Evaluate this model: openai:MODEL, anthropic:MODEL, gemini:MODEL, openai:MODEL@URL, a .gguf file, or a model that
    /// the suite lists. `run` and `validate` take several.
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) models: Vec<String>,

    /// Score the answers in this file, and ask no model: JSON Lines, JSON, CSV, or a log of Inspect or
    /// lm-evaluation-harness.
    #[arg(long, value_name = "FILE", conflicts_with = "models")]
    pub(crate) answers: Option<PathBuf>,

    /// Use this prompt of the suite, by its prompt_id, or this template. `run` and `validate` take several.
    #[arg(long = "prompt", value_name = "PROMPT")]
    pub(crate) prompts: Vec<String>,

    /// A folder of components, each .wasm file under its own name and without grants; may be given
    /// several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,
}

impl ConfigArguments {
    /// The path that the command line names.
    pub(crate) fn given(&self) -> Option<&Path> {
        self.config.as_deref().or(self.config_option.as_deref())
    }

    /// The suite as the user names it: a path, or the name of a ready suite. Empty if none is given and there is no
    /// default.
    pub(crate) fn path(&self) -> PathBuf {
        match self.given() {
            Some(path) => path.to_owned(),
            None => default_suite().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// The file that the suite is read from.
    pub(crate) fn file(&self) -> PathBuf {
        self.ready_file.clone().unwrap_or_else(|| self.path())
    }

    /// Returns the overrides of the suite, with those of the model, the answers and the prompt.
    pub(crate) fn all_overrides(&self) -> Vec<String> {
        let chosen = [("model", &self.models), ("prompt", &self.prompts)];
        let chosen = chosen.into_iter().filter_map(|(key, names)| match names.as_slice() {
            [] => None,
            // JSON is YAML.
            [name] => Some(format!("{key}={}", serde_json::json!(name))),
            names => Some(format!("{key}={}", serde_json::json!(names))),
        });
        let answers =
            self.answers.iter().map(|path| format!("answers={}", serde_json::json!(path.to_string_lossy())));
        chosen.chain(answers).chain(self.overrides.iter().cloned()).collect()
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  gage-host run config/custom/tiny.yaml
  gage-host run config/custom/piqa_openai_http.yaml --concurrency 64 --max-samples 500
  gage-host run config/custom/tiny.yaml --resume nightly
  gage-host run suite.yaml --answers answers.jsonl
  gage-host run suite.yaml --requests-out requests.jsonl
  gage-host run suite.yaml --responses results.jsonl
  gage-host run suite.yaml --run-id nightly --shard 3/16
  gage-host run suite.yaml --task-parallelism 4 --max-time 2h --max-tokens-total 5000000
  gage-host run config/run_configs/tiny_sums_run_1.yaml --locked";

#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,

    /// Number of tasks that run at the same time; by default task_parallelism of the suite, or 1.
    #[arg(long, env = "GAGE_HOST_TASK_PARALLELISM", value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) task_parallelism: Option<usize>,

    /// Maximum number of requests in flight.
    #[arg(short = 'j', long, env = "GAGE_HOST_CONCURRENCY", value_name = "N", default_value_t = 16, allow_negative_numbers = true, value_parser = positive)]
    pub(crate) concurrency: usize,

    /// True if the user set the concurrency, so that limits below it are worth a note.
    #[arg(skip)]
    pub(crate) is_concurrency_given: bool,

    /// Maximum number of samples of each task: those of the first rows.
    #[arg(
        long,
        visible_alias = "limit",
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = positive_count
    )]
    pub(crate) max_samples: Option<u64>,

    /// Number of scoring threads; by default one for each core.
    #[arg(long, env = "GAGE_HOST_AUTOEVAL_WORKERS", value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) autoeval_workers: Option<usize>,

    /// Folder in which run folders are created.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// Name of the run and of its folder; by default made from date and time.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<String>,

    /// Run one shard of the run --run-id, or continue it: K/N, such as 3/16, or index:I/N with I counted from 0. The shards
    /// may run on different machines, and `gage-host merge` makes one run of them.
    #[arg(
        long,
        value_name = "K/N",
        requires = "run_id",
        conflicts_with_all = ["resume", "rejudge", "requests_out", "responses"]
    )]
    pub(crate) shard: Option<Shard>,

    /// Upload the shard to this folder of object storage when it is finished: s3://bucket/prefix.
    #[arg(long, value_name = "URL", requires = "shard", value_parser = object_url)]
    pub(crate) push: Option<ObjectUrl>,

    /// Resume a run: this id or folder, that of --run-id, or the suite's most recent unfinished run.
    /// Samples that ended as backend_error are tried again.
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", value_parser = resume::resume)]
    pub(crate) resume: Option<Resume>,

    /// With --resume, also retry samples with these outcomes: plugin_timeout,truncated.
    #[arg(long, value_name = "OUTCOMES", value_delimiter = ',', requires = "resume", value_parser = failed_outcome)]
    pub(crate) retry: Vec<Outcome>,

    /// With --resume, ask these judges (default all) again about every recorded answer, for a suite whose judges or metrics
    /// have changed.
    #[arg(
        long,
        value_name = "JUDGES",
        value_delimiter = ',',
        num_args = 0..=1,
        default_missing_value = ALL_JUDGES,
        requires = "resume"
    )]
    pub(crate) rejudge: Option<Vec<String>>,

    /// Fetch no dataset; use only datasets fetched before.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    /// Record the answers of HTTP backends into this file, without keys; an existing recording is continued.
    #[arg(long, value_name = "FILE", value_parser = output_file(), conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,

    /// Take the answers of HTTP backends from a file that --record wrote; nothing is sent.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,

    /// Write the requests to the model under test into this file, in the batch format of its provider, and send nothing.
    /// The run stays unfinished.
    #[arg(long, value_name = "FILE", value_parser = output_file(), conflicts_with_all = ["record", "replay", "responses", "rejudge"])]
    pub(crate) requests_out: Option<PathBuf>,

    /// Take the answers of the model under test from this file of a batch's results, and resume the run that wrote its
    /// requests; may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replay", "rejudge"])]
    pub(crate) responses: Vec<PathBuf>,

    /// Refuse to run if anything that can change a figure differs from the lock.
    #[arg(long)]
    pub(crate) locked: bool,

    /// Like --locked, and use the network only to ask models.
    #[arg(long)]
    pub(crate) frozen: bool,

    /// The lock file; by default the suite's file with .gage.lock instead of .yaml, and NAME.gage.lock in the working
    /// folder for a ready suite. Needs --locked or --frozen.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) print: OutcomeArguments,

    #[command(flatten)]
    pub(crate) observe: ObserveArguments,

    // Last, for their headings would count for what follows.
    #[command(flatten)]
    pub(crate) cache: CacheArguments,

    #[command(flatten)]
    pub(crate) budget: BudgetArguments,
}

fn object_url(text: &str) -> Result<ObjectUrl, StorageError> {
    ObjectUrl::parse(text)
}

/// Stands for every judge of a suite.
pub(crate) const ALL_JUDGES: &str = "all";

const METRICS_EXAMPLES: &str = "\
Examples:
  gage-host metrics
  gage-host metrics numeric_error
  gage-host metrics last_number
  gage-host metrics my_metric --plugin-dir ./plugins
  gage-host metrics ./word-recall.wasm";

#[derive(Args, Debug)]
#[command(after_help = METRICS_EXAMPLES)]
pub(crate) struct MetricsArguments {
    /// The metric, extractor, judge or aggregator, or the file of a component; without one all are listed.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Also search the plugins of this suite.
    #[arg(long, value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Also search the components of this folder; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  gage-host validate config/custom/tiny.yaml
  gage-host validate config/custom/tiny.yaml --json";

#[derive(Args, Debug)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,

    /// Print the problems as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing if the suite is valid.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

/// Kinds of listed items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    /// Scores answers.
    Metrics,
    /// Turns rows into Samples.
    Preprocessors,
    /// Adds text or media to a Sample.
    Hooks,
    /// Computes figures from score cards.
    Aggregators,
    /// Asks judge models and reads their replies.
    Judges,
    /// Finds the answer in a model's text.
    Extractors,
    /// Provides context or tools for a model.
    Adapters,
    /// Answers requests.
    Backends,
    /// Reads rows.
    Loaders,
    /// The components themselves.
    Plugins,
}

const LIST_EXAMPLES: &str = "\
Examples:
  gage-host list
  gage-host list metrics --json
  gage-host list plugins --config suite.yaml";

#[derive(Args, Debug)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArguments {
    /// Kind of names to list; by default all.
    #[arg(value_enum)]
    pub(crate) what: Option<ListKind>,

    /// List also the plugins of this suite.
    #[arg(long, value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// List also the components of this folder; may be given several times.
    #[arg(long = "plugin-dir", env = "GAGE_HOST_PLUGIN_DIR", value_name = "DIR", value_delimiter = ':')]
    pub(crate) plugin_folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Print JSON, with inputs, values and the schema of the parameters.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

/// Documents with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A suite: the YAML file that `gage-host run` reads.
    Suite,
    /// The standard Sample: the result of a preprocessor.
    Sample,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  gage-host schema suite > suite.schema.json
  gage-host schema sample > sample.schema.json";

#[derive(Args, Debug)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct SchemaArguments {
    /// The format.
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  gage-host doctor
  gage-host doctor --json";

#[derive(Args, Debug)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const ENV_EXAMPLES: &str = "\
Examples:
  gage-host env
  gage-host env --json";

#[derive(Args, Debug)]
#[command(after_help = ENV_EXAMPLES)]
pub(crate) struct EnvArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// List only variables that are set.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

fn positive(text: &str) -> Result<usize, String> {
    positive_count(text)?.try_into().map_err(|_| NOT_POSITIVE.to_owned())
}

fn positive_count(text: &str) -> Result<u64, String> {
    text.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(|| NOT_POSITIVE.to_owned())
}

const NOT_POSITIVE: &str = "expected a whole number of at least 1";

fn run_id(text: &str) -> Result<String, String> {
    gage_core::check_name(text).map(|()| text.to_owned())
}

/// The name of an outcome that is a failure.
fn failed_outcome(text: &str) -> Result<Outcome, String> {
    let failures = || Outcome::ALL.iter().copied().filter(|outcome| *outcome != Outcome::Scored);
    failures().find(|outcome| outcome.name() == text).ok_or_else(|| {
        let names: Vec<&str> = failures().map(Outcome::name).collect();
        format!("expected one of: {}", names.join(", "))
    })
}
