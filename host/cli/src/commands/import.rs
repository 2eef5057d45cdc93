//! `gage-host import`: converts suites of other programs, and logs of Inspect.

mod folder;
mod inspect;
mod output;

use super::{next_command, setup};
use crate::arguments::{DEFAULT_LOG, ImportCommand, ImportSuiteArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use folder::{MAX_SUITE_SIZE, TaskFolder};
use gage_config::{Problems, shown_path};
use gage_core::foreign_file;
use gage_import::{Import, import_gage, import_lm_eval, import_promptfoo};
use output::{file_name, note_json, show_notes, write_all};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A conversion of the text of a file.
type Conversion<'c> = dyn Fn(&str, &str) -> Result<Import, Box<Problems>> + 'c;

pub(crate) fn execute(command: &ImportCommand) -> anyhow::Result<ExitCode> {
    match command {
        ImportCommand::Gage(arguments) => suite(arguments, &import_gage),
        ImportCommand::LmEval(arguments) => {
            let folder = TaskFolder::of(&arguments.suite);
            suite(arguments, &|_, text| import_lm_eval(&file_name(&arguments.suite), text, &folder))
        }
        ImportCommand::Promptfoo(arguments) => {
            let folder = TaskFolder::of(&arguments.suite);
            let rows = file_name(&rows_beside(arguments));
            suite(arguments, &|_, text| import_promptfoo(&file_name(&arguments.suite), text, &folder, &rows))
        }
        ImportCommand::Inspect(arguments) => inspect::execute(arguments),
    }
}

fn suite(arguments: &ImportSuiteArguments, convert: &Conversion<'_>) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let text = match foreign_file::read_named_text(&arguments.suite, MAX_SUITE_SIZE) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("cannot read {}: {error}", shown_path(&arguments.suite));
            return Ok(terminal::usage_error(&message, None));
        }
    };
    let import = match convert(&arguments.suite.display().to_string(), &text) {
        Ok(import) => import,
        Err(problems) => {
            terminal::show_problems(&problems);
            return Ok(ExitCode::Configuration);
        }
    };
    if let Some(output) = &arguments.output {
        let folder = output.parent().unwrap_or(Path::new(""));
        let files = import.files.iter().map(|(name, text)| (folder.join(name), text.as_str()));
        let files: Vec<(PathBuf, &str)> = files.chain([(output.clone(), import.suite.as_str())]).collect();
        if let Some(code) = write_all(&files, arguments.force)? {
            return Ok(code);
        }
    } else if !arguments.json {
        terminal::print_document(import.suite.trim_end())?;
    }
    if arguments.json {
        let notes: Vec<Value> = import.notes.iter().map(note_json).collect();
        let mut answer = json!({"suite": import.suite, "notes": notes, "needs_work": import.needs_work()});
        if !import.files.is_empty() {
            answer["files"] = import.files.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
        }
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        show_notes(&import.notes, arguments.quiet);
        if !arguments.quiet {
            for (name, _) in import.files.iter().filter(|_| arguments.output.is_none()) {
                let line = format!("note: {name} is written only with -o, beside the suite");
                terminal::eprint_line(gage_core::printable_line(&line));
            }
            next_command::print(&match &arguments.output {
                Some(output) => format!("gage-host validate {}", terminal::shell_word(output.display())),
                None => format!("{} -o suite.yaml", next_command::same_again()),
            });
        }
    }
    Ok(if import.needs_work() { ExitCode::Configuration } else { ExitCode::Done })
}

/// Returns the file of rows of a configuration of promptfoo: beside the new suite, with its name.
fn rows_beside(arguments: &ImportSuiteArguments) -> PathBuf {
    arguments.output.as_ref().unwrap_or(&arguments.suite).with_extension("rows.jsonl")
}
