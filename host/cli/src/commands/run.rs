//! `gage-host run`: runs a suite into a run folder, or into one for each of several models and prompts.

mod variants;

use super::combinations::{Combination, combinations};
use super::listener::Listener;
use super::next_command::OutcomeOf;
use super::permissions::{Access, access};
use super::{
    failure, next_command, observability, outcome, push, ready_suite, setup, signals, unpinned_data,
};
use crate::arguments::{ALL_JUDGES, RunArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::{Permissions, Purpose};
use gage_core::Shard;
use gage_engine::RunError;
use gage_figures::{Summary, TableOptions, render_side_by_side};
use gage_record::{Manifest, RecordError, RunStatus, ShardFolder, shard_folders};
use gage_runner::{
    CancelToken, Context, Ending, HttpExchanges, ResumeRequest, RunOutcome, RunRequest, RunnerError,
    StopReason, default_lock_path, new_run_id, resume, run,
};
use serde_json::json;
use std::sync::Arc;
use variants::{Variant, common_id, variants};

pub(crate) fn execute(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    observability::logs(&arguments.print.logs, Some(&arguments.observe))?;
    let mut arguments =
        arguments.resolved().map_err(|(message, help)| terminal::usage_error(&message, Some(help)))?;
    ready_suite::resolve(&mut arguments.config)?;
    if arguments.lock.is_some() && !(arguments.locked || arguments.frozen) {
        let message = "--lock has no effect without --locked or --frozen";
        return Ok(terminal::usage_error(message, Some("add --locked, or --frozen")));
    }
    let access = access(&arguments.config.permissions)?;
    signals::full_files_are_errors();
    let stop = CancelToken::default();
    let combinations = combinations(&arguments.config, &access.permissions);
    if combinations.len() > 1 {
        if arguments.shard.is_some() {
            let message = "the suite has several models or prompts, and a shard is of one run";
            return Ok(terminal::usage_error(message, Some("choose one with --model and --prompt")));
        }
        if arguments.requests_out.is_some() || !arguments.responses.is_empty() {
            let message = "the suite has several models or prompts, and a batch is of one run";
            return Ok(terminal::usage_error(message, Some("choose one with --model and --prompt")));
        }
        if arguments.config.answers.is_some() {
            let message = "the suite has several prompts, and the answers were made with one of them";
            return Ok(terminal::usage_error(message, Some("choose it with --prompt")));
        }
        return run_all(arguments, &access, combinations, &stop);
    }
    let other_shard = match pushed_before(&arguments, &stop) {
        Ok(other) => other.map(Box::new),
        Err(code) => return Ok(code),
    };
    let request = RunRequest { other_shard, ..request(&arguments, access, &stop) };
    match started(&arguments, request) {
        Ok(outcome) => {
            print_unpinned_data(&arguments, &outcome);
            let of = OutcomeOf::Run { suite: &arguments.config.path() };
            let code = match arguments.shard.filter(|_| outcome.ending == Ending::Complete) {
                Some(shard) => print_shard(&outcome, arguments.print.json, of, shard)?,
                None => outcome::print(&outcome, arguments.print.json, of)?,
            };
            let Some(target) = &arguments.push else { return Ok(code) };
            Ok(code.worse(push::push(target, &outcome, &stop, arguments.print.quiet)))
        }
        Err(error) if arguments.shard.is_some() && is_held(&error) => {
            let message = "another process is writing to this shard";
            terminal::usage_error(message, Some("if it is gone, the same command continues the shard"));
            Ok(ExitCode::RetryLater)
        }
        Err(error) => failure::refuse_run_end(error),
    }
}

/// Prints the commits of data that no lock and no revision pins.
fn print_unpinned_data(arguments: &RunArguments, outcome: &RunOutcome) {
    if !(arguments.locked || arguments.frozen || arguments.print.quiet) {
        unpinned_data::print(&outcome.folder);
    }
}

/// Looks which shards of the run were pushed: fetches this one, and returns the manifest of another. The error is the exit code of
/// the printed message.
fn pushed_before(arguments: &RunArguments, stop: &CancelToken) -> Result<Option<Manifest>, ExitCode> {
    let (Some(target), Some(shard), Some(run_id)) = (&arguments.push, arguments.shard, &arguments.run_id)
    else {
        return Ok(None);
    };
    let run = arguments.output_dir.join(run_id);
    push::restore(target, &run, shard, stop, arguments.print.quiet)
}

/// Prints the outcome of a complete shard, and the command that follows it.
fn print_shard(
    outcome: &RunOutcome,
    json: bool,
    of: OutcomeOf<'_>,
    shard: Shard,
) -> anyhow::Result<ExitCode> {
    let code = outcome::print_figures(outcome, json, of)?;
    // Below the run are the shards, and below them this one.
    let run = outcome.folder.ancestors().nth(2).unwrap_or(&outcome.folder);
    let is_done = |folder: &&ShardFolder| {
        Manifest::read(&folder.path).is_ok_and(|manifest| manifest.status == RunStatus::Complete)
    };
    let done = shard_folders(run).map_or(0, |folders| folders.iter().filter(is_done).count());
    next_command::print(&next_command::after_shard(run, done as u64 == shard.count()));
    Ok(code)
}

/// Returns whether another process writes to the run folder. A scheduler may have started a shard again before it noticed.
fn is_held(error: &RunnerError) -> bool {
    matches!(
        error,
        RunnerError::Record(RecordError::Locked { .. })
            // A run that exists is noticed here only if it began after this process did.
            | RunnerError::Run(RunError::Record(RecordError::Locked { .. } | RecordError::RunExists { .. }))
    )
}

/// Runs or resumes the suite.
fn started(arguments: &RunArguments, request: RunRequest) -> Result<RunOutcome, RunnerError> {
    match arguments.is_resumed() {
        true => resume(&ResumeRequest {
            run: request,
            retry: arguments.retry.clone(),
            rejudge: arguments.rejudge.as_deref().map(named_judges),
        }),
        false => run(&request),
    }
}

/// Runs each combination of models and prompts, one after another, and prints their figures side by side. Returns the worst
/// code of the runs.
fn run_all(
    mut arguments: RunArguments,
    access: &Access,
    combinations: Vec<Combination>,
    stop: &CancelToken,
) -> anyhow::Result<ExitCode> {
    let is_resumed = arguments.is_resumed();
    if is_resumed && arguments.run_id.is_none() {
        let message =
            "the suite has several models or prompts, and --resume does not say which runs are resumed";
        return Ok(terminal::usage_error(
            message,
            Some("add the --run-id that the command was started with"),
        ));
    }
    let run_id = arguments.run_id.clone().unwrap_or_else(new_run_id);
    let variants = variants(combinations, &run_id);
    if is_resumed && !variants.iter().any(|variant| variant.exists(&arguments.output_dir)) {
        return Ok(refuse_unknown_runs(&run_id, &variants));
    }
    if !are_valid(&mut arguments, &access.permissions, &variants) {
        return Ok(ExitCode::Configuration);
    }
    next_command::set_common_run_id(&run_id);
    let ended = run_each(&mut arguments, access, &variants, stop)?;
    if let Some((_, outcome)) = ended.outcomes.first() {
        print_unpinned_data(&arguments, outcome);
    }
    if arguments.print.json {
        let runs: Vec<_> = ended.outcomes.iter().map(|(_, outcome)| outcome::json_of(outcome)).collect();
        terminal::print_json(format_args!("{:#}", json!({"runs": runs})))?;
    } else {
        print_side_by_side(&ended.outcomes)?;
    }
    for line in &ended.failures {
        terminal::eprint_line(gage_core::printable_line(line));
    }
    let has_begun = variants.iter().any(|variant| variant.exists(&arguments.output_dir));
    if let Some(command) = ended.next(&run_id, has_begun) {
        next_command::print(&command);
    }
    Ok(ended.code)
}

/// Runs of several models or prompts that have ended.
struct EndedRuns<'v> {
    outcomes: Vec<(&'v Variant, RunOutcome)>,
    /// Lines that name the runs which ended without figures, or too early.
    failures: Vec<String>,
    /// The worst code of the runs.
    code: ExitCode,
    /// True if a run can be continued, or was not begun.
    is_open: bool,
    /// True if a run with the id of one of them is finished already.
    is_taken: bool,
}

impl EndedRuns<'_> {
    /// Returns the command that continues open runs, or shows all of them. A run that ended while its model was loaded has not
    /// begun, and cannot be continued.
    fn next(&self, run_id: &str, has_begun: bool) -> Option<String> {
        match (self.is_open, has_begun) {
            (true, true) => {
                let endings = self.outcomes.iter().map(|(_, outcome)| &outcome.ending);
                Some(next_command::after_open_runs(run_id, endings))
            }
            (true, false) => Some(next_command::same_again()),
            (false, _) if self.outcomes.is_empty() => self.is_taken.then(next_command::as_new_run),
            (false, _) => Some(comparison(&self.outcomes)),
        }
    }
}

