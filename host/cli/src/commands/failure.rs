//! Failures of the library, as messages and exit codes.

use super::compare::unreadable;
use super::{lock_differences, next_command, setup};
use crate::exit_code::ExitCode;
use crate::machine_shortage::RETRY_HELP;
use crate::terminal;
use gage_engine::{RescoreError, RunError};
use gage_runner::{ErrorCategory, MergeError, RunnerError};

/// Values that `--set` may change when answers are scored again.
const SETTABLE_FOR_SCORES: &str = "allowed are metrics, plugins, gate and metadata, and in custom and tasks \
    metric_overrides, slices, cluster_by, min_coverage and the steps extract and auto_eval; for anything else run the suite again";

/// Prints the error of a run and the command that follows it, and returns the exit code.
///
/// # Errors
/// As for [`refuse`].
pub(super) fn refuse_run_end(error: RunnerError) -> anyhow::Result<ExitCode> {
    let next = next_command::after_error(&error);
    let code = refuse(error)?;
    if let Some(command) = next {
        next_command::print(&command);
    }
    Ok(code)
}

/// Prints the error of a call, and returns its exit code.
///
/// # Errors
/// Fails for errors of the machine and of this program, which `main` prints.
pub(super) fn refuse(error: RunnerError) -> anyhow::Result<ExitCode> {
    match error {
        RunnerError::Problems(problems) => {
            terminal::show_problems(&problems);
            Ok(setup::code_of(&problems))
        }
        RunnerError::UnfetchedPackages { problems, category } => {
            terminal::show_problems(&problems);
            Ok(category.into())
        }
        RunnerError::Plugins(error) => Ok(setup::refuse_plugin(&error)),
        RunnerError::Suite(error) => Ok(setup::refuse_suite(error)),
        RunnerError::LockMismatch { path, differences } => {
            Ok(lock_differences::refuse_mismatch(&path, &differences))
        }
        RunnerError::Merge(MergeError::Stopped) => {
            terminal::usage_error(&MergeError::Stopped.to_string(), None);
            Ok(ExitCode::Interrupted)
        }
        error @ RunnerError::Merge(_) => {
            terminal::usage_error(&error.to_string(), help_for(&error).as_deref());
            Ok(error.category().into())
        }
        error @ (RunnerError::LockedKernels { .. }
        | RunnerError::LockOfAnotherSuite { .. }
        | RunnerError::ChangedInput { .. }) => {
            terminal::usage_error(&error.to_string(), help_for(&error).as_deref());
            Ok(ExitCode::LockMismatch)
        }
        RunnerError::ChangedSinceLock { reason, differences } => {
            refuse(*reason)?;
            lock_differences::show(&differences);
            Ok(ExitCode::LockMismatch)
        }
        error @ RunnerError::InterruptedLoad => {
            terminal::usage_error(&error.to_string(), None);
            Ok(ExitCode::Interrupted)
        }
        error @ RunnerError::LoadTimeExceeded { .. } => {
            terminal::usage_error(&error.to_string(), help_for(&error).as_deref());
            Ok(ExitCode::Incomplete)
        }
        RunnerError::Run(error) => refuse_run(error),
        RunnerError::Shortage { message, run_id } => {
            let help = match run_id {
                Some(_) => "remove the cause, then continue the run; no recorded result depends on it",
                None => RETRY_HELP,
            };
            terminal::usage_error(&message, Some(help));
            Ok(ExitCode::Internal)
        }
        error if error.category() == ErrorCategory::Internal => Err(error.into()),
        RunnerError::Report(error) => Ok(unreadable(error)),
        error => Ok(terminal::usage_error(&error.to_string(), help_for(&error).as_deref())),
    }
}

