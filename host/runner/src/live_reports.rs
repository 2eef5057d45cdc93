//! The reports of a run that are built while it goes on, so that its journal need not be read again.

use gage_engine::RecordSink;
use gage_figures::{CustomAggregators, FiguresError, ReportBuilder, TaskDescription};
use gage_record::{RecordView, RunFolder};
use parking_lot::Mutex;

/// The reports of a run so far.
pub(crate) struct LiveReports<'a>(Mutex<State<'a>>);

enum State<'a> {
    /// Prepared, to be begun in the folder of the run.
    Waiting(Vec<TaskDescription>, CustomAggregators<'a>),
    Begun(Box<ReportBuilder<'a>>),
    Failed(FiguresError),
    /// The records that came are not those of the run.
    Dropped,
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
        LiveReports(Mutex::new(State::Begun(Box::new(ReportBuilder::without_samples(tasks, aggregators)))))
    }

    /// Returns the reports of the first records of the run, if there are any. If something failed, there are none: the
    /// journal is read instead, and its error says what failed.
    pub(crate) fn into_builder(self) -> Option<ReportBuilder<'a>> {
        self.into_result().unwrap_or_default()
    }

    /// Returns the reports of the records, if there are any.
    ///
    /// # Errors
    /// The error of the first record that could not be added.
    pub(crate) fn into_result(self) -> Result<Option<ReportBuilder<'a>>, FiguresError> {
        match self.0.into_inner() {
            State::Begun(builder) => Ok(Some(*builder)),
            State::Failed(error) => Err(error),
            State::Waiting(..) | State::Dropped => Ok(None),
        }
    }
}

impl RecordSink for LiveReports<'_> {
    fn begin(&self, folder: &RunFolder) {
        let mut state = self.0.lock();
        if let State::Waiting(tasks, aggregators) = &*state {
            let begun = ReportBuilder::new(folder, tasks, *aggregators);
            *state = begun.map_or_else(State::Failed, |builder| State::Begun(Box::new(builder)));
        }
    }

    fn add(&self, record: &RecordView<'_>) -> bool {
        let mut state = self.0.lock();
        let State::Begun(builder) = &mut *state else { return false };
        match builder.add(record) {
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