/// Runs each combination, and prints the end of its run. A model that fails does not keep the others from running, but a
/// budget that is used up does, and the user.
fn run_each<'v>(
    arguments: &mut RunArguments,
    access: &Access,
    variants: &'v [Variant],
    stop: &CancelToken,
) -> anyhow::Result<EndedRuns<'v>> {
    let is_resumed = arguments.is_resumed();
    let mut ended = EndedRuns {
        outcomes: Vec::new(),
        failures: Vec::new(),
        code: ExitCode::Done,
        is_open: false,
        is_taken: false,
    };
    let suite = arguments.config.path();
    let of = OutcomeOf::Run { suite: &suite };
    for variant in variants {
        variant.apply(arguments, is_resumed);
        let name = variant.combination.name();
        if !arguments.print.quiet {
            terminal::eprint_line(gage_core::printable_line(&name));
        }
        let mut is_budget_exhausted = false;
        let code = match started(arguments, request(arguments, access.clone(), stop)) {
            Ok(outcome) => {
                let code = match arguments.print.json {
                    true => outcome::print_remarks(&outcome, of),
                    false => outcome::print_figures(&outcome, false, of)?,
                };
                ended.is_open |= is_continued(&outcome.ending);
                is_budget_exhausted = matches!(outcome.ending, Ending::Stopped(StopReason::Budget(_)));
                let reason = outcome.ended_by.iter();
                ended.failures.extend(reason.map(|reason| format!("ended early: {name}: {reason}")));
                ended.outcomes.push((variant, outcome));
                code
            }
            Err(error) => {
                ended.is_taken |= matches!(error, RunnerError::RunExists { is_finished: true, .. });
                ended.is_open |= matches!(
                    error,
                    RunnerError::RunExists { is_finished: false, .. } | RunnerError::Shortage { .. }
                );
                ended.failures.push(format!("failed: {name}: {error}"));
                failure::refuse(error)?
            }
        };
        ended.code = ended.code.worse(code);
        if stop.is_cancelled() || is_budget_exhausted {
            ended.is_open |= variants.len() > ended.outcomes.len();
            break;
        }
    }
    Ok(ended)
}

