//! A recorded run: the run-level data of its folder, and its records, one at a time. Comparisons, exports and pages read
//! runs through it.

use crate::resamples_file::{ResampledFigure, ResamplesFile};
use crate::{Aggregation, FiguresError, MetricFigure, Resamples, Summary, TaskSummary, Timings};
use gage_config::{GateSpec, PipelineConfig, Problems, load_recorded, parse_document};
use gage_record::format::{JOURNAL_FOLDER, LOCK_FILE};
use gage_record::{
    JournalIndex, Manifest, RecordError, RunFolder, RunReader, RunStatus, SampleLine, SampleRecord,
    SampleStage, SampleTiming, TamperedPart, read_run_file,
};
use itertools::Itertools as _;
use std::path::Path;

/// A run folder opened to compare, export or show the run.
#[derive(Debug)]
pub struct RecordedRun {
    reader: RunReader,
    folder: String,
    summary: Option<Summary>,
    resamples: Vec<ResampledFigure>,
    config: Option<PipelineConfig>,
    journal: Option<JournalIndex>,
}

impl RecordedRun {
    /// Opens a run folder and indexes its journal, if it has one.
    ///
    /// # Errors
    /// If the path is not a run folder, or holds files that cannot be read.
    pub fn open(path: &Path) -> Result<RecordedRun, FiguresError> {
        let run = RecordedRun::open_head(path)?;
        let journal = match path.join(JOURNAL_FOLDER).exists() {
            true => Some(run.reader.journal()?).filter(|journal| !journal.is_empty()),
            false => None,
        };
        Ok(RecordedRun { journal, ..run })
    }

    /// Opens a run folder without its journal, which takes the same time for any number of samples. Records are then those of
    /// `samples.jsonl`.
    ///
    /// # Errors
    /// If the path is not a run folder, or holds files that cannot be read.
    pub fn open_head(path: &Path) -> Result<RecordedRun, FiguresError> {
        let reader = RunReader::open(path)?;
        let summary = reader.summary()?;
        let resamples = match reader.resamples::<ResamplesFile>() {
            Err(error @ RecordError::Refused { .. }) => return Err(error.into()),
            // Only comparisons need the replicates, and they find out that a file was changed.
            read => read.ok().flatten(),
        };
        let resamples = resamples.map(ResamplesFile::into_figures).unwrap_or_default();
        let config = load_recorded(&reader.manifest().identity.config);
        let folder = path.display().to_string();
        Ok(RecordedRun { folder, reader, summary, resamples, config, journal: None })
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        self.reader.manifest()
    }

    /// Returns the run's id.
    pub fn run_id(&self) -> &str {
        &self.manifest().run_id
    }

    /// Returns the folder, as given.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the suite of the run, if the manifest holds a readable one.
    pub fn config(&self) -> Option<&PipelineConfig> {
        self.config.as_ref()
    }

