//! The reports of a run, which are built from its records in dataset order. A run adds each record when it is finished; the
//! rest is read from the journal.

use crate::resamples_file::ResamplesFile;
use crate::{
    Completeness, CustomAggregators, FiguresError, Machine, Phases, Summary, SummaryBuilder, TaskDescription,
    Timings, TimingsBuilder,
};
use gage_core::Outcome;
use gage_record::format::{RESAMPLES_FILE, SAMPLES_FILE, SUMMARY_FILE, TIMINGS_FILE};
use gage_record::{
    ErrorNote, FileDigest, JournalIndex, RecordView, RecordedPlugin, RunFolder, SamplesWriter,
};
use std::collections::BTreeMap;

/// The reports that were written.
#[derive(Clone, Debug)]
pub struct WrittenReports {
    /// The figures.
    pub summary: Summary,
    /// The data that varies from run to run.
    pub timings: Timings,
    /// Digests of the files.
    pub files: BTreeMap<String, FileDigest>,
    /// The first sample of each task and of each outcome other than `scored`, with the error.
    pub examples: Vec<Example>,
}

impl WrittenReports {
    /// Reads the reports of a run that is complete. `None` if one of them is not the file with the given digest.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(
        folder: &RunFolder,
        files: &BTreeMap<String, FileDigest>,
    ) -> Result<Option<WrittenReports>, FiguresError> {
        let mut own = BTreeMap::new();
        for name in [SAMPLES_FILE, SUMMARY_FILE, TIMINGS_FILE, RESAMPLES_FILE] {
            let is_same = match files.get(name) {
                Some(written) => folder.has_digest(name, written)?,
                None => folder.size_of(name)?.is_none(),
            };
            if !is_same {
                return Ok(None);
            }
            own.extend(files.get(name).map(|written| (name.to_owned(), *written)));
        }
        let summary = folder.read_json::<Summary>(SUMMARY_FILE).ok().flatten();
        let timings = folder.read_json(TIMINGS_FILE)?.and_then(|timings| Timings::from_value(timings).ok());
        let (Some(summary), Some(timings)) = (summary, timings) else { return Ok(None) };
        let examples = examples(folder, &summary)?;
        Ok(Some(WrittenReports { examples, summary, timings, files: own }))
    }
}

/// Reads the first failed sample of each task and outcome.
fn examples(folder: &RunFolder, summary: &Summary) -> Result<Vec<Example>, FiguresError> {
    let mut examples = Vec::new();
    let has_failed = |outcome: &Outcome| *outcome != Outcome::Scored;
    if !summary.tasks.iter().any(|task| task.samples.outcomes.keys().any(has_failed)) {
        return Ok(examples);
    }
    let index = JournalIndex::read(folder)?;
    for task in &summary.tasks {
        let mut seen = Vec::new();
        for (number, sample) in index.samples(&task.task_id) {
            if sample.outcome == Outcome::Scored || seen.contains(&sample.outcome) {
                continue;
            }
            let Some(record) = index.record(&task.task_id, number)? else { continue };
            if let Some(error) = &record.error {
                seen.push(sample.outcome);
                examples.push(Example {
                    task_id: record.task_id.clone(),
                    sample_id: record.sample_id.clone(),
                    outcome: record.outcome,
                    message: recorded_message(error),
                });
            }
        }
    }
    Ok(examples)
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

/// Builds the reports of a run from its records, which come in order.
pub struct ReportBuilder<'a> {
    summary: SummaryBuilder<'a>,
    timings: TimingsBuilder<'a>,
    samples: SamplesWriter,
    examples: Vec<Example>,
    records: u64,
    plugins: Vec<RecordedPlugin>,
}

