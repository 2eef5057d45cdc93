//! Commands that usually follow the end of a run, ready to be pasted into a shell. The last line of a run's end has one.

#[cfg(test)]
mod tests;

use crate::arguments::is_suite;
use crate::terminal::{self, shell_word};
use gage_core::{Outcome, Shard};
use gage_engine::{RunError, has_variable};
use gage_figures::Summary;
use gage_record::{MergeState, ShardState, ShardedRun};
use gage_runner::{BatchReport, Ending, RunOutcome, RunnerError, StopReason};
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

/// Flag of the id of a run.
const RUN_ID: &str = "--run-id";

/// Id that begins the ids of all runs of this process, if it has several models or prompts.
static COMMON_RUN_ID: OnceLock<String> = OnceLock::new();

/// Words of the `run` that the command of this process stands for, if it is another command.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// Flag of the shard of a run.
const SHARD: &str = "--shard";

/// Folder of runs if none is named.
const DEFAULT_OUTPUT_DIR: &str = "runs";

/// Flag of the file of requests that a provider answers in bulk.
const REQUESTS_OUT: &str = "--requests-out";

/// Flag of a file of results in bulk.
const RESPONSES: &str = "--responses";

/// The command whose outcome is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutcomeOf<'c> {
    /// `run`: models were called.
    Run {
        /// The suite.
        suite: &'c Path,
    },
    /// `score` or `merge`: the answers are those of recorded runs.
    Recorded,
}

/// Sets the id that begins the ids of all runs of this process. From now on it is the one that is continued, because the
/// id of one run would begin others.
pub(super) fn set_common_run_id(run_id: &str) {
    let _ = COMMON_RUN_ID.set(run_id.to_owned());
}

/// Sets the words of the `run` that the command of this process stands for.
pub(super) fn set_words(words: &[OsString]) {
    let _ = WORDS.set(words.iter().map(|word| word.to_string_lossy().into_owned()).collect());
}

/// Returns the id with which the command of this process continues a run.
fn continued_id(run_id: &str) -> &str {
    COMMON_RUN_ID.get().map_or(run_id, String::as_str)
}

/// Prints the line with the command.
pub(super) fn print(command: &str) {
    terminal::eprint_line(format_args!("next: {command}"));
}

/// Returns the command that continues a run: that of this process, with `--resume`. It is quoted for a sentence.
pub(super) fn resume_command(run_id: &str) -> String {
    format!("`{}`", redacted(&continued(&words(), continued_id(run_id), Vec::new())))
}

/// Returns the command that continues runs by another id than the command of this process names, quoted for a sentence.
pub(super) fn resume_command_of_all(run_id: &str) -> String {
    let is_suite = |word: &str| is_suite(Path::new(word));
    let command = without(&words(), &["--resume", RUN_ID], &is_suite);
    format!("`{}`", redacted(&format!("{command} {RUN_ID} {} --resume", shell_word(run_id))))
}

/// Returns the command that continues a run without the files of its batch, quoted for a sentence.
pub(super) fn live_command(run_id: &str) -> String {
    format!("`{}`", redacted(&continued(&words(), run_id, without_batch())))
}

/// Returns the command that follows the end of a shard whose samples have all ended: it merges the run, or shows how far the other
/// shards are.
pub(super) fn after_shard(run: &Path, are_all_done: bool) -> String {
    let command = if are_all_done { "merge" } else { "runs status" };
    redacted(&format!("gage-host {command} {}", shell_word(run.display())))
}