    /// Returns the name of the suite. A suite that does not name itself has the name of its file, which the lock of the run
    /// holds.
    pub fn suite_name(&self) -> Option<String> {
        let own = self.manifest().identity.suite_name().map(str::to_owned);
        own.or_else(|| {
            let text = String::from_utf8(read_run_file(self.reader.path(), LOCK_FILE).ok()?).ok()?;
            let lock = parse_document(LOCK_FILE, &text, None, &mut Problems::default())?.to_json();
            lock["suite"]["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
        })
    }

    /// Returns the gate of the run's suite; empty if there is none.
    pub fn gate(&self) -> Vec<GateSpec> {
        self.config.as_ref().map(|config| config.gate.clone()).unwrap_or_default()
    }

    /// Returns a gate that allows every metric of the run to lose at most a margin.
    pub fn gate_of_all(&self, margin: f64) -> Vec<GateSpec> {
        let compared =
            self.all_figures().iter().filter(|figure| figure.aggregation != Aggregation::Categorical);
        let metric_ids = compared.map(|figure| &figure.metric_id).unique();
        metric_ids.map(|metric_id| GateSpec::new(metric_id, margin)).collect()
    }

    /// Returns the summary; `None` if the run has not ended.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Returns the bootstrap replicates of a metric's value; `None` if it was not resampled.
    pub fn resamples(&self, task_id: &str, metric_id: &str) -> Option<&Resamples> {
        let is_wanted =
            |figure: &&ResampledFigure| figure.task_id == task_id && figure.metric_id == metric_id;
        self.resamples.iter().find(is_wanted).map(|figure| &figure.resamples)
    }

    /// Returns the timings; `None` if the run has not ended or the file cannot be read.
    pub fn timings(&self) -> Option<Timings> {
        Timings::from_value(self.reader.timings().ok()??).ok()
    }

    /// Returns the part of the run that was edited, if any: then none of its data can be trusted.
    pub fn edited(&self) -> Option<TamperedPart> {
        self.reader.edited()
    }

    /// Returns whether `samples.jsonl` is not the file that the run wrote. A file of up to `max_read_bytes` is read as a whole;
    /// of a larger one, only the size is compared.
    pub fn has_changed_samples(&self, max_read_bytes: u64) -> bool {
        self.reader.has_changed_samples(max_read_bytes)
    }

    /// Returns whether the run has ended, as complete or incomplete.
    pub fn has_ended(&self) -> bool {
        matches!(self.manifest().status, RunStatus::Complete | RunStatus::Incomplete)
    }

    /// Returns whether a process is writing to the run.
    pub fn is_being_written(&self) -> bool {
        RunFolder::is_being_written(self.reader.path())
    }

    /// Returns the number of samples in the journal, whatever their state; 0 if the run has none.
    pub fn recorded_samples(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.len() as u64)
    }

    /// Returns whether rows can be distinguished by the digests in the journal.
    pub fn has_row_digests(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns the ids of the tasks, in the order of the suite.
    pub fn task_ids(&self) -> Vec<&str> {
        match (&self.summary, &self.config, &self.journal) {
            (Some(summary), ..) => summary.tasks.iter().map(|task| task.task_id.as_str()).collect(),
            (None, Some(config), _) => config.tasks.iter().map(|task| task.task_id.as_str()).collect(),
            (None, None, Some(journal)) => journal.task_ids(),
            (None, None, None) => Vec::new(),
        }
    }

    /// Returns the figures of all tasks; empty if the run has not ended.
    pub fn all_figures(&self) -> &[MetricFigure] {
        self.summary.as_ref().map(|summary| summary.metrics.as_slice()).unwrap_or_default()
    }

    /// Returns the figures of a task; empty if the run has not ended.
    pub fn figures(&self, task_id: &str) -> &[MetricFigure] {
        self.task(task_id).map(|task| task.metrics.as_slice()).unwrap_or_default()
    }

    fn task(&self, task_id: &str) -> Option<&TaskSummary> {
        self.summary.as_ref()?.tasks.iter().find(|task| task.task_id == task_id)
    }

    /// Returns the planned number of samples of a task if the run was stopped before its end, otherwise 0.
    pub fn planned(&self, task_id: &str) -> u64 {
        let stopped = self.task(task_id).filter(|task| task.samples.not_reached > 0);
        stopped.map_or(0, |task| task.samples.total.div_ceil(self.repeat(task_id)))
    }

    /// Returns whether the run was stopped before its end and its planned number of samples is unknown.
    pub fn is_of_unknown_length(&self) -> bool {
        self.summary.as_ref().is_some_and(|summary| summary.samples.total_is_least)
    }

    /// Returns the number of repeats of each sample of a task.
    pub fn repeat(&self, task_id: &str) -> u64 {
        let task = self.config.iter().flat_map(|config| &config.tasks).find(|task| task.task_id == task_id);
        let figure = || self.figures(task_id).first().map(|figure| figure.repeats);
        task.map(|task| task.repeat).or_else(figure).unwrap_or(1).max(1)
    }

    /// Returns the models that the tasks use, without duplicates.
    pub fn models(&self) -> Vec<String> {
        let Some(config) = &self.config else { return Vec::new() };
        let roles = config.tasks.iter().filter_map(|task| config.inference_role_of(task));
        let models = roles.map(|role| self.manifest().identity.model_of(&role.backend_id)).unique();
        models.map(str::to_owned).collect()
    }

    /// Returns all records in the order of their tasks and rows, holding one at a time. They are read from the
    /// journal, or from `samples.jsonl` if there is none.
    pub fn records(&self) -> Result<Records<'_>, RecordError> {
        match &self.journal {
            Some(journal) => Ok(Box::new(journal.records_in_order(&self.task_ids()))),
            None => self.lines(),
        }
    }

