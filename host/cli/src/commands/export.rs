//! `gage-host export`: exports a run to another format.

use super::compare::open;
use super::permissions::permissions;
use super::sent_requests;
use super::setup;
use crate::arguments::{DEFAULT_LOG, ExportArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_export::{ExportError, ExportFormat, ExportOptions, ExportReport, PromptsOf, Publisher, export};
use gage_record::SampleRecord;
use gage_record::format::EXPORTS_FOLDER;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(crate) fn execute(arguments: &ExportArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let permissions = permissions(&arguments.permissions)?;
    let source = open(&arguments.run, &arguments.output_dir)?;
    if let Some(edited) = source.edited() {
        let warning = format!(
            "warning: {}. The export cannot be trusted either; `gage-host verify` says what was changed",
            edited.of(source.run_id())
        );
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
    let format = arguments.format;
    let options = ExportOptions {
        format,
        path: arguments.out.clone().unwrap_or_else(|| usual_path(Path::new(source.folder()), format)),
        replaces: arguments.force,
        takes_part: arguments.partial,
        publisher: Publisher {
            organization: arguments.organization.clone(),
            developer: arguments.developer.clone(),
            relationship: arguments.relationship,
        },
    };
    let prompts: Box<PromptsOf<'static>> = if format == ExportFormat::LmEval {
        sent_requests::prompts_of(&source, &permissions)?
    } else {
        Box::new(|_: &SampleRecord| None)
    };
    let ExportReport { files, samples, notes } = export(&source, &options, &*prompts).map_err(refuse)?;
    for note in &notes {
        terminal::eprint_line(format_args!("note: {}", gage_core::printable(note)));
    }
    if arguments.json {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let answer = json!({"format": format.name(), "files": files, "samples": samples, "notes": notes});
        terminal::print_json(format_args!("{answer:#}"))?;
    } else if !arguments.quiet {
        for file in &files {
            let bytes = std::fs::metadata(file).map_or(0, |data| data.len());
            let name = file.display().to_string();
            terminal::print_line(format_args!(
                "wrote {} ({})",
                gage_core::printable_line(&name),
                indicatif::HumanBytes(bytes)
            ))?;
        }
    }
    Ok(ExitCode::Done)
}

fn usual_path(run: &Path, format: ExportFormat) -> PathBuf {
    run.join(EXPORTS_FOLDER).join(format.file_name().unwrap_or(format.name()))
}

fn refuse(error: ExportError) -> ExitCode {
    let help = match &error {
        ExportError::NotEnded { .. } => {
            Some("continue it with --resume, or export the finished part with --partial")
        }
        ExportError::BeingWritten { .. } => {
            Some("wait until it ends; `gage-host view` shows what is recorded so far")
        }
        ExportError::Exists { .. } => Some("replace it with --force, or name another place with --out"),
        ExportError::Write { .. } => Some("name another place with --out"),
        _ => None,
    };
    terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), help)
}