/// Returns the command that brings a sharded run further, if there is one. `is_watched` is true if the user has followed it to
/// the end.
pub(super) fn after_status(folder: &Path, run: &ShardedRun, is_watched: bool) -> Option<String> {
    let shown = shell_word(folder.display());
    let first = |state: ShardState| run.shards.iter().find(|shard| shard.state == state);
    Some(redacted(&match &run.merge {
        // The user has seen the run, and cleaned up.
        MergeState::Merged if first(ShardState::Deleted).is_some() => return None,
        MergeState::Merged => format!("gage-host report {shown}"),
        MergeState::Running | MergeState::Unreadable(_) => return None,
        _ if run.is_done() => format!("gage-host merge {shown}"),
        _ if first(ShardState::Running).is_some() && !is_watched => {
            format!("gage-host runs status {shown} --watch")
        }
        _ => {
            let shard = first(ShardState::Stopped).or_else(|| first(ShardState::NotStarted))?;
            let (number, count) = (shard.number, run.shards.len());
            let root = folder.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let output_dir = match root == Path::new(DEFAULT_OUTPUT_DIR) {
                true => String::new(),
                false => format!(" --output-dir {}", shell_word(root.display())),
            };
            let run_id = shell_word(&run.run_id);
            format!("gage-host run SUITE {RUN_ID} {run_id} {SHARD} {number}/{count}{output_dir}")
        }
    }))
}

/// Returns the command that follows the end of a run.
pub(super) fn after(outcome: &RunOutcome, of: OutcomeOf<'_>) -> String {
    let folder = outcome.folder.display().to_string();
    let has_failures = has_failures(&outcome.reports.summary);
    let end = RunEnd {
        ending: &outcome.ending,
        batch: outcome.batch.as_ref(),
        run_id: &outcome.run_id,
        folder: &folder,
        has_failures,
    };
    redacted(&end.next(&words(), of))
}

/// Returns the command that continues the open runs of several models or prompts. `endings` are those of the runs that have
/// ended.
pub(super) fn after_open_runs<'e>(run_id: &str, endings: impl IntoIterator<Item = &'e Ending>) -> String {
    let budget = endings.into_iter().find_map(|ending| match ending {
        Ending::Stopped(StopReason::Budget(text)) => larger_budget(text, 1),
        _ => None,
    });
    redacted(&continued(&words(), run_id, budget.into_iter().collect()))
}

/// Returns the command that follows the error of a run, if there is one.
pub(super) fn after_error(error: &RunnerError) -> Option<String> {
    let is_suite = |word: &str| is_suite(Path::new(word));
    next_of_error(error, &words(), &is_suite).map(|command| redacted(&command))
}

/// Returns the command that checks the data of a suite.
pub(super) fn data_check(of: OutcomeOf<'_>) -> String {
    match of {
        OutcomeOf::Run { suite } => data_check_of(suite),
        OutcomeOf::Recorded => "gage-host data validate SUITE".to_owned(),
    }
}

fn data_check_of(suite: &Path) -> String {
    format!("gage-host data validate {}", shell_word(suite.display()))
}

/// Returns the command of this process, for a new run with an id of its own.
pub(super) fn as_new_run() -> String {
    let is_suite = |word: &str| is_suite(Path::new(word));
    redacted(&without(&words(), &["--resume", RUN_ID], &is_suite))
}

/// Returns the command of this process.
pub(super) fn same_again() -> String {
    redacted(&again(&words()))
}

/// Returns the command that follows a run which is stopped at once.
pub(super) fn after_abort() -> String {
    redacted(&aborted(&words(), COMMON_RUN_ID.get().map(String::as_str)))
}

/// Returns the command that follows one which was stopped at once. Its run is the newest unfinished one, unless several runs
/// have an id in common.
fn aborted(words: &[String], common_id: Option<&str>) -> String {
    if let Some(run_id) = common_id {
        return continued(words, run_id, Vec::new());
    }
    match is_run(words) {
        true if shard_of(words).is_some() => again(words),
        true if words.iter().any(|word| is_flag(word, "--resume")) => again(words),
        true => format!("{} --resume", again(words)),
        false => without(words, &[RUN_ID], &|_| false),
    }
}

fn redacted(command: &str) -> String {
    gage_secrets::redact(command).into_owned()
}

/// The words of this process, or of the `run` that its command stands for.
fn words() -> Vec<String> {
    let own = || std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    WORDS.get().cloned().unwrap_or_else(own)
}

/// The end of a run, as far as the next command depends on it.
struct RunEnd<'r> {
    ending: &'r Ending,
    batch: Option<&'r BatchReport>,
    run_id: &'r str,
    folder: &'r str,
    has_failures: bool,
}