    /// Returns all records with the stage of each sample, including answers that await their judges or their scores.
    pub fn records_so_far(&self) -> Result<PartialRecords<'_>, RecordError> {
        match &self.journal {
            Some(journal) => Ok(Box::new(journal.records_so_far(&self.task_ids()))),
            None => {
                Ok(Box::new(self.lines()?.map(|record| record.map(|record| (record, SampleStage::Ended)))))
            }
        }
    }

    /// Returns the record of a sample, as far as it is known. `None` if there is none.
    ///
    /// # Errors
    /// If the journal cannot be read, or has changed.
    pub fn record(&self, task_id: &str, index: u64) -> Result<Option<SampleRecord>, RecordError> {
        let Some(journal) = &self.journal else {
            let is_wanted = |record: &SampleRecord| record.task_id == task_id && record.index == index;
            return self.lines()?.find(|read| read.as_ref().map_or(true, is_wanted)).transpose();
        };
        journal.record(task_id, index)
    }

    /// Returns a sample as `samples.jsonl` has it, without its times. Takes the same time for any number of samples. `None` if
    /// the run has not ended, or it is not found there.
    pub fn listed_record(&self, task_id: &str, index: u64) -> Option<SampleRecord> {
        if !self.has_ended() || self.has_changed_samples(0) {
            return None;
        }
        self.reader.find_sample(&self.task_ids(), task_id, index).map(record_of)
    }

    /// Returns the records of `samples.jsonl`.
    fn lines(&self) -> Result<Records<'_>, RecordError> {
        match self.reader.samples() {
            Ok(lines) => Ok(Box::new(lines.map(|line| line.map(record_of)))),
            // Nothing was recorded.
            Err(_) if !self.has_ended() => Ok(Box::new(std::iter::empty())),
            Err(error) => Err(error),
        }
    }
}

/// Records, one at a time.
pub type Records<'a> = Box<dyn Iterator<Item = Result<SampleRecord, RecordError>> + 'a>;

/// Records, one at a time, with the stage of each sample.
pub type PartialRecords<'a> = Box<dyn Iterator<Item = Result<(SampleRecord, SampleStage), RecordError>> + 'a>;

/// Returns the record of a line of `samples.jsonl`, as far as the line has it.
fn record_of(mut line: SampleLine) -> SampleRecord {
    let metrics = line.take_results();
    let mut sample = line.sample.into_value();
    if let Some(members) = sample.as_object_mut() {
        members.insert("id".to_owned(), line.sample_id.as_str().into());
    }
    SampleRecord {
        task_id: line.task_id,
        index: line.index,
        sample_id: line.sample_id,
        row_digest: String::new(),
        outcome: line.outcome,
        error: line.error,
        sample: sample.into(),
        row: line.row,
        support_output: line.support_output,
        model_output: line.model_output,
        judge_output: line.judge_output,
        metrics,
        timing: SampleTiming::default(),
        timing_metrics: Vec::new(),
    }
}
