//! Writes converted files, and prints notes about them.

use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_config::shown_path;
use gage_import::{Note, NoteSeverity};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Returns the name of a file, without its folder.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes files. Returns an exit code if one exists and may not be replaced, or cannot be written. Nothing is written if one of
/// them exists.
pub(super) fn write_all(files: &[(PathBuf, &str)], replaces: bool) -> anyhow::Result<Option<ExitCode>> {
    let exists = |(path, _): &&(PathBuf, &str)| !replaces && path.symlink_metadata().is_ok();
    if let Some((path, _)) = files.iter().find(exists) {
        return Ok(Some(refuse_existing(path)));
    }
    for (path, text) in files {
        if let Some(code) = write(path, text, replaces)? {
            return Ok(Some(code));
        }
    }
    Ok(None)
}

fn refuse_existing(path: &Path) -> ExitCode {
    let message = format!("{} exists already", shown_path(path));
    terminal::usage_error(&message, Some("replace it with --force, or name another file"))
}

/// Writes a file. Returns an exit code if the file exists and may not be replaced, or cannot be written.
fn write(output: &Path, text: &str, replaces: bool) -> anyhow::Result<Option<ExitCode>> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    match replaces {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = match options.open(output) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Ok(Some(refuse_existing(output)));
        }
        Err(error) => {
            let message = format!("cannot write {}: {error}", shown_path(output));
            return Ok(Some(terminal::usage_error(&message, None)));
        }
    };
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", shown_path(output)))?;
    Ok(None)
}

/// Returns a note as JSON.
pub(super) fn note_json(note: &Note) -> Value {
    json!({
        "severity": note.severity.name(),
        "key": note.key,
        "message": note.message,
        "help": note.help,
    })
}

/// Prints the notes to the standard error stream, with their number.
pub(super) fn show_notes(notes: &[Note], is_quiet: bool) {
    for note in notes {
        if is_quiet && note.severity != NoteSeverity::NeedsWork {
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
    if is_quiet {
        return;
    }
    let count = |severity| notes.iter().filter(|note| note.severity == severity).count();
    terminal::eprint_line(format_args!(
        "{} changed, {} dropped, {} to do",
        count(NoteSeverity::Changed),
        count(NoteSeverity::Dropped),
        count(NoteSeverity::NeedsWork)
    ));
}