impl RunEnd<'_> {
    fn next(&self, words: &[String], of: OutcomeOf<'_>) -> String {
        let folder = shell_word(self.folder);
        let failed = || format!("gage-host samples {folder} --failed");
        match (self.ending, of) {
            (Ending::Complete | Ending::Incomplete, _) if !self.has_failures => {
                format!("gage-host report {folder}")
            }
            (Ending::Complete | Ending::Incomplete | Ending::Stopped(StopReason::FailFast(_)), _) => failed(),
            (Ending::UnreadableData, OutcomeOf::Run { suite }) => data_check_of(suite),
            (Ending::UnreadableData | Ending::Stopped(_), OutcomeOf::Recorded) => {
                without(words, &[RUN_ID], &|_| false)
            }
            (Ending::Stopped(StopReason::AwaitsBatch), OutcomeOf::Run { .. }) => {
                let mut changes = without_batch();
                changes.extend(self.batch.and_then(batch_flag));
                continued(words, self.run_id, changes)
            }
            (Ending::Stopped(StopReason::Budget(text)), OutcomeOf::Run { .. }) => {
                let shards = shard_of(words).map_or(1, Shard::count);
                continued(words, self.run_id, larger_budget(text, shards).into_iter().collect())
            }
            (Ending::Stopped(_), OutcomeOf::Run { .. }) => continued(words, self.run_id, Vec::new()),
        }
    }
}

