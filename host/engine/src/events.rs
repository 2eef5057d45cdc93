//! The events of a run: when it and its tasks begin and end, and every sample that was not
//! scored.

use crate::progress::Finished;
use gage_observe::EventLog;
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// The event log, shared by the threads of a run.
pub(crate) struct Events(Mutex<EventLog>);

impl Events {
    pub(crate) fn new(log: EventLog) -> Events {
        Events(Mutex::new(log))
    }

    pub(crate) fn of_run(&self, kind: &str, payload: &Value) {
        self.append(kind, None, None, payload);
    }

    pub(crate) fn of_task(&self, kind: &str, task_id: &str, payload: &Value) {
        self.append(kind, Some(task_id), None, payload);
    }

    /// A sample that did not end as `scored`.
    pub(crate) fn sample_failed(&self, task_id: &str, finished: &Finished<'_>) {
        let payload = json!({"index": finished.index, "outcome": finished.outcome, "error": finished.error});
        self.append("sample_not_scored", Some(task_id), Some(finished.sample_id), &payload);
    }

    fn append(&self, kind: &str, task_id: Option<&str>, sample_id: Option<&str>, payload: &Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).append(kind, task_id, sample_id, payload);
    }
}
