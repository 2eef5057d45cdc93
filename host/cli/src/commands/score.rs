//! `gage-host score`: scores the answers of a run again.

use super::compare::{located, refuse_run};
use super::listener::Listener;
use super::next_command::OutcomeOf;
use super::permissions::{Access, access};
use super::run::named_judges;
use super::{failure, observability, outcome, setup};
use crate::arguments::{DEFAULT_LOG, ScoreArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::RecordError;
use gage_runner::{CancelToken, Context, RescoreRequest, RunnerError, rescore};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn execute(arguments: &ScoreArguments) -> anyhow::Result<ExitCode> {
    observability::logs(&arguments.print.logs, None)?;
    let Access { permissions, trust } = access(&arguments.permissions)?;
    let output_dir = arguments.output_dir.as_deref().unwrap_or(Path::new("runs"));
    let stop = CancelToken::default();
    let listener =
        Listener::of_run(arguments.print.quiet, &arguments.print.progress, &stop, output_dir, false);
    let outcome = rescore(&RescoreRequest {
        context: Context {
            permissions: if arguments.offline { permissions.offline() } else { permissions },
            trust,
            ..setup::context(Arc::new(listener), stop, DEFAULT_LOG)
        },
        run: located(&arguments.run, output_dir),
        metrics: arguments.metrics.clone(),
        suite: arguments.config.clone(),
        overrides: arguments.overrides.clone(),
        plugin_folders: arguments.plugin_folders.clone(),
        output_folder: arguments.output_dir.clone(),
        run_id: arguments.run_id.clone(),
        judges: (!arguments.judges.is_empty()).then(|| named_judges(&arguments.judges)),
        concurrency: arguments.concurrency,
        is_offline: arguments.offline,
    });
    match outcome {
        Ok(outcome) => outcome::print(&outcome, arguments.print.json, OutcomeOf::Recorded),
        Err(error @ RunnerError::RunExists { .. }) => {
            Ok(terminal::usage_error(&error.to_string(), Some("choose another --run-id")))
        }
        Err(RunnerError::Record(error @ RecordError::NotARunFolder { .. })) => {
            Ok(refuse_run(error, &arguments.run, output_dir))
        }
        Err(error) => failure::refuse_run_end(error),
    }
}
