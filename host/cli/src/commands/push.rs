//! Upload of a finished shard after its run, and its download to a new disk.

use super::signals;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::Shard;
use gage_record::{Manifest, RunStatus};
use gage_runner::{CancelToken, RunOutcome};
use gage_storage::{
    ObjectUrl, Push, StorageError, TransferCount, TransferObserver, fetch_shard, other_shard, push_shard,
};
use std::path::Path;

/// Cancels a transfer at the first signal.
pub(super) struct StopOnSignal<'t>(pub(super) &'t CancelToken);

impl TransferObserver for StopOnSignal<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Downloads a shard that was pushed from a disk that is gone, so that its command ends at once. Returns the manifest of another
/// shard that was pushed, with whose inputs this one must agree. The error is the exit code of the printed message.
pub(super) fn restore(
    target: &ObjectUrl,
    run: &Path,
    shard: Shard,
    stop: &CancelToken,
    quiet: bool,
) -> Result<Option<Manifest>, ExitCode> {
    signals::end_with_line();
    let run_id = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let url = target.join(&run_id);
    let other = other_shard(&url, shard, &StopOnSignal(stop)).map_err(|error| refuse(&error))?;
    let restored = fetch_shard(&url, &shard.folder_name(), run, &StopOnSignal(stop));
    if restored.map_err(|error| refuse(&error))? && !quiet {
        terminal::eprint_line(format_args!("shard {shard} was pushed before, and was fetched from {url}"));
    }
    Ok(other)
}

/// Uploads the shard of a run that has ended, `runs/RUN/shards/03-of-16`, if every row has a record.
pub(super) fn push(target: &ObjectUrl, outcome: &RunOutcome, stop: &CancelToken, quiet: bool) -> ExitCode {
    if outcome.status != RunStatus::Complete {
        return ExitCode::Done;
    }
    let folder = outcome.folder.as_path();
    let name_of =
        |path: Option<&Path>| path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let shard = name_of(Some(folder)).unwrap_or_default();
    let run_id = name_of(folder.ancestors().nth(2)).unwrap_or_default();
    let url = target.join(&run_id);
    match push_shard(target, &run_id, &shard, folder, &StopOnSignal(stop)) {
        Ok(Push::Pushed(TransferCount { files, bytes })) => {
            if !quiet {
                let (files, megabytes) = (terminal::count_of(files, "file"), bytes as f64 / 1e6);
                terminal::eprint_line(format_args!("pushed {files}, {megabytes:.1} MB, to {url}"));
            }
            ExitCode::Done
        }
        Ok(Push::AlreadyThere) => {
            if !quiet {
                terminal::eprint_line(format_args!("the shard was pushed before to {url}"));
            }
            ExitCode::Done
        }
        Ok(Push::Superseded) => {
            terminal::eprint_line(format_args!(
                "warning: another machine has pushed shard {shard} to {url} before; its result counts, and this one stays in {}",
                folder.display()
            ));
            ExitCode::Done
        }
        Err(error) => refuse(&error),
    }
}

/// Prints an error of object storage, and returns its exit code.
pub(super) fn refuse(error: &StorageError) -> ExitCode {
    terminal::usage_error(&error.to_string(), None);
    match error {
        StorageError::Cancelled => ExitCode::Interrupted,
        error if error.is_temporary() => ExitCode::RetryLater,
        error if error.is_mismatch() => ExitCode::LockMismatch,
        _ => ExitCode::Configuration,
    }
}