/// Returns a hint for fixing an error.
fn help_for(error: &RunnerError) -> Option<String> {
    let help = match error {
        RunnerError::LockedKernels { .. } => {
            "run it on a machine like that of the lock, or make a lock for this machine with `gage-host lock \
             --update`"
        }
        RunnerError::LockOfAnotherSuite { .. } => {
            "name the right one with --lock, or make one with `gage-host lock`"
        }
        RunnerError::Merge(error) => return help_for_merge(error).map(str::to_owned),
        RunnerError::UnsuitedForShards { .. } => "leave --shard out: one process does it all",
        RunnerError::ShardWithoutRun => "add --run-id",
        RunnerError::ChangedInput { .. } => {
            "restore the input, and continue the run with `gage-host run SUITE --resume RUN`"
        }
        RunnerError::RunExists { is_finished: true, .. } => {
            "it is finished: choose another --run-id, or leave --run-id out"
        }
        RunnerError::RunExists { is_finished: false, .. } => {
            "continue it with --resume, or choose another --run-id"
        }
        RunnerError::UnreadableRuns { .. } => "name the run by --resume RUN",
        RunnerError::NothingToResume { other: Some(_), .. } => {
            "to continue that run, restore these values, or set their variables as they were; to start a new run, \
             leave --resume out"
        }
        RunnerError::NothingToResume { other: None, .. } => {
            "every run is finished, in use by another process, or was started with a different \
             configuration: name one by --resume RUN (`gage-host runs list` shows them), or leave \
             --resume out"
        }
        RunnerError::OutputFolder { .. } => "choose another --output-dir",
        RunnerError::LoadTimeExceeded { .. } => "allow more time: --max-time",
        RunnerError::EventsUrl(_) => "correct --report-http-url",
        RunnerError::TraceCollector(_) => "correct --otlp-endpoint",
        RunnerError::MetricsAddress { .. } => "choose another --metrics-listen",
        RunnerError::HttpRecording(_) => {
            "--record can only append to a recording; --replay needs a file written by --record"
        }
        RunnerError::Batch(_) => {
            "--requests-out names a new file or one of requests, and --responses the results that the provider returned"
        }
        RunnerError::CacheWithRecording | RunnerError::NoCacheFolder | RunnerError::AnswerCache(_) => {
            "name another folder, or leave the cache off: --cache=off"
        }
        RunnerError::UnknownLockPart(_) => {
            let parts: Vec<&str> = gage_suite::Lock::part_names().collect();
            return Some(format!("parts are {}, and below them a name: datasets.ID", parts.join(", ")));
        }
        RunnerError::Rescore(RescoreError::UnknownTask { .. }) => "give a suite with tasks of the run",
        RunnerError::UntrustedManifest { .. } => {
            "restore it from a copy; `gage-host verify` lists other changes"
        }
        RunnerError::NothingToScore { .. } => "run it: `gage-host run SUITE --resume RUN`",
        RunnerError::NoConfiguration { .. } => "give one with --config",
        RunnerError::MissingVariables(_) => "or give the whole suite with --config",
        RunnerError::OverrideWithoutEffect { .. } => SETTABLE_FOR_SCORES,
        RunnerError::OtherRepeats { .. } => "use the `repeat` of the run: each question was asked that often",
        RunnerError::NoFigures { is_being_written: true, .. } => {
            "a process is writing to it: wait until it ends"
        }
        RunnerError::NoFigures { is_being_written: false, .. } => {
            "continue it with `gage-host run SUITE --resume RUN`"
        }
        _ => return None,
    };
    Some(help.to_owned())
}

