//! Runs in the formats of others: lm-evaluation-harness, Inspect, Every Eval Ever, Parquet, CSV.
//!
//! - **No failure is a score here either.** A sample that was not scored is exported without scores where the format
//!   can hold such a sample, and is counted in a note where it cannot.
//! - **Texts are data**: what a model wrote arrives byte for byte.
//! - **The same bytes for the same run**: times are those of the run, ids are made from its id.
//! - **Files are whole or absent**, and nothing is replaced unless that was asked for.
//!
//! Samples are streamed. What each format holds is in `docs/reference/exports.md`.

mod error;
mod every_eval_ever;
mod figures_csv;
mod files;
mod inspect;
mod inspect_messages;
mod lm_eval;
mod run;
mod samples_parquet;
mod text;

pub use error::ExportError;
pub use every_eval_ever::{Publisher, Relationship};

use files::Files;
use gage_figures::RecordedRun;
use run::ExportedRun;
use std::path::PathBuf;

/// A format of others.
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
    Parquet,
    /// All figures as one CSV file.
    Csv,
}

impl ExportFormat {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The file that it makes; none for a format of several files, which makes a folder.
    pub fn file_name(self) -> Option<&'static str> {
        match self {
            ExportFormat::Parquet => Some("samples.parquet"),
            ExportFormat::Csv => Some("figures.csv"),
            ExportFormat::LmEval | ExportFormat::Inspect | ExportFormat::EveryEvalEver => None,
        }
    }
}

/// How a run is exported.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: ExportFormat,
    /// The file to write, or the folder for formats of several files.
    pub path: PathBuf,
    /// Whether files that are there are replaced.
    pub replaces: bool,
    /// Whether a run that has not come to its end is exported as far as it came.
    pub takes_part: bool,
    /// Who publishes the figures; only Every Eval Ever asks.
    pub publisher: Publisher,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// The files, in the order in which they were begun.
    pub files: Vec<PathBuf>,
    /// How many records were read.
    pub samples: u64,
    /// What the format could not hold, in words.
    pub notes: Vec<String>,
}

/// Exports a run.
///
/// # Errors
/// When the run has not ended or holds nothing, when a file is there already, and when files cannot be read or written.
/// Nothing is left behind then.
pub fn export(source: &RecordedRun, options: &ExportOptions) -> Result<ExportReport, ExportError> {
    let run = ExportedRun::of(source, options.takes_part)?;
    let mut files = Files::new(options.replaces);
    let mut exported = match options.format {
        ExportFormat::LmEval => lm_eval::write(&run, &options.path, &mut files)?,
        ExportFormat::Inspect => inspect::write(&run, &options.path, &mut files)?,
        ExportFormat::EveryEvalEver => {
            every_eval_ever::write(&run, &options.publisher, &options.path, &mut files)?
        }
        ExportFormat::Parquet => samples_parquet::write(&run, &options.path, &mut files)?,
        ExportFormat::Csv => figures_csv::write(&run, &options.path, &mut files)?,
    };
    exported.files = files.commit()?;
    Ok(exported)
}

#[cfg(test)]
mod tests;
