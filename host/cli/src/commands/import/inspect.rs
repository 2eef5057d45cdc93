//! `gage-host import inspect`: writes the suites, rows and answers of a log, and runs the suite with its scores.

use super::output::{file_name, show_notes, write_all};
use crate::arguments::{Command, ImportInspectArguments};
use crate::commands::{next_command, run};
use crate::exit_code::ExitCode;
use crate::{environment, terminal};
use gage_config::shown_path;
use gage_core::foreign_file::{self, FileLimit};
use gage_import::{RECORDED_SUITE, SUITE, import_inspect};
use std::ffi::OsString;
use std::io::BufReader;
use std::path::PathBuf;

/// Maximum size of a log.
const MAX_LOG_SIZE: FileLimit = FileLimit::new("a log", 8 << 30);

pub(super) fn execute(arguments: &ImportInspectArguments) -> anyhow::Result<ExitCode> {
    let words = words_of_run(arguments);
    next_command::set_words(&words);
    let Command::Run(request) = environment::parse_words(words).command else {
        // The words are those of `run`.
        return Ok(ExitCode::Internal);
    };
    let log = foreign_file::open_named(&arguments.log, MAX_LOG_SIZE).map_err(|error| error.to_string());
    let name = file_name(&arguments.log);
    let import =
        log.and_then(|log| import_inspect(&name, BufReader::new(log)).map_err(|error| error.to_string()));
    let import = match import {
        Ok(import) => import,
        Err(error) => {
            let message = format!("cannot read {}: {error}", shown_path(&arguments.log));
            return Ok(terminal::usage_error(&message, None));
        }
    };
    if let Err(error) = std::fs::create_dir_all(&arguments.output) {
        let message = format!("cannot create {}: {error}", shown_path(&arguments.output));
        return Ok(terminal::usage_error(&message, None));
    }
    let files = import.files.iter().map(|(name, text)| (arguments.output.join(name), text.as_str()));
    let recorded = (arguments.output.join(RECORDED_SUITE), import.suite.as_str());
    let files: Vec<(PathBuf, &str)> = files.chain([recorded]).collect();
    if let Some(code) = write_all(&files, arguments.force)? {
        return Ok(code);
    }
    show_notes(&import.notes, arguments.quiet || arguments.json);
    let code = run::execute(*request)?;
    if code == ExitCode::Done && !arguments.quiet && !arguments.json {
        let suite = terminal::shell_word(arguments.output.join(SUITE).display());
        next_command::print(&format!(
            "gage-host run {suite} --model MODEL   # another model on the same rows"
        ));
    }
    let needs_work = code == ExitCode::Done && import.needs_work();
    Ok(if needs_work { ExitCode::Configuration } else { code })
}

/// Returns the command line that runs the suite with the scores of the log.
fn words_of_run(arguments: &ImportInspectArguments) -> Vec<OsString> {
    let suite = arguments.output.join(RECORDED_SUITE);
    let mut words: Vec<OsString> = vec![
        "gage-host".into(),
        "run".into(),
        suite.into(),
        "--output-dir".into(),
        arguments.output_dir.clone().into(),
    ];
    if let Some(run_id) = &arguments.run_id {
        words.extend(["--run-id".into(), run_id.into()]);
    }
    for (flag, is_given) in [("--json", arguments.json), ("--quiet", arguments.quiet)] {
        if is_given {
            words.push(flag.into());
        }
    }
    words
}
