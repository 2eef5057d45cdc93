//! `gage-host report`: writes runs as one HTML file.

use super::compare::{open, unreadable, warn_if_changed};
use super::permissions::permissions;
use super::sent_requests;
use super::setup;
use crate::arguments::{DEFAULT_LOG, ReportArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_compare::CompareError;
use gage_compare::comparisons_with_first;
use gage_config::shown_path;
use gage_core::foreign_file;
use gage_figures::RecordedRun;
use gage_html::{HtmlError, write_html_file};
use gage_record::format::REPORT_FILE;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) fn execute(arguments: &ReportArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let permissions = permissions(&arguments.permissions)?;
    let opened = arguments.runs.iter().map(|run| open(run, &arguments.output_dir));
    let sources: Vec<RecordedRun> = opened.collect::<Result<_, ExitCode>>()?;
    refuse_repeated(&sources)?;
    sources.iter().for_each(|source| warn_if_changed(source, "the report says so as well"));
    let comparisons = comparisons_with_first(&sources).map_err(|error| match error {
        CompareError::Report(error) => unreadable(error).into(),
        error => anyhow::Error::new(error),
    })?;
    let path = match (&arguments.output, sources.last()) {
        (Some(path), _) => path.clone(),
        (None, Some(last)) => path_in(Path::new(last.folder()))?,
        (None, None) => REPORT_FILE.into(),
    };
    let requests = sent_requests::of_runs(&sources, &permissions);
    let written =
        write_html_file(&path, &sources, &comparisons, &*requests).map_err(|error| match error {
            error @ HtmlError::Write { .. } => {
                let message = format!("{:#}", anyhow::Error::new(error));
                terminal::usage_error(&message, Some("name another file with --output")).into()
            }
            HtmlError::Record(error) => unreadable(error.into()).into(),
            error => anyhow::Error::new(error),
        })?;
    if arguments.json {
        let path = path.display().to_string();
        let answer =
            json!({"path": path, "samples": written.samples, "texts": written.texts, "bytes": written.bytes});
        terminal::print_json(format_args!("{answer:#}"))?;
    } else if !arguments.quiet {
        let size = indicatif::HumanBytes(written.bytes);
        let texts = match written.texts < written.samples {
            true => format!(", texts of {} of them", written.texts),
            false => String::new(),
        };
        terminal::print_line(format_args!(
            "wrote {} ({} samples{texts}, {size})",
            path.display(),
            written.samples
        ))?;
    }
    Ok(ExitCode::Done)
}

/// Refuses a run that is given twice: its samples would count twice.
fn refuse_repeated(sources: &[RecordedRun]) -> Result<(), ExitCode> {
    let mut folders = BTreeSet::new();
    let folder_of = |source: &RecordedRun| {
        let folder = Path::new(source.folder());
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
    };
    match sources.iter().find(|source| !folders.insert(folder_of(source))) {
        None => Ok(()),
        Some(repeated) => {
            let message = format!("the run {} is given twice", repeated.run_id());
            Err(terminal::usage_error(&gage_core::printable_line(&message), Some("name it once")))
        }
    }
}

/// Returns the path of the report in a run folder. Others may have put a link or a pipe there, which is not written to.
fn path_in(run: &Path) -> Result<PathBuf, ExitCode> {
    let path = run.join(REPORT_FILE);
    match foreign_file::check_target(run, REPORT_FILE) {
        Ok(()) => Ok(path),
        Err(error) => {
            let message = format!("cannot write {}: {error}", shown_path(&path));
            Err(terminal::usage_error(&message, Some("name another file with --output")))
        }
    }
}
