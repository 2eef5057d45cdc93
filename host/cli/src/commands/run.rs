//! `gage-host run`: runs a suite into a run folder.

use super::listener::Listener;
use super::outcome::{self, OutcomeOf};
use super::permissions::permissions;
use super::{failure, observability, setup, signals};
use crate::arguments::{ALL_JUDGES, RunArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Permissions;
use gage_runner::{
    CancelToken, Context, HttpExchanges, ResumeRequest, RunRequest, default_lock_path, resume, run,
};
use std::sync::Arc;

pub(crate) fn execute(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    observability::logs(&arguments.print.logs, Some(&arguments.observe))?;
    let arguments =
        arguments.resolved().map_err(|(message, help)| terminal::usage_error(&message, Some(help)))?;
    if arguments.lock.is_some() && !(arguments.locked || arguments.frozen) {
        let message = "--lock has no effect without --locked or --frozen";
        return Ok(terminal::usage_error(message, Some("add --locked, or --frozen")));
    }
    let permissions = permissions(&arguments.config.permissions)?;
    signals::full_files_are_errors();
    let request = request(&arguments, permissions);
    let outcome = match arguments.is_resumed() {
        true => resume(&ResumeRequest {
            run: request,
            retry: arguments.retry.clone(),
            rejudge: arguments.rejudge.as_deref().map(named_judges),
        }),
        false => run(&request),
    };
    match outcome {
        Ok(outcome) => outcome::print(&outcome, arguments.print.json, OutcomeOf::Run),
        Err(error) => failure::refuse(error),
    }
}

/// Returns the names of judges to ask again; none for `all`.
pub(super) fn named_judges(names: &[String]) -> Vec<String> {
    match names.iter().any(|name| name == ALL_JUDGES) {
        true => Vec::new(),
        false => names.to_vec(),
    }
}

/// Creates the request from the command line.
fn request(arguments: &RunArguments, permissions: Permissions) -> RunRequest {
    let suite = setup::source(&arguments.config);
    let lock = (arguments.locked || arguments.frozen)
        .then(|| arguments.lock.clone().unwrap_or_else(|| default_lock_path(&suite.path)));
    let exchanges = match (&arguments.record, &arguments.replay) {
        (Some(path), _) => HttpExchanges::Record(path.clone()),
        (None, Some(path)) => HttpExchanges::Replay(path.clone()),
        (None, None) => HttpExchanges::Live,
    };
    let stop = CancelToken::default();
    let is_port_free = arguments.observe.metrics_listen.is_some_and(|address| address.port() == 0);
    let listener = Listener::of_run(arguments.print.quiet, &arguments.print.progress, &stop, is_port_free);
    let is_offline = arguments.offline || arguments.frozen;
    RunRequest {
        context: Context {
            permissions: if is_offline { permissions.offline() } else { permissions },
            ..setup::context(Arc::new(listener), stop, &arguments.print.logs.log)
        },
        output_folder: arguments.output_dir.clone(),
        run_id: arguments.run_id.clone(),
        concurrency: arguments.concurrency,
        max_samples: arguments.max_samples,
        scoring_threads: arguments.autoeval_workers,
        task_parallelism: arguments.task_parallelism,
        budget: arguments.budget.spec(),
        is_offline,
        lock,
        exchanges,
        cache: arguments.cache.options(),
        observe: observability::options(&arguments.observe),
        ..RunRequest::new(suite)
    }
}