/// Returns a hint for shards that cannot be merged.
fn help_for_merge(error: &MergeError) -> Option<&'static str> {
    Some(match error {
        MergeError::NoShards { .. } => "write them with `gage-host run SUITE --run-id RUN --shard K/N`",
        MergeError::OtherDivision { .. } => "delete or move away the shards of the other division",
        MergeError::NotThisShard { .. } => {
            "give the folder its name back, or delete it and run the shard again"
        }
        MergeError::Untrusted { .. } => "restore it from a copy, or delete it and run the shard again",
        MergeError::OtherInputs { .. } | MergeError::OtherTotals { .. } => {
            "delete one of the two, and run it again with the inputs of the other; `--locked` refuses other inputs before a \
             shard begins"
        }
        MergeError::OtherPlugin { .. } => {
            "name the folder of the plugin that scored the shards: --plugin-dir DIR"
        }
        MergeError::WrongRecord { .. } => {
            "run all shards to their ends with the same data and the same --max-samples; if the shard is damaged, delete its \
             folder and run it again"
        }
        MergeError::FewerRecords { .. } => {
            "restore the folder; the merged run is unchanged. To write it again from fewer records, delete its manifest.json first"
        }
        MergeError::Incomplete { .. } => {
            "run these shards with the command that started them, or write what is there with --partial"
        }
        _ => return None,
    })
}

/// Returns a different exit code for user errors than for those of the program or the machine.
fn refuse_run(error: RunError) -> anyhow::Result<ExitCode> {
    match error {
        error @ RunError::Changed { .. } => {
            let message = format!("{:#}", anyhow::Error::new(error));
            terminal::usage_error(&message, Some("to start a new run, use another --run-id"));
            Ok(ExitCode::LockMismatch)
        }
        RunError::IdentityMismatch(_) => {
            let help = "to continue the run, restore these values, or set their variables as they were; to start a \
                        new run, use another --run-id";
            Ok(terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), Some(help)))
        }
        error @ RunError::OtherInputs { .. } => {
            let help = "use the inputs of that shard, or delete its folder and run it again; `--locked` refuses other inputs";
            terminal::usage_error(&error.to_string(), Some(help));
            Ok(ExitCode::LockMismatch)
        }
        RunError::OtherAnswers(_) | RunError::Data(_) => {
            let message = format!("{:#}", anyhow::Error::new(error));
            Ok(terminal::usage_error(&message, Some("to start a new run, use another --run-id")))
        }
        error @ RunError::FewerSamples { recorded, .. } => {
            let help =
                format!("give --max-samples {recorded} or more, or leave it out; the run is unchanged");
            Ok(terminal::usage_error(&error.to_string(), Some(&help)))
        }
        error => {
            let error = RunnerError::Run(error);
            if error.category() == ErrorCategory::Internal {
                return Err(error.into());
            }
            terminal::eprint_line(format_args!("error: {:#}", anyhow::Error::new(error)));
            Ok(ExitCode::Configuration)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_record::Difference;
    use std::path::PathBuf;

    #[test]
    fn each_category_has_one_exit_code() {
        let missing = || RunnerError::NothingToResume { root: PathBuf::from("runs"), other: None };
        let difference = || Difference { place: "suite".to_owned(), before: None, now: None };
        let mismatch = || RunnerError::LockMismatch {
            path: PathBuf::from("suite.gage.lock"),
            differences: vec![difference()],
        };
        let unfetched = |category| RunnerError::UnfetchedPackages { problems: Box::default(), category };
        let changed =
            RunnerError::ChangedSinceLock { reason: Box::new(missing()), differences: vec![difference()] };
        for (error, expected) in [
            (missing(), Some(ExitCode::Configuration)),
            (mismatch(), Some(ExitCode::LockMismatch)),
            (changed, Some(ExitCode::LockMismatch)),
            (unfetched(ErrorCategory::RetryLater), Some(ExitCode::RetryLater)),
            (unfetched(ErrorCategory::LockMismatch), Some(ExitCode::LockMismatch)),
            (unfetched(ErrorCategory::Configuration), Some(ExitCode::Configuration)),
            (
                RunnerError::ChangedInput { run_id: "r".to_owned(), reason: "an input changed".to_owned() },
                Some(ExitCode::LockMismatch),
            ),
            (RunnerError::PluginHost("no engine".to_owned()), None),
            (
                RunnerError::Shortage { message: "out of memory".to_owned(), run_id: Some("r".to_owned()) },
                Some(ExitCode::Internal),
            ),
        ] {
            let text = error.to_string();
            assert_eq!(refuse(error).ok(), expected, "{text}");
        }
    }
}
