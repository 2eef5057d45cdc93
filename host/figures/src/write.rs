//! The end of a run: the journal is read once, in dataset order, and all reports are written from it.

use crate::resamples_file::ResamplesFile;
use crate::{
    Completeness, CustomAggregators, FiguresError, Machine, Phases, Summary, SummaryBuilder, TaskDescription,
    Timings, TimingsBuilder,
};
use gage_core::{Outcome, OutcomeCounts};
use gage_record::format::{RESAMPLES_FILE, SAMPLES_FILE, SUMMARY_FILE, TIMINGS_FILE};
use gage_record::{FileDigest, JournalIndex, RunFolder, SampleRecord, SamplesWriter};
use std::collections::BTreeMap;

/// The reports that were written.
#[derive(Clone, Debug)]
pub struct WrittenReports {
    /// The figures.
    pub summary: Summary,
    /// The data that varies from run to run.
    pub timings: Timings,
    /// Sample outcomes of each task, in the order of the tasks.
    pub counts: Vec<OutcomeCounts>,
    /// Digests of the files.
    pub files: BTreeMap<String, FileDigest>,
    /// The first sample of each task and of each outcome other than `scored`, with the error.
    pub examples: Vec<Example>,
}

/// A sample that was not scored, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The task.
    pub task_id: String,
    /// The id.
    pub sample_id: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason.
    pub message: String,
}

impl std::fmt::Display for Example {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {} {}: {}", self.task_id, self.sample_id, self.outcome, self.message)
    }
}

/// Writes `samples.jsonl`, `summary.json`, `timings.json` and, if figures were resampled, `resamples.json` of a run from its
/// journal.
///
/// The journal may lack samples if the run was interrupted; `completeness` holds the planned numbers. `aggregators` returns
/// the custom aggregators.
///
/// # Errors
/// If the journal cannot be read or a file cannot be written.
pub fn write_reports(
    folder: &RunFolder,
    tasks: &[TaskDescription],
    completeness: &Completeness,
    phases: &Phases,
    aggregators: CustomAggregators<'_>,
) -> Result<WrittenReports, FiguresError> {
    let index = JournalIndex::read(folder)?;
    let order: Vec<&str> = tasks.iter().map(|task| task.task_id.as_str()).collect();
    let mut summary = SummaryBuilder::new(tasks, aggregators);
    let mut timings = TimingsBuilder::new(tasks, aggregators);
    let mut samples = SamplesWriter::create(folder)?;
    let mut examples: Vec<Example> = Vec::new();
    for record in index.records_in_order(&order) {
        let record = record?;
        note_example(&mut examples, &record);
        summary.add(&record)?;
        timings.add(&record)?;
        samples.write(record)?;
    }
    let summary = summary.finish(completeness);
    let timings = timings.finish(phases, Machine::this(), completeness);
    let mut files = BTreeMap::from([(SAMPLES_FILE.to_owned(), samples.finish()?)]);
    for (name, text) in [(SUMMARY_FILE, summary.to_json()?), (TIMINGS_FILE, timings.to_json()?)] {
        files.insert(name.to_owned(), folder.write_atomically(name, text.as_bytes())?);
    }
    if let Some(resamples) = ResamplesFile::of(&summary.metrics) {
        let text = resamples.to_json()?;
        files.insert(RESAMPLES_FILE.to_owned(), folder.write_atomically(RESAMPLES_FILE, text.as_bytes())?);
    }
    let counts = order.iter().map(|task_id| index.outcomes(task_id)).collect();
    Ok(WrittenReports { summary, timings, counts, files, examples })
}

fn note_example(examples: &mut Vec<Example>, record: &SampleRecord) {
    let is_new = |example: &Example| example.task_id != record.task_id || example.outcome != record.outcome;
    if let Some(error) = &record.error
        && examples.iter().all(is_new)
    {
        examples.push(Example {
            task_id: record.task_id.clone(),
            sample_id: record.sample_id.clone(),
            outcome: record.outcome,
            message: error.message.clone(),
        });
    }
}