/// Checks the suite of each combination, and prints the problems.
fn are_valid(arguments: &mut RunArguments, permissions: &Permissions, variants: &[Variant]) -> bool {
    let mut are_valid = true;
    for variant in variants {
        variant.combination.select(&mut arguments.config);
        let source = setup::source(&arguments.config);
        let loaded = setup::loaded(&source.path, &source.overrides, permissions, Purpose::Run);
        if loaded.problems.has_errors() {
            terminal::show_problems(&loaded.problems);
            are_valid = false;
        }
    }
    are_valid
}

/// Refuses to resume runs of which none exists.
fn refuse_unknown_runs(run_id: &str, variants: &[Variant]) -> ExitCode {
    if let Some(common) = common_id(run_id, variants) {
        let message =
            format!("'{run_id}' names one run of several, and the suite has several models or prompts");
        let resume = next_command::resume_command_of_all(common);
        let help = format!("continue all of them with {resume}, or choose one with --model and --prompt");
        return terminal::usage_error(&message, Some(&help));
    }
    let message = format!("there is no run to resume whose id begins with '{run_id}-'");
    terminal::usage_error(
        &message,
        Some("name the --run-id that they were started with, or leave --resume out"),
    )
}

/// Returns whether resuming a run that has ended continues it.
fn is_continued(ending: &Ending) -> bool {
    matches!(ending, Ending::Stopped(reason) if !matches!(reason, StopReason::FailFast(_)))
}

