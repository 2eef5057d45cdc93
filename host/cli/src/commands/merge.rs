//! `gage-host merge`: makes one run from its shards.

use super::listener::Listener;
use super::next_command::{self, OutcomeOf};
use super::permissions::{Access, access};
use super::push::{self, StopOnSignal};
use super::{failure, observability, outcome, setup, signals};
use crate::arguments::{DEFAULT_LOG, MergeArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::{RecordError, RunFolder, has_shards};
use gage_runner::{CancelToken, Context, MergeOutcome, MergeRequest, RunnerError, merge};
use gage_storage::{ObjectUrl, StorageError, fetch_run};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of missing shards that are listed. `runs status` shows all of them.
const MAX_MISSING_LINES: usize = 10;

pub(crate) fn execute(arguments: &MergeArguments) -> anyhow::Result<ExitCode> {
    observability::logs(&arguments.print.logs, None)?;
    let Access { permissions, trust } = access(&arguments.permissions)?;
    let output_dir = &arguments.named.output_dir;
    let stop = CancelToken::default();
    let listener =
        Listener::of_run(arguments.print.quiet, &arguments.print.progress, &stop, output_dir, false);
    let run = match arguments.named.run.to_str().filter(|name| ObjectUrl::is_url(name)) {
        Some(url) => match fetch(url, output_dir, &stop, arguments.print.quiet) {
            Ok(run) => run,
            Err(code) => return Ok(code),
        },
        None => sharded_folder(&arguments.named.run, output_dir),
    };
    let merged = merge(&MergeRequest {
        context: Context {
            permissions: if arguments.offline { permissions.offline() } else { permissions },
            trust,
            ..setup::context(Arc::new(listener), stop, DEFAULT_LOG)
        },
        run,
        plugin_folders: arguments.plugin_folders.clone(),
        is_partial: arguments.partial,
        is_offline: arguments.offline,
    });
    match merged {
        Ok(merged) => print(&merged, arguments.print.json),
        Err(RunnerError::Record(RecordError::Locked { path })) => {
            let message = format!("another process merges or writes {}", path.display());
            terminal::usage_error(&message, Some("wait until it ends, and merge again"));
            Ok(ExitCode::RetryLater)
        }
        Err(error) => failure::refuse(error),
    }
}

/// Returns the folder of a sharded run, given by its path or its id.
pub(super) fn sharded_folder(name: &Path, output_dir: &Path) -> PathBuf {
    let below = output_dir.join(name);
    // A merged run may have lost the folders of its shards.
    let has = |folder: &Path| has_shards(folder) || RunFolder::has_manifest(folder);
    if !has(name) && has(&below) { below } else { name.to_owned() }
}

/// Downloads the shards of a run from object storage, and returns the folder of the run. The error is the exit code of the printed
/// message.
fn fetch(url: &str, output_dir: &Path, stop: &CancelToken, is_quiet: bool) -> Result<PathBuf, ExitCode> {
    let url = ObjectUrl::parse(url).map_err(|error| push::refuse(&error))?;
    let Some(run_id) = url.name() else {
        let message = format!("{url} names no run");
        return Err(terminal::usage_error(
            &message,
            Some("name the folder of the run: s3://bucket/prefix/RUN"),
        ));
    };
    let run = output_dir.join(run_id);
    signals::end_with_line();
    let fetched = fetch_run(&url, &run, &StopOnSignal(stop)).map_err(|error| match error {
        error @ StorageError::NoShards { .. } => {
            terminal::usage_error(&error.to_string(), None);
            ExitCode::Incomplete
        }
        error => push::refuse(&error),
    })?;
    for shard in &fetched.incomplete {
        let warning = format!("warning: the upload of shard {shard} did not end, so it counts as missing");
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
    if !is_quiet {
        let downloaded = terminal::count_of(fetched.downloaded.len() as u64, "shard");
        let files = terminal::count_of(fetched.count.files, "file");
        let megabytes = fetched.count.bytes as f64 / 1e6;
        terminal::eprint_line(format_args!(
            "fetched {downloaded} ({files}, {megabytes:.1} MB); {} were here already",
            fetched.present.len()
        ));
    }
    Ok(run)
}

fn print(merged: &MergeOutcome, is_json: bool) -> anyhow::Result<ExitCode> {
    let code = if is_json {
        let mut printed = outcome::json_of(&merged.run);
        printed["shards"] = json!(merged.shards);
        terminal::print_json(format_args!("{printed:#}"))?;
        outcome::print_remarks(&merged.run, OutcomeOf::Recorded)
    } else {
        outcome::print_figures(&merged.run, false, OutcomeOf::Recorded)?
    };
    if merged.deleted > 0 {
        let folders = terminal::count_of(merged.deleted, "shard folder");
        terminal::eprint_line(format_args!(
            "nothing to merge: the run has the records of all shards ({folders} deleted)"
        ));
    }
    for shard in merged.missing.iter().take(MAX_MISSING_LINES) {
        terminal::eprint_line(format_args!("missing: {shard}"));
    }
    let rest = merged.missing.len().saturating_sub(MAX_MISSING_LINES);
    if rest > 0 {
        terminal::eprint_line(format_args!("missing: {} more", terminal::count_of(rest as u64, "shard")));
    }
    if let Some(cost) = merged.cost {
        let missing =
            merged.missing_prices.as_ref().map(|missing| format!(", {missing}")).unwrap_or_default();
        let missing = gage_core::printable_line(&missing);
        terminal::eprint_line(format_args!("cost: {cost:.4} in all shards{missing}"));
    }
    next_command::print(&match merged.missing.is_empty() {
        true => next_command::after(&merged.run, OutcomeOf::Recorded),
        false => next_command::after_shard(&merged.run.folder, false),
    });
    Ok(code)
}
