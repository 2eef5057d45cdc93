//! The figures of all metrics of a task.

use super::MetricFigure;
use super::builder::FigureBuilder;
use crate::custom_aggregation::CustomAggregators;
use crate::slicing::Slicing;
use crate::{FiguresError, MetricDescription, TaskCompleteness, TaskDescription, UnfoundPath};
use gage_core::MetricResult;
use gage_record::RecordView;

/// Builds the figures of metrics of a task from its records, in one pass, in dataset order.
pub(crate) struct FigureSet<'a> {
    slicing: Slicing,
    figures: Vec<FigureBuilder<'a>>,
    has_sample: bool,
    records: u64,
    prompt_version: String,
}

impl<'a> FigureSet<'a> {
    pub(crate) fn new(
        task: &TaskDescription,
        metrics: &[MetricDescription],
        aggregators: CustomAggregators<'a>,
    ) -> FigureSet<'a> {
        let slicing = Slicing::new(task);
        let builder = |metric| FigureBuilder::new(&task.task_id, metric, &slicing, aggregators);
        let figures = metrics.iter().map(builder).collect();
        FigureSet {
            slicing,
            figures,
            has_sample: false,
            records: 0,
            prompt_version: task.prompt_version.clone(),
        }
    }

    /// Sets the maximum number of distinct slices of each path. Must be called before the first record.
    pub(crate) fn with_max_slices(self, max_slices: usize) -> FigureSet<'a> {
        FigureSet { slicing: self.slicing.with_max_slices(max_slices), ..self }
    }

    /// Adds the next record with its results.
    ///
    /// # Errors
    /// If a result belongs to a metric that was not described.
    pub(crate) fn add<'r>(
        &mut self,
        results: &[MetricResult],
        record: impl Into<RecordView<'r>>,
    ) -> Result<(), FiguresError> {
        let record = &record.into();
        let is_known =
            |result: &&MetricResult| self.figures.iter().any(|figure| figure.metric_id() == result.metric_id);
        if let Some(unknown) = results.iter().find(|result| !is_known(result)) {
            return Err(FiguresError::UnknownMetric {
                task_id: record.task_id.to_owned(),
                sample_id: record.sample_id.to_owned(),
                metric_id: unknown.metric_id.to_string(),
            });
        }
        if self.figures.is_empty() {
            return Ok(());
        }
        if self.slicing.is_next(*record) {
            self.end_sample();
            self.slicing.begin(*record);
            self.has_sample = true;
        }
        self.records += 1;
        let membership = self.slicing.membership();
        self.figures.iter_mut().for_each(|figure| figure.add(results, record, membership));
        Ok(())
    }

    /// Returns the paths at which no sample has a value.
    pub(crate) fn unfound_paths(&self) -> Vec<UnfoundPath> {
        self.slicing.unfound_paths()
    }

    fn end_sample(&mut self) {
        if std::mem::take(&mut self.has_sample) {
            let membership = self.slicing.membership();
            self.figures.iter_mut().for_each(|figure| figure.end_sample(membership));
        }
    }

    /// Returns the figures in the order of the metrics, given the completeness of the task.
    pub(crate) fn finish(mut self, reach: TaskCompleteness) -> Vec<MetricFigure> {
        self.end_sample();
        let (slicing, prompt_version) = (&self.slicing, &self.prompt_version);
        let missing = reach.missing(self.records);
        let finish = |figure: FigureBuilder<'_>| MetricFigure {
            prompt_version: prompt_version.clone(),
            total_is_least: reach == TaskCompleteness::Unknown,
            ..figure.finish(slicing, missing)
        };
        self.figures.into_iter().map(finish).collect()
    }
}
