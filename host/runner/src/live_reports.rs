//! The reports of a run that are built while it runs, so that its journal need not be read again.

use crate::aggregators::Aggregators;
use gage_engine::RecordSink;
use gage_figures::{ReportBuilder, TaskDescription, no_custom_aggregators};
use gage_record::{RecordView, RunFolder};
use parking_lot::Mutex;

/// The reports of a run so far. If something fails, they are dropped, and the journal is read at the end. Its error then
/// says what failed.
pub(crate) struct LiveReports(Mutex<State>);

enum State {
    Waiting(Vec<TaskDescription>),
    Begun(Box<ReportBuilder<'static>>),
    Dropped,
}

impl LiveReports {
    /// Prepares the reports of these tasks. Components that aggregate read the journal at the end: the recorder must not
    /// wait for them.
    pub(crate) fn new(tasks: Vec<TaskDescription>, aggregators: &Aggregators) -> LiveReports {
        LiveReports(Mutex::new(if aggregators.is_empty() { State::Waiting(tasks) } else { State::Dropped }))
    }

    /// Returns the reports of the first records of the run, if there are any.
    pub(crate) fn into_builder(self) -> Option<ReportBuilder<'static>> {
        match self.0.into_inner() {
            State::Begun(builder) => Some(*builder),
            State::Waiting(_) | State::Dropped => None,
        }
    }
}

impl RecordSink for LiveReports {
    fn begin(&self, folder: &RunFolder) {
        let mut state = self.0.lock();
        if let State::Waiting(tasks) = &*state {
            let begun = ReportBuilder::new(folder, tasks, &no_custom_aggregators);
            *state = begun.map_or(State::Dropped, |builder| State::Begun(Box::new(builder)));
        }
    }

    fn add(&self, record: &RecordView<'_>) -> bool {
        let mut state = self.0.lock();
        let State::Begun(builder) = &mut *state else { return false };
        let is_added = builder.add(record).is_ok();
        if !is_added {
            *state = State::Dropped;
        }
        is_added
    }

    fn discard(&self) {
        *self.0.lock() = State::Dropped;
    }
}
