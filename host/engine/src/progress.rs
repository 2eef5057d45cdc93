//! What a run tells about itself while it goes on.

use gage_record::SampleRecord;

/// Hears how a run goes on. Called from several threads; must not block.
pub trait Progress: Send + Sync {
    /// A task begins. `total` is the number of its samples, where it is known; `done` of them
    /// were finished by an earlier process.
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64);

    /// A sample is finished and in the journal.
    fn sample_finished(&self, record: &SampleRecord);

    /// A task ends.
    fn task_finished(&self, task_id: &str);
}

/// Hears nothing.
pub struct NoProgress;

impl Progress for NoProgress {
    fn task_started(&self, _task_id: &str, _total: Option<u64>, _done: u64) {}
    fn sample_finished(&self, _record: &SampleRecord) {}
    fn task_finished(&self, _task_id: &str) {}
}
