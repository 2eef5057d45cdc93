//! Exports runs to other formats: lm-evaluation-harness, Inspect, Every Eval Ever, Parquet, CSV.
//!
//! - **A failure is never a score.** Unscored samples are exported without scores if the format supports it;
//!   otherwise a note reports their number.
//! - **Texts are data**: model output is preserved byte for byte.
//! - **Exports are deterministic**: times come from the run, and ids are derived from its id.
//! - **Files are complete or absent**, and existing files are only replaced on request.
//!
//! Samples are streamed. See `docs/reference/exports.md` for the contents of each format.

mod error;
mod every_eval_ever;
mod figures_csv;
mod files;
mod inspect;
mod inspect_messages;
mod lm_eval;
mod run;
#[cfg(feature = "parquet")]
mod samples_parquet;
mod sent_prompt;
mod text;

pub use error::ExportError;
pub use every_eval_ever::{Publisher, Relationship};
pub use sent_prompt::{PromptsOf, SentPrompt};

use files::Files;
use gage_figures::RecordedRun;
use run::ExportedRun;
use std::path::{Path, PathBuf};

/// An export format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum ExportFormat {
    /// The results folder of lm-evaluation-harness: results_*.json and samples_*.jsonl.
    LmEval,
    /// An EvalLog of Inspect for each task.
    Inspect,
    /// The records of Every Eval Ever for each task.
    EveryEvalEver,
    /// All samples as one Parquet file.
    #[cfg(feature = "parquet")]
    Parquet,
    /// All figures as one CSV file.
    Csv,
}

impl ExportFormat {
    /// Returns the name for the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the name of its file, or `None` for a format of several files, which creates a folder.
    pub fn file_name(self) -> Option<&'static str> {
        match self {
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => Some("samples.parquet"),
            ExportFormat::Csv => Some("figures.csv"),
            ExportFormat::LmEval | ExportFormat::Inspect | ExportFormat::EveryEvalEver => None,
        }
    }
}

/// Options of an export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: ExportFormat,
    /// The file to write, or the folder for formats of several files.
    pub path: PathBuf,
    /// True to replace existing files.
    pub replaces: bool,
    /// True to export the available part of an unfinished run.
    pub takes_part: bool,
    /// Publisher of the figures; used only by Every Eval Ever.
    pub publisher: Publisher,
}

/// Result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// The written files, in the order of creation.
    pub files: Vec<PathBuf>,
    /// Number of records that were read.
    pub samples: u64,
    /// Descriptions of data that the format cannot represent.
    pub notes: Vec<String>,
}

/// Exports a run. `prompts` are those of its records; only [`ExportFormat::LmEval`] asks for them.
///
/// # Errors
/// Fails if the run has not finished or is empty, a file already exists, or files cannot be read or written. In these
/// cases no files remain.
pub fn export(
    source: &RecordedRun,
    options: &ExportOptions,
    prompts: &PromptsOf<'_>,
) -> Result<ExportReport, ExportError> {
    let run = ExportedRun::of(source, options.takes_part)?;
    let mut files = Files::new(options.replaces, Path::new(source.folder()));
    let mut exported = match options.format {
        ExportFormat::LmEval => lm_eval::write(&run, prompts, &options.path, &mut files)?,
        ExportFormat::Inspect => inspect::write(&run, &options.path, &mut files)?,
        ExportFormat::EveryEvalEver => {
            every_eval_ever::write(&run, &options.publisher, &options.path, &mut files)?
        }
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => samples_parquet::write(&run, &options.path, &mut files)?,
        ExportFormat::Csv => figures_csv::write(&run, &options.path, &mut files)?,
    };
    exported.files = files.commit()?;
    Ok(exported)
}

#[cfg(test)]
mod tests;
