//! `gage-host verify`: checks that a run folder is unchanged, and that its figures are reproducible.

use super::compare::refuse_run;
use super::listener::Listener;
use super::permissions::{Access, access};
use super::{failure, setup};
use crate::arguments::{DEFAULT_LOG, VerifyArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::format::SAMPLES_FILE;
use gage_record::{Difference, RunStatus};
use gage_runner::{CancelToken, Context, RescoreCheck, RunnerError, VerifyOutcome, VerifyRequest, verify};
use gage_suite::{FileFinding, FileState, VerifyReport};
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum number of printed differences.
const MAX_SHOWN: usize = 20;

pub(crate) fn execute(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let Access { permissions, trust } = access(&arguments.permissions)?;
    let listener = Listener::new(arguments.quiet);
    let verified = verify(&VerifyRequest {
        context: Context {
            permissions,
            trust,
            ..setup::context(Arc::new(listener), CancelToken::default(), DEFAULT_LOG)
        },
        run: setup::run_folder(&arguments.named.run, &arguments.named.output_dir),
        plugin_folders: arguments.plugin_folders.clone(),
        files_only: arguments.files_only,
    });
    let outcome = match verified {
        Ok(outcome) => outcome,
        Err(RunnerError::Record(error)) => {
            Err(refuse_run(error, &arguments.named.run, &arguments.named.output_dir))?
        }
        Err(error) => return failure::refuse(error),
    };
    let is_good = outcome.is_verified();
    let VerifyOutcome { checked, rescored, .. } = &outcome;
    if arguments.json {
        terminal::print_json(format_args!("{:#}", report(checked, rescored, is_good)))?;
    } else if !(arguments.quiet && is_good) {
        terminal::print_line(text(checked, rescored, is_good, arguments.quiet))?;
    }
    Ok(if is_good { ExitCode::Done } else { ExitCode::LockMismatch })
}

fn report(checked: &VerifyReport, again: &RescoreCheck, is_good: bool) -> Value {
    let files: Vec<Value> = checked
        .files
        .iter()
        .map(|file| json!({"name": file.name, "state": state_name(&file.state), "written": file.written}))
        .collect();
    let list = |differing: &[Difference]| -> Vec<Value> {
        let one = |one: &Difference| json!({"field": one.place, "recorded": one.before, "found": one.now});
        differing.iter().map(one).collect()
    };
    let again = match again {
        RescoreCheck::NotTried => json!({"state": "not_tried"}),
        RescoreCheck::Impossible { reason } => json!({"state": "impossible", "reason": reason}),
        RescoreCheck::Same { figures, plugins } => {
            json!({"state": "same", "figures": figures, "plugins": list(plugins)})
        }
        RescoreCheck::Different { figures, samples_differ, plugins } => json!({
            "state": "different",
            "figures": list(figures),
            "samples_differ": samples_differ,
            "plugins": list(plugins),
        }),
    };
    let manifest = checked.run.manifest();
    json!({
        "run_id": manifest.run_id,
        "status": manifest.status.name(),
        "verified": is_good,
        "files": files,
        "scored_again": again,
    })
}

fn state_name(state: &FileState) -> &'static str {
    match state {
        FileState::Intact => "intact",
        FileState::Readable => "readable",
        FileState::Missing => "missing",
        FileState::Changed { .. } | FileState::Resized { .. } => "changed",
        FileState::Damaged(_) => "damaged",
        FileState::Foreign => "foreign",
    }
}

/// Formats the outcome as text, or only the problems.
fn text(checked: &VerifyReport, again: &RescoreCheck, is_good: bool, only_problems: bool) -> String {
    let files = checked.files.iter().filter(|file| !(only_problems && file.is_good())).map(file_line);
    let mut lines: Vec<String> = files.map(|line| gage_core::printable_line(&line).into_owned()).collect();
    let is_problem = matches!(again, RescoreCheck::Impossible { .. } | RescoreCheck::Different { .. });
    if is_problem || !only_problems {
        add_rescored(&mut lines, checked, again);
    }
    let manifest = checked.run.manifest();
    let is_part = matches!(manifest.status, RunStatus::Interrupted | RunStatus::Running);
    if is_part && !only_problems {
        lines.push(format!(
            "the run is {}: what it has recorded is compared; continue it with `gage-host run SUITE --resume RUN`",
            manifest.status.name()
        ));
    }
    lines.push(format!(
        "{}: {}{}",
        manifest.run_id,
        if is_good { "verified" } else { "NOT verified" },
        if is_part && is_good { ", and not complete" } else { "" }
    ));
    gage_core::printable(&lines.join("\n")).to_string()
}

fn file_line(file: &FileFinding) -> String {
    match &file.state {
        FileState::Intact => format!("{}: unchanged", file.name),
        FileState::Readable => {
            format!("{}: changed, but its count is valid, so nothing is lost", file.name)
        }
        FileState::Missing => format!("{}: MISSING", file.name),
        FileState::Changed { found } => format!("{}: CHANGED, it has {found}", file.name),
        FileState::Resized { bytes } => {
            let written = file.written.map_or(0, |written| written.bytes);
            format!("{}: CHANGED, it has {bytes} bytes, and the run wrote {written}", file.name)
        }
        FileState::Damaged(reason) => format!("{}: DAMAGED: {reason}", file.name),
        FileState::Foreign => format!("{}: NOT PART OF THE RUN", file.name),
    }
}

/// Adds the result of scoring the answers again.
fn add_rescored(lines: &mut Vec<String>, checked: &VerifyReport, again: &RescoreCheck) {
    match again {
        RescoreCheck::NotTried => lines.push("the answers were not scored again".to_owned()),
        RescoreCheck::Impossible { reason } => {
            lines.push(format!("the answers cannot be scored again: {reason}"))
        }
        RescoreCheck::Same { figures, plugins } => {
            if !plugins.is_empty() {
                lines.push("plugins differ from those of the run:".to_owned());
                let rows: Vec<[String; 3]> = plugins.iter().take(MAX_SHOWN).map(row).collect();
                lines.push(terminal::columns(["field", "recorded", "now"], &rows));
            }
            lines.push(match checked.run.journal().is_ok_and(|journal| journal.is_empty()) {
                true => "scored again: the run has no samples, so there are no figures to compare".to_owned(),
                false => {
                    format!(
                        "scored again: {} and every sample is the same",
                        terminal::count(*figures, "figure")
                    )
                }
            });
        }
        RescoreCheck::Different { figures, samples_differ, plugins } => {
            lines.push("scored again: NOT the same".to_owned());
            let rows: Vec<[String; 3]> = plugins.iter().chain(figures).take(MAX_SHOWN).map(row).collect();
            if !rows.is_empty() {
                lines.push(terminal::columns(["field", "recorded", "now"], &rows));
            }
            let left = (plugins.len() + figures.len()).saturating_sub(MAX_SHOWN);
            if left > 0 {
                lines.push(format!("and {left} more; --json lists all"));
            }
            if *samples_differ {
                lines.push(format!("{SAMPLES_FILE}: the samples differ"));
            }
        }
    }
}

fn row(one: &Difference) -> [String; 3] {
    let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), cut);
    [gage_core::printable_line(&one.place).into_owned(), shown(&one.before), shown(&one.now)]
}

fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(48) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
