//! The progress of a run: one event type, one trait to receive events.

use gage_config::{PipelineConfig, Problems};
use gage_data::hub::HubProgress;
use gage_engine::{FinishedSample, Progress};
use gage_observe::Observability;
use gage_plugin::CompileProgress;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RunEvent<'e> {
    /// The suite was read.
    SuiteRead {
        /// The configuration; none if the suite has errors, which the call returns later.
        config: Option<&'e PipelineConfig>,
    },
    /// A component is being compiled, or its compilation has ended.
    Compiling(CompileProgress<'e>),
    /// A file of a dataset or a model is being fetched.
    Fetching {
        /// The file's path on the hub.
        path: &'e str,
        /// The bytes that are on the disk.
        done: u64,
        /// The file's size, if it is known.
        total: Option<u64>,
    },
    /// The suite's newest unfinished run was found and is resumed.
    Resuming {
        /// The folder of the run.
        folder: &'e Path,
    },
    /// The counters of the run are served.
    MetricsServed {
        /// The address, with its real port.
        address: SocketAddr,
    },
    /// The suite has problems that are not errors.
    Warnings(&'e Problems),
    /// The first task is about to begin. From now on the token ends the run in order.
    Started,
    /// A task begins.
    TaskStarted {
        /// The task.
        task_id: &'e str,
        /// The number of its samples, if it is known.
        total: Option<u64>,
        /// The samples that an earlier process answered or finished.
        done: u64,
        /// The first metric whose figure is the mean of its scores.
        mean: Option<&'e str>,
    },
    /// The model of a task is asked, or asked again after a wait.
    RequestBegan {
        /// The task.
        task_id: &'e str,
    },
    /// The model of a task has answered or failed, or the request waits for a retry.
    RequestEnded {
        /// The task.
        task_id: &'e str,
    },
    /// An answer is in the journal and awaits its scores.
    SampleAnswered {
        /// The task.
        task_id: &'e str,
    },
    /// A sample is finished and in the journal.
    SampleFinished(FinishedSample<'e>),
    /// A task ends.
    TaskFinished {
        /// The task.
        task_id: &'e str,
    },
    /// The last task has ended; reports are written next.
    TasksEnded,
}

/// A listener for the events of a run. Several threads call it at the same time, so it must not block.
pub trait RunProgress: Send + Sync {
    /// Receives an event.
    fn on_event(&self, event: &RunEvent<'_>);
}

/// A listener that ignores every event.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl RunProgress for NoProgress {
    fn on_event(&self, _event: &RunEvent<'_>) {}
}

/// Downloads as events.
pub(crate) struct FetchEvents<'p>(pub(crate) &'p dyn RunProgress);

impl HubProgress for FetchEvents<'_> {
    fn file(&self, path: &str, done: u64, total: Option<u64>) {
        self.0.on_event(&RunEvent::Fetching { path, done, total });
    }
}

/// The engine's progress as events, and as counters of the run.
pub(crate) struct EngineEvents {
    pub(crate) progress: Arc<dyn RunProgress>,
    /// The counters; none for answers that are scored again.
    pub(crate) observability: Option<Observability>,
}

impl EngineEvents {
    fn in_flight(&self, task_id: &str, change: i64) {
        let Some(observability) = &self.observability else { return };
        match change > 0 {
            true => observability.meters.request_began(task_id),
            false => observability.meters.request_ended(task_id),
        }
        if let Some(telemetry) = &observability.telemetry {
            telemetry.in_flight(task_id, change);
        }
    }
}

impl Progress for EngineEvents {
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64, mean: Option<&str>) {
        if let Some(observability) = &self.observability {
            observability.meters.task_started(task_id, total);
        }
        self.progress.on_event(&RunEvent::TaskStarted { task_id, total, done, mean });
    }

    fn request_began(&self, task_id: &str) {
        self.in_flight(task_id, 1);
        self.progress.on_event(&RunEvent::RequestBegan { task_id });
    }

    fn request_ended(&self, task_id: &str) {
        self.in_flight(task_id, -1);
        self.progress.on_event(&RunEvent::RequestEnded { task_id });
    }

    fn sample_answered(&self, task_id: &str) {
        self.progress.on_event(&RunEvent::SampleAnswered { task_id });
    }

    fn sample_finished(&self, finished: &FinishedSample<'_>) {
        self.progress.on_event(&RunEvent::SampleFinished(*finished));
    }

    fn task_finished(&self, task_id: &str) {
        self.progress.on_event(&RunEvent::TaskFinished { task_id });
    }
}
