//! `gage-host import`: converts suites of other programs.

use super::setup;
use crate::arguments::{DEFAULT_LOG, ImportCommand, ImportGageArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_config::shown_path;
use gage_core::foreign_file::{self, FileLimit};
use gage_import::{Import, Note, NoteSeverity, import_gage};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

/// Maximum size of a suite of another program.
const MAX_SUITE_SIZE: FileLimit = FileLimit::new("a suite", 16 << 20);

pub(crate) fn execute(command: &ImportCommand) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    match command {
        ImportCommand::Gage(arguments) => gage(arguments),
    }
}

fn gage(arguments: &ImportGageArguments) -> anyhow::Result<ExitCode> {
    let text = match foreign_file::read_named_text(&arguments.suite, MAX_SUITE_SIZE) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("cannot read {}: {error}", shown_path(&arguments.suite));
            return Ok(terminal::usage_error(&message, None));
        }
    };
    let import = match import_gage(&arguments.suite.display().to_string(), &text) {
        Ok(import) => import,
        Err(problems) => {
            terminal::show_problems(&problems);
            return Ok(ExitCode::Configuration);
        }
    };
    if let Some(output) = &arguments.output {
        if let Some(code) = write(output, &import.suite, arguments.force)? {
            return Ok(code);
        }
    } else if !arguments.json {
        terminal::print_document(import.suite.trim_end())?;
    }
    if arguments.json {
        let notes: Vec<Value> = import.notes.iter().map(note_json).collect();
        let answer = json!({"suite": import.suite, "notes": notes, "needs_work": import.needs_work()});
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        show_notes(&import, arguments);
    }
    Ok(if import.needs_work() { ExitCode::Configuration } else { ExitCode::Done })
}

/// Writes the suite. Returns an exit code if the file exists and may not be replaced, or cannot be written.
fn write(output: &Path, suite: &str, replaces: bool) -> anyhow::Result<Option<ExitCode>> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    match replaces {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = match options.open(output) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("{} exists already", shown_path(output));
            return Ok(Some(terminal::usage_error(
                &message,
                Some("replace it with --force, or name another file"),
            )));
        }
        Err(error) => {
            let message = format!("cannot write {}: {error}", shown_path(output));
            return Ok(Some(terminal::usage_error(&message, None)));
        }
    };
    file.write_all(suite.as_bytes()).with_context(|| format!("cannot write {}", shown_path(output)))?;
    Ok(None)
}

fn note_json(note: &Note) -> Value {
    json!({
        "severity": note.severity.name(),
        "key": note.key,
        "message": note.message,
        "help": note.help,
    })
}

/// Prints the notes to the standard error stream, with their number and the next command.
fn show_notes(import: &Import, arguments: &ImportGageArguments) {
    for note in &import.notes {
        if arguments.quiet && note.severity != NoteSeverity::NeedsWork {
            continue;
        }
        let message = gage_core::printable(&note.message).into_owned();
        let line = format!("{}: {}: {message}", note.severity.name(), gage_core::printable(&note.key));
        match &note.help {
            Some(help) => {
                terminal::eprint_line(format_args!("{line}\n  help: {}", gage_core::printable(help)))
            }
            None => terminal::eprint_line(line),
        }
    }
    if arguments.quiet {
        return;
    }
    let count = |severity| import.notes.iter().filter(|note| note.severity == severity).count();
    let output = match &arguments.output {
        Some(output) => terminal::shell_word(output.display()),
        None => "OUT".to_owned(),
    };
    terminal::eprint_line(format_args!(
        "{} changed, {} dropped, {} to do\nnext: gage-host validate {output}",
        count(NoteSeverity::Changed),
        count(NoteSeverity::Dropped),
        count(NoteSeverity::NeedsWork)
    ));
}