impl<'a> ReportBuilder<'a> {
    /// Begins the reports of a run of these tasks. `aggregators` returns the custom aggregators.
    ///
    /// # Errors
    /// If `samples.jsonl` cannot be created.
    pub fn new(
        folder: &RunFolder,
        tasks: &[TaskDescription],
        aggregators: CustomAggregators<'a>,
    ) -> Result<ReportBuilder<'a>, FiguresError> {
        Ok(ReportBuilder::with_samples(SamplesWriter::create(folder)?, tasks, aggregators))
    }

    /// Begins reports of which the samples are not written; only the digest of their file is computed.
    pub fn without_samples(
        tasks: &[TaskDescription],
        aggregators: CustomAggregators<'a>,
    ) -> ReportBuilder<'a> {
        ReportBuilder::with_samples(SamplesWriter::digest_only(), tasks, aggregators)
    }

    fn with_samples(
        samples: SamplesWriter,
        tasks: &[TaskDescription],
        aggregators: CustomAggregators<'a>,
    ) -> ReportBuilder<'a> {
        ReportBuilder {
            summary: SummaryBuilder::new(tasks, aggregators),
            timings: TimingsBuilder::new(tasks, aggregators),
            samples,
            examples: Vec::new(),
            records: 0,
            plugins: Vec::new(),
        }
    }

    /// Adds the next record. Tasks come in the order of the suite, and their records by index.
    ///
    /// # Errors
    /// If the record has a task or a metric that was not described, or `samples.jsonl` cannot be written.
    pub fn add(&mut self, record: &RecordView<'_>) -> Result<(), FiguresError> {
        self.note_example(record);
        self.summary.add(*record)?;
        self.timings.add(*record)?;
        self.samples.write(record)?;
        self.records += 1;
        Ok(())
    }

    /// Lists these plugins in the summary.
    #[must_use]
    pub fn with_plugins(mut self, plugins: Vec<RecordedPlugin>) -> ReportBuilder<'a> {
        self.plugins = plugins;
        self
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Keeps the first failed sample of each task and outcome.
    fn note_example(&mut self, record: &RecordView<'_>) {
        let is_new =
            |example: &Example| example.task_id != record.task_id || example.outcome != record.outcome;
        if let Some(error) = record.error
            && self.examples.iter().all(is_new)
        {
            self.examples.push(Example {
                task_id: record.task_id.to_owned(),
                sample_id: record.sample_id.to_owned(),
                outcome: record.outcome,
                message: recorded_message(error),
            });
        }
    }

    /// Adds the records of a journal after those that were already added, which must be the first of it. Shows each of them to
    /// `observe`.
    ///
    /// # Errors
    /// If the journal cannot be read, and those of [`ReportBuilder::add`].
    pub fn with_rest(
        mut self,
        folder: &RunFolder,
        tasks: &[TaskDescription],
        mut observe: impl FnMut(&RecordView<'_>),
    ) -> Result<ReportBuilder<'a>, FiguresError> {
        let index = JournalIndex::read(folder)?;
        let order: Vec<&str> = tasks.iter().map(|task| task.task_id.as_str()).collect();
        let known = usize::try_from(self.records).unwrap_or(usize::MAX);
        for record in index.records_in_order_after(&order, known) {
            let record = record?;
            let view = RecordView::from(&record);
            self.add(&view)?;
            observe(&view);
        }
        Ok(self)
    }

    /// Writes the files. `tasks` has what is known only at the end of the run; `completeness` holds the planned numbers
    /// of samples, as the run may have been interrupted. `phases` is called after all figures are computed, because
    /// aggregators are plugins with costs too.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(
        self,
        folder: &RunFolder,
        tasks: &[TaskDescription],
        completeness: &Completeness,
        phases: impl FnOnce() -> Phases,
    ) -> Result<WrittenReports, FiguresError> {
        let ReportBuilder { mut summary, timings, samples, examples, plugins, .. } = self;
        summary.describe(tasks);
        let summary = Summary { plugins, ..summary.finish(completeness) };
        let timings = timings.finish(&phases(), Machine::this(), completeness);
        let mut files = BTreeMap::from([(SAMPLES_FILE.to_owned(), samples.finish()?)]);
        for (name, text) in [(SUMMARY_FILE, summary.to_json()?), (TIMINGS_FILE, timings.to_json()?)] {
            files.insert(name.to_owned(), folder.write_atomically(name, text.as_bytes())?);
        }
        if let Some(resamples) = ResamplesFile::of(&summary.metrics) {
            let text = resamples.to_json()?;
            let digest = folder.write_atomically(RESAMPLES_FILE, text.as_bytes())?;
            files.insert(RESAMPLES_FILE.to_owned(), digest);
        }
        Ok(WrittenReports { summary, timings, files, examples })
    }
}

/// Returns the message of an error as records have it: without secrets.
fn recorded_message(error: &ErrorNote) -> String {
    let recorded = serde_json::to_value(error).unwrap_or_default();
    recorded["message"].as_str().unwrap_or_default().to_owned()
}

/// Writes `samples.jsonl`, `summary.json`, `timings.json` and, if figures were resampled, `resamples.json` of a run from its
/// journal.
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
    let builder = ReportBuilder::new(folder, tasks, aggregators)?.with_rest(folder, tasks, |_| {})?;
    builder.finish(folder, tasks, completeness, || phases.clone())
}
