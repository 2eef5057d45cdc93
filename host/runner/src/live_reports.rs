//! The reports of a run that are built while it goes on, so that its journal need not be read again.

use gage_engine::RecordSink;
use gage_figures::{CustomAggregators, FiguresError, ReportBuilder, TaskDescription};
use gage_html::PageFolderWriter;
use gage_record::{RecordView, RunFolder};
use parking_lot::Mutex;

/// The reports of a run so far.
pub(crate) struct LiveReports<'a>(Mutex<State<'a>>);

enum State<'a> {
    /// Prepared, to be begun in the folder of the run.
    Waiting(Vec<TaskDescription>, CustomAggregators<'a>),
    Begun(Box<BegunReports<'a>>),
    Failed(FiguresError),
    /// The records that came are not those of the run.
    Dropped,
}

/// The reports of the first records of a run.
pub(crate) struct BegunReports<'a> {
    pub(crate) builder: ReportBuilder<'a>,
    /// Blocks of the run's page; `None` if no files are written.
    pub(crate) page: Option<PageFolderWriter>,
}

impl<'a> BegunReports<'a> {
    /// Begins all reports in the folder of a run.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub(crate) fn new(
        folder: &RunFolder,
        tasks: &[TaskDescription],
        aggregators: CustomAggregators<'a>,
    ) -> Result<BegunReports<'a>, FiguresError> {
        let builder = ReportBuilder::new(folder, tasks, aggregators)?;
        Ok(BegunReports { builder, page: Some(PageFolderWriter::new(folder.path())) })
    }

    /// Adds the rest of the records from the journal.
    ///
    /// # Errors
    /// If the journal cannot be read or does not fit, or a file cannot be written.
    pub(crate) fn with_rest(
        self,
        folder: &RunFolder,
        tasks: &[TaskDescription],
    ) -> Result<BegunReports<'a>, FiguresError> {
        let BegunReports { builder, mut page } = self;
        let builder = builder.with_rest(folder, tasks, |record| {
            if let Some(page) = &mut page {
                page.add(record);
            }
        })?;
        Ok(BegunReports { builder, page })
    }

    fn add(&mut self, record: &RecordView<'_>) -> Result<(), FiguresError> {
        self.builder.add(record)?;
        if let Some(page) = &mut self.page {
            page.add(record);
        }
        Ok(())
    }
}

impl<'a> LiveReports<'a> {
    /// Prepares the reports of these tasks.
    pub(crate) fn new(tasks: Vec<TaskDescription>, aggregators: CustomAggregators<'a>) -> LiveReports<'a> {
        LiveReports(Mutex::new(State::Waiting(tasks, aggregators)))
    }

    /// Prepares reports that write no samples.
    pub(crate) fn without_samples(
        tasks: &[TaskDescription],
        aggregators: CustomAggregators<'a>,
    ) -> LiveReports<'a> {
        let builder = ReportBuilder::without_samples(tasks, aggregators);
        LiveReports(Mutex::new(State::Begun(Box::new(BegunReports { builder, page: None }))))
    }

    /// Returns the reports of the first records of the run, if there are any. If something failed, there are none: the
    /// journal is read instead, and its error says what failed.
    pub(crate) fn into_begun(self) -> Option<BegunReports<'a>> {
        self.into_result().unwrap_or_default()
    }

    /// Returns the reports of the records, if there are any.
    ///
    /// # Errors
    /// The error of the first record that could not be added.
    pub(crate) fn into_result(self) -> Result<Option<BegunReports<'a>>, FiguresError> {
        match self.0.into_inner() {
            State::Begun(reports) => Ok(Some(*reports)),
            State::Failed(error) => Err(error),
            State::Waiting(..) | State::Dropped => Ok(None),
        }
    }
}

impl RecordSink for LiveReports<'_> {
    fn begin(&self, folder: &RunFolder) {
        let mut state = self.0.lock();
        if let State::Waiting(tasks, aggregators) = &*state {
            let begun = BegunReports::new(folder, tasks, *aggregators);
            *state = begun.map_or_else(State::Failed, |reports| State::Begun(Box::new(reports)));
        }
    }

    fn add(&self, record: &RecordView<'_>) -> bool {
        let mut state = self.0.lock();
        let State::Begun(reports) = &mut *state else { return false };
        match reports.add(record) {
            Ok(()) => true,
            Err(error) => {
                *state = State::Failed(error);
                false
            }
        }
    }

    fn discard(&self) {
        *self.0.lock() = State::Dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Digest;
    use gage_figures::no_custom_aggregators;
    use gage_figures::test_records::{sample, task};
    use gage_html::{MIN_PAGED_SAMPLES, PageFolder};

    #[test]
    fn page_folder_is_written_with_the_other_reports() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        let reports = LiveReports::new(vec![task("t")], &no_custom_aggregators);
        reports.begin(&folder);
        for index in 0..MIN_PAGED_SAMPLES {
            assert!(reports.add(&(&sample("t", index, 1.0, 12.0)).into()));
        }
        let begun = reports.into_begun().unwrap();
        let samples = Digest::of_bytes(b"samples");
        assert!(begun.page.unwrap().finish(&samples).unwrap());
        let page = PageFolder::open(folder.path(), &samples).unwrap();
        assert_eq!(page.rows(), begun.builder.records());
    }
}
