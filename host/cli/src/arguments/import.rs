//! The command line of `import`.

use super::run_id;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Convert a suite of the older Python program GAGE; every change is a comment and a note.
    #[command(after_help = GAGE_EXAMPLES)]
    Gage(ImportSuiteArguments),
    /// Convert a task or a group of lm-evaluation-harness, with the files that it includes.
    #[command(name = "lm-eval", after_help = LM_EVAL_EXAMPLES)]
    LmEval(ImportSuiteArguments),
    /// Convert a configuration of promptfoo; its tests become a file of rows.
    #[command(after_help = PROMPTFOO_EXAMPLES)]
    Promptfoo(ImportSuiteArguments),
    /// Convert a log of Inspect to a finished run with the answers and scores of the log.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(ImportInspectArguments),
}

const GAGE_EXAMPLES: &str = "\
Examples:
  gage-host import gage old.yaml
  gage-host import gage old.yaml -o suite.yaml
  gage-host import gage old.yaml -o suite.yaml --json

Exit codes:
  0    converted
  2    converted, but a note needs work; or the file is not a suite, or OUT exists";

const LM_EVAL_EXAMPLES: &str = "\
Examples:
  gage-host import lm-eval lm_eval/tasks/piqa/piqa.yaml
  gage-host import lm-eval my-task.yaml -o suite.yaml
  gage-host import lm-eval lm_eval/tasks/mmlu/default/_mmlu_stem.yaml -o mmlu-stem.yaml

Exit codes:
  0    converted
  2    converted, but a note needs work; or the file is not a task, or OUT exists";

const PROMPTFOO_EXAMPLES: &str = "\
Examples:
  gage-host import promptfoo promptfooconfig.yaml
  gage-host import promptfoo promptfooconfig.yaml -o suite.yaml

The tests are written beside OUT, as OUT with the ending .rows.jsonl. Without -o they are not written.

Exit codes:
  0    converted
  2    converted, but a note needs work; or the file is not a configuration, or OUT exists";

const INSPECT_EXAMPLES: &str = "\
Examples:
  gage-host import inspect logs/2026-01-01T10-00-00_sums_abc.eval -o sums
  gage-host import inspect log.json -o sums --run-id inspect-sums
  gage-host compare runs/inspect-sums runs/mine --allow settings --allow plugins

Written into OUT are rows.jsonl, answers.jsonl, recorded.yaml, which gives the scores of the log, and suite.yaml, which
evaluates another model on the same rows.

Exit codes: those of `run`, and
  2    imported, but a note needs work; or the file is not a log, or a file in OUT exists";

#[derive(Args, Debug)]
pub(crate) struct ImportSuiteArguments {
    /// The file to convert, in YAML.
    #[arg(value_name = "SUITE")]
    pub(crate) suite: PathBuf,

    /// The file to write; by default the suite is printed.
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Print suite and notes as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show only notes that need work.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ImportInspectArguments {
    /// The log: a .eval or .json file.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// The folder to write the suites, rows and answers into.
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,

    /// Folder in which the run folder is created.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// Name of the run and of its folder; by default made from date and time.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<String>,

    /// Print the outcome of the run as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress, and only notes that need work.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}