/// A flag that a command loses, and the value with which it gets the flag again.
type FlagChange = (&'static str, Option<String>);

/// Returns the changes that leave out the files of a batch, because they are not those of the next one.
fn without_batch() -> Vec<FlagChange> {
    vec![(REQUESTS_OUT, None), (RESPONSES, None)]
}

/// Returns the flag that takes the results of written requests, or writes the open ones again.
fn batch_flag(report: &BatchReport) -> Option<FlagChange> {
    match report {
        BatchReport::Written { requests: 0, .. } => None,
        BatchReport::Written { .. } => Some((RESPONSES, Some("results.jsonl".to_owned()))),
        BatchReport::Taken(results) if results.open() > 0 => {
            Some((REQUESTS_OUT, Some("open-requests.jsonl".to_owned())))
        }
        BatchReport::Taken(_) => None,
    }
}

/// Returns whether `samples --failed` shows a sample without an answer or a score.
fn has_failures(summary: &Summary) -> bool {
    let is_failure = |outcome: &Outcome| !matches!(outcome, Outcome::Scored | Outcome::Skipped);
    let of_samples = summary.samples.outcomes.iter();
    let of_metrics = summary.tasks.iter().flat_map(|task| &task.metrics).flat_map(|figure| &figure.outcomes);
    of_samples.chain(of_metrics).any(|(outcome, count)| *count > 0 && is_failure(outcome))
}

fn next_of_error(error: &RunnerError, words: &[String], is_suite: &dyn Fn(&str) -> bool) -> Option<String> {
    if !is_run(words) {
        return matches!(error, RunnerError::Shortage { .. }).then(|| without(words, &[RUN_ID], is_suite));
    }
    if shard_of(words).is_some() {
        let is_passing = matches!(
            error,
            RunnerError::Shortage { .. }
                | RunnerError::InterruptedLoad
                | RunnerError::LoadTimeExceeded { .. }
        );
        return is_passing.then(|| again(words));
    }
    let new_run = || without(words, &["--resume", RUN_ID], is_suite);
    Some(match error {
        RunnerError::Shortage { run_id: Some(run_id), .. } | RunnerError::ChangedInput { run_id, .. } => {
            continued(words, run_id, Vec::new())
        }
        RunnerError::Shortage { run_id: None, .. }
        | RunnerError::InterruptedLoad
        | RunnerError::LoadTimeExceeded { .. } => again(words),
        // With the variable as it was, the same command resumes the run.
        RunnerError::Run(RunError::IdentityMismatch(differences)) if has_variable(differences) => {
            again(words)
        }
        RunnerError::RunExists { is_finished: true, .. } => new_run(),
        RunnerError::RunExists { is_finished: false, .. } => format!("{} --resume", again(words)),
        RunnerError::NothingToResume { root, .. } => {
            format!("gage-host runs list --output-dir {}", shell_word(root.display()))
        }
        RunnerError::Run(RunError::FewerSamples { recorded, .. }) => {
            let flag = "--max-samples";
            format!("{} {flag} {recorded}", without(words, &[flag], is_suite))
        }
        RunnerError::Run(
            RunError::Changed { .. }
            | RunError::IdentityMismatch(_)
            | RunError::OtherAnswers(_)
            | RunError::Data(_),
        ) => new_run(),
        _ => return None,
    })
}

/// Returns the shard that the command of these words runs.
fn shard_of(words: &[String]) -> Option<Shard> {
    let place = words.iter().position(|word| is_flag(word, SHARD))?;
    let value = words.get(place)?.split_once('=').map(|(_, value)| value);
    value.or_else(|| words.get(place + 1).map(String::as_str))?.parse().ok()
}

fn is_run(words: &[String]) -> bool {
    words.get(1).is_some_and(|command| matches!(command.as_str(), "run" | "eval"))
}

fn is_flag(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Formats the command of these words.
fn again(words: &[String]) -> String {
    without(words, &[], &|_| false)
}

/// Formats the command of these words without some flags and their values. The value of `--resume` is optional: a suite after
/// it is not its value.
fn without(words: &[String], flags: &[&str], is_suite: &dyn Fn(&str) -> bool) -> String {
    let mut kept = String::from("gage-host");
    let mut words = words.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        if !flags.iter().any(|flag| is_flag(word, flag)) {
            kept.push(' ');
            kept.push_str(&shell_word(word));
        } else if !word.contains('=') {
            let is_optional = word == "--resume";
            let _ = words.next_if(|value| !is_optional || !(value.starts_with('-') || is_suite(value)));
        }
    }
    kept
}

/// Returns the command of these words, with `--resume` and with some changes. Commands other than `run` and `eval` say nothing
/// about the suite.
fn continued(words: &[String], run_id: &str, changes: Vec<FlagChange>) -> String {
    let run_id = shell_word(run_id);
    if !is_run(words) {
        return format!("gage-host run SUITE --run-id {run_id} --resume");
    }
    // A command that resumes a run does so again, and so does one of a shard.
    let is_resumed = shard_of(words).is_some() || words.iter().any(|word| is_flag(word, "--resume"));
    let mut dropped: Vec<&str> = changes.iter().map(|(flag, _)| *flag).collect();
    dropped.extend((!is_resumed).then_some(RUN_ID));
    let mut command = without(words, &dropped, &|_| false);
    for (flag, value) in changes {
        command.extend(value.map(|value| format!(" {flag} {}", shell_word(value))));
    }
    match is_resumed {
        true => command,
        false => format!("{command} --run-id {run_id} --resume"),
    }
}

/// Returns the flag of a budget that is used up, with twice of what is allowed or spent. Each of `shards` processes has a part of
/// what the flag says, except for the time.
fn larger_budget(text: &str, shards: u64) -> Option<FlagChange> {
    if let Some(time) = text.strip_prefix("max_time ") {
        let seconds: f64 = time.split(' ').next()?.parse().ok()?;
        return Some(("--max-time", Some(format!("{}s", 2.0 * seconds))));
    }
    let (limit, spent) = text.split_once(": ")?;
    let (key, most) = limit.split_once(' ')?;
    let number = |text: &str| text.parse::<f64>().ok();
    // A number of shards stays far below 2^53.
    let double = 2.0 * number(most)?.max(number(spent.split(' ').next()?)?) * shards as f64;
    match key {
        "max_cost" => Some(("--max-cost", Some(double.to_string()))),
        "max_tokens_total" => Some(("--max-tokens-total", Some(format!("{double:.0}")))),
        "max_failures" => Some(("--max-failures", Some(format!("{double:.0}")))),
        _ => None,
    }
}
