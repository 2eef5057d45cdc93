//! Checks of `launch` before it prints anything.

use crate::arguments::{LaunchArguments, LaunchCommand, LaunchStorage};
use crate::commands::combinations::combinations;
use crate::commands::permissions::permissions;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::shown_path;
use gage_record::{Manifest, RecordError, RunFolder, shard_folders};
use gage_runner::default_lock_path;
use std::path::Path;

/// Refuses what shards cannot do.
///
/// # Errors
/// The code of the printed error.
pub(super) fn check_choices(arguments: &LaunchArguments) -> Result<(), ExitCode> {
    if arguments.config.answers.is_some() {
        let help = "score them in one run: gage-host run SUITE --answers FILE";
        return Err(terminal::usage_error("shards cannot score the answers in a file", Some(help)));
    }
    let permissions = permissions(&arguments.config.permissions)?;
    let count = combinations(&arguments.config, &permissions).len();
    if count > 1 {
        let message = format!("the shards of a run have one model and one prompt, not {count} combinations");
        let help = "choose with --model and --prompt, and launch each combination under its own --run-id";
        return Err(terminal::usage_error(&message, Some(help)));
    }
    Ok(())
}

/// Checks that there is a lock for `--locked`, because every shard would end with the same error.
///
/// # Errors
/// The code of the printed error.
pub(super) fn check_lock(arguments: &LaunchArguments) -> Result<(), ExitCode> {
    let suite = arguments.config.path();
    let lock = default_lock_path(&suite);
    if !arguments.locked || lock.exists() {
        return Ok(());
    }
    let message = format!("--locked: there is no lock {}", shown_path(&lock));
    let suite = terminal::shell_word(suite.display());
    let help = format!("make it with `gage-host lock {suite}`, or leave --locked out");
    Err(terminal::usage_error(&message, Some(&help)))
}

/// Checks that the folder of runs has no other run with this id, as far as it is visible here.
///
/// # Errors
/// The code of the printed error.
pub(super) fn check_run_id(command: &LaunchCommand, run_id: &str) -> Result<(), ExitCode> {
    let arguments = command.arguments();
    let is_bucket = matches!(arguments.storage, Some(LaunchStorage::Bucket(_)));
    // The folder is that of a pod.
    if is_bucket && matches!(command, LaunchCommand::Kubernetes(_)) {
        return Ok(());
    }
    let folder = arguments.output_dir.join(run_id);
    let found = taken_by(&folder, arguments.shards);
    let message = found.unwrap_or_else(|error| Some(format!("{:#}", anyhow::Error::new(error))));
    message.map_or(Ok(()), |message| {
        Err(terminal::usage_error(&message, Some("name another run with --run-id")))
    })
}

/// Returns a sentence about the run in a folder, if it is not one of `shards` shards.
fn taken_by(folder: &Path, shards: u32) -> Result<Option<String>, RecordError> {
    if RunFolder::has_manifest(folder) && Manifest::read(folder)?.shards.is_empty() {
        return Ok(Some(format!("{} is a run without shards", folder.display())));
    }
    let mut counts = shard_folders(folder)?.into_iter().map(|found| found.shard.count());
    let other = counts.find(|count| *count != u64::from(shards));
    let refused = |count: u64| {
        let folder = folder.display();
        format!("--shards {shards}: {folder} has shards of a run of {count}, and a run is divided once")
    };
    Ok(other.map(refused))
}
