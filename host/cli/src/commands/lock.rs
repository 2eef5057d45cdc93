//! `gage-host lock`: locks the parts of a suite, and reports changes.

use super::listener::Listener;
use super::lock_differences::{help_for_redacted, table, to_json};
use super::permissions::{Access, access};
use super::{failure, ready_suite, setup};
use crate::arguments::{DEFAULT_LOG, LockArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::Difference;
use gage_runner::{
    CancelToken, Context, LockAction, LockChange, LockOutcome, LockRequest, default_lock_path, lock,
};
use serde_json::json;
use std::sync::Arc;

pub(crate) fn execute(arguments: LockArguments) -> anyhow::Result<ExitCode> {
    let mut arguments =
        arguments.resolved().map_err(|(message, help)| terminal::usage_error(&message, Some(&help)))?;
    ready_suite::resolve(&mut arguments.config)?;
    let arguments = &arguments;
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let Access { permissions, trust } = access(&arguments.config.permissions)?;
    let listener = Listener::new(arguments.print.quiet);
    let locked = lock(&LockRequest {
        context: Context {
            permissions: if arguments.offline { permissions.offline() } else { permissions },
            trust,
            ..setup::context(Arc::new(listener), CancelToken::default(), DEFAULT_LOG)
        },
        suite: setup::source(&arguments.config),
        // A ready suite has its lock in the working folder, not next to its file in the cache.
        path: Some(arguments.lock.clone().unwrap_or_else(|| default_lock_path(&arguments.config.path()))),
        is_offline: arguments.offline,
        action: match &arguments.update {
            _ if arguments.check => LockAction::Check,
            None => LockAction::Create,
            Some(part) if part.is_empty() => LockAction::Update,
            Some(part) => LockAction::UpdatePart(part.clone()),
        },
    });
    match locked {
        Ok(outcome) => print(arguments, &outcome),
        Err(error) => failure::refuse(error),
    }
}

/// Prints the result for the lock, and returns its exit code.
fn print(arguments: &LockArguments, outcome: &LockOutcome) -> anyhow::Result<ExitCode> {
    match &outcome.change {
        LockChange::Created => print_state(arguments, outcome, "locked"),
        LockChange::Unchanged => print_state(arguments, outcome, "as it was"),
        LockChange::Stale(differences) => print_stale(arguments, outcome, differences),
        LockChange::Compared(differences) => print_comparison(arguments, outcome, differences),
        LockChange::Updated { is_written, remaining } => {
            let state = if *is_written { "updated" } else { "as it was, nothing written" };
            let code = print_state(arguments, outcome, state)?;
            if !remaining.is_empty() {
                terminal::eprint_line(format_args!("still different:\n{}", table(remaining)));
            }
            Ok(code)
        }
    }
}

fn print_stale(
    arguments: &LockArguments,
    outcome: &LockOutcome,
    differences: &[Difference],
) -> anyhow::Result<ExitCode> {
    if arguments.print.json {
        terminal::print_json(format_args!("{:#}", to_json(differences)))?;
    }
    terminal::eprint_line(format_args!(
        "error: the lock {} exists, and the suite differs from it\n\n{}\n  help: accept all of this with \
         --update, or a part of it with --update PART; the lock is unchanged{}",
        outcome.path.display(),
        table(differences),
        help_for_redacted(differences)
    ));
    Ok(ExitCode::LockMismatch)
}

fn print_comparison(
    arguments: &LockArguments,
    outcome: &LockOutcome,
    differences: &[Difference],
) -> anyhow::Result<ExitCode> {
    if arguments.print.json {
        terminal::print_json(format_args!("{:#}", to_json(differences)))?;
    } else if !differences.is_empty() {
        terminal::print_line(format_args!("{}{}", table(differences), help_for_redacted(differences)))?;
    } else if !arguments.print.quiet {
        terminal::print_line(format_args!("{}: nothing differs", outcome.path.display()))?;
    }
    Ok(if differences.is_empty() { ExitCode::Done } else { ExitCode::LockMismatch })
}

fn print_state(arguments: &LockArguments, outcome: &LockOutcome, state: &str) -> anyhow::Result<ExitCode> {
    let path = outcome.path.display();
    if arguments.print.json {
        terminal::print_json(format_args!(
            "{:#}",
            json!({"path": path.to_string(), "suite": outcome.suite})
        ))?;
    } else if !arguments.print.quiet {
        let config = arguments.config.path();
        let mut next = format!("gage-host run {} --locked", terminal::shell_word(config.display()));
        if let Some(named) = &arguments.lock {
            next.push_str(&format!(" --lock {}", terminal::shell_word(named.display())));
        }
        for folder in &arguments.config.plugin_folders {
            next.push_str(&format!(" --plugin-dir {}", terminal::shell_word(folder.display())));
        }
        // Overrides are not printed, because they may be secrets.
        if !arguments.config.all_overrides().is_empty() {
            next.push_str(", with the same --set, --model and --prompt");
        }
        terminal::print_line(format_args!("{path}: {state}\nnext: {next}"))?;
    }
    Ok(ExitCode::Done)
}