fn print_side_by_side(outcomes: &[(&Variant, RunOutcome)]) -> anyhow::Result<()> {
    if outcomes.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = outcomes.iter().map(|(variant, _)| variant.combination.name()).collect();
    let summaries = outcomes.iter().map(|(_, outcome)| &outcome.reports.summary);
    let runs: Vec<(&str, &Summary)> = names.iter().map(String::as_str).zip(summaries).collect();
    let options = TableOptions {
        width: terminal::width(),
        colour: terminal::colour_on_stdout(),
        run_folder: None,
        is_merged: false,
    };
    terminal::print_line(format_args!("\n{}", render_side_by_side(&runs, &options)))
}

/// Returns the command that shows the runs together.
fn comparison(outcomes: &[(&Variant, RunOutcome)]) -> String {
    let folders: Vec<String> =
        outcomes.iter().map(|(_, outcome)| terminal::shell_word(outcome.folder.display())).collect();
    let command = if folders.len() == 2 { "compare" } else { "report" };
    format!("gage-host {command} {}", folders.join(" "))
}

/// Returns the names of judges to ask again; none for `all`.
pub(super) fn named_judges(names: &[String]) -> Vec<String> {
    match names.iter().any(|name| name == ALL_JUDGES) {
        true => Vec::new(),
        false => names.to_vec(),
    }
}

/// Returns how requests to servers are answered. The options exclude each other.
fn exchanges(arguments: &RunArguments) -> HttpExchanges {
    let RunArguments { record, replay, requests_out, responses, .. } = arguments;
    match (record, replay, requests_out) {
        (Some(path), ..) => HttpExchanges::Record(path.clone()),
        (_, Some(path), _) => HttpExchanges::Replay(path.clone()),
        (_, _, Some(path)) => HttpExchanges::WriteRequests(path.clone()),
        _ if !responses.is_empty() => HttpExchanges::TakeResponses(responses.clone()),
        _ => HttpExchanges::Live,
    }
}

/// Creates the request from the command line.
fn request(arguments: &RunArguments, access: Access, stop: &CancelToken) -> RunRequest {
    let Access { permissions, trust } = access;
    let suite = setup::source(&arguments.config);
    let lock = (arguments.locked || arguments.frozen)
        .then(|| arguments.lock.clone().unwrap_or_else(|| default_lock_path(&arguments.config.path())));
    let exchanges = exchanges(arguments);
    let is_port_free = arguments.observe.metrics_listen.is_some_and(|address| address.port() == 0);
    let (quiet, progress) = (arguments.print.quiet, &arguments.print.progress);
    let listener = Listener::of_run(quiet, progress, stop, &arguments.output_dir, is_port_free);
    let is_offline = arguments.offline || arguments.frozen;
    RunRequest {
        context: Context {
            permissions: if is_offline { permissions.offline() } else { permissions },
            trust,
            // The end of this run is not that of the other runs of the command.
            ..setup::context(Arc::new(listener), stop.child(), &arguments.print.logs.log)
        },
        output_folder: arguments.output_dir.clone(),
        run_id: arguments.run_id.clone(),
        shard: arguments.shard,
        concurrency: arguments.is_concurrency_given.then_some(arguments.concurrency),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn only_another_process_holds_a_shard() {
        let path = || PathBuf::from("runs/r/shards/01-of-02");
        let locked = || RecordError::Locked { path: path() };
        let exists = || RecordError::RunExists { run_id: "01-of-02".to_owned(), path: path() };
        for (error, expected) in [
            (RunnerError::Record(locked()), true),
            (RunnerError::Run(RunError::Record(locked())), true),
            (RunnerError::Run(RunError::Record(exists())), true),
            // The folder has files of something else, now as before.
            (RunnerError::Record(exists()), false),
            (RunnerError::ShardWithoutRun, false),
        ] {
            assert_eq!(is_held(&error), expected, "{error}");
        }
    }
}
