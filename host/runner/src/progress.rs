//! Progress of a run: one event type, and one trait that receives events.

use gage_backend::HttpHosts;
use gage_config::{PipelineConfig, Problems};
use gage_data::hub::HubProgress;
use gage_engine::{ConcurrencyLimit, FigureSoFar, FinishedSample, MeanMetric, Progress, RunUsage};
use gage_observe::Observability;
use gage_plugin::CompileProgress;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// An event of a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RunEvent<'e> {
    /// The suite was read.
    SuiteRead {
        /// The configuration, or `None` if the suite has errors, which the call returns later.
        config: Option<&'e PipelineConfig>,
    },
    /// A component is being compiled, or its compilation has ended.
    Compiling(CompileProgress<'e>),
    /// A file of a dataset or a model is being downloaded.
    Fetching {
        /// The file's path on the hub.
        path: &'e str,
        /// Number of bytes on disk.
        done: u64,
        /// Size of the file, if known.
        total: Option<u64>,
    },
    /// The suite's newest unfinished run was found, and is being resumed.
    Resuming {
        /// The run folder.
        folder: &'e Path,
    },
    /// The metrics of the run are served.
    MetricsServed {
        /// The address, with its actual port.
        address: SocketAddr,
    },
    /// The suite has problems that are not errors.
    Warnings(&'e Problems),
    /// The models are about to be loaded. From now on, the token ends the run.
    Loading,
    /// The first task is about to begin.
    Started {
        /// The servers that the run will use, with their health.
        servers: &'e HttpHosts,
        /// The limits of the suite that hold tasks below the concurrency that the user set.
        limits: &'e [ConcurrencyLimit],
    },
    /// A task begins.
    TaskStarted {
        /// The task.
        task_id: &'e str,
        /// Number of its samples, if known.
        total: Option<u64>,
        /// Number of samples that an earlier process answered or finished.
        done: u64,
        /// The first metric whose figure is the mean of its scores.
        mean: Option<MeanMetric<'e>>,
    },
    /// A request to the model of a task begins, or begins again after a wait.
    RequestBegan {
        /// The task.
        task_id: &'e str,
    },
    /// A request to the model of a task succeeded or failed, or waits for a retry.
    RequestEnded {
        /// The task.
        task_id: &'e str,
    },
    /// An answer was journaled, and is not yet scored.
    SampleAnswered {
        /// The task.
        task_id: &'e str,
    },
    /// A reply was counted.
    UsageCounted {
        /// The usage of the whole run so far.
        usage: &'e RunUsage,
    },
    /// Some answers were scored for display only, because no batch of answers is complete yet.
    FiguresSoFar {
        /// The task.
        task_id: &'e str,
        /// Metrics whose figure is the mean of their scores.
        figures: &'e [FigureSoFar],
    },
    /// A sample is finished and was journaled.
    SampleFinished(FinishedSample<'e>),
    /// A task ends.
    TaskFinished {
        /// The task.
        task_id: &'e str,
    },
    /// The last task has ended; reports are written next.
    TasksEnded,
}

/// A listener for the events of a run. It is called from several threads concurrently, so it must not block.
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

/// Forwards downloads as events.
pub(crate) struct FetchEvents<'p>(pub(crate) &'p dyn RunProgress);

impl HubProgress for FetchEvents<'_> {
    fn file(&self, path: &str, done: u64, total: Option<u64>) {
        self.0.on_event(&RunEvent::Fetching { path, done, total });
    }
}

/// Forwards the engine's progress as events, and to the counters of the run.
pub(crate) struct EngineEvents {
    pub(crate) progress: Arc<dyn RunProgress>,
    /// The counters, or `None` when answers are scored again.
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
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64, mean: Option<MeanMetric<'_>>) {
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

    fn usage_counted(&self, usage: &RunUsage) {
        self.progress.on_event(&RunEvent::UsageCounted { usage });
    }

    fn figures_so_far(&self, task_id: &str, figures: &[FigureSoFar]) {
        self.progress.on_event(&RunEvent::FiguresSoFar { task_id, figures });
    }

    fn sample_finished(&self, finished: &FinishedSample<'_>) {
        self.progress.on_event(&RunEvent::SampleFinished(*finished));
    }

    fn task_finished(&self, task_id: &str) {
        self.progress.on_event(&RunEvent::TaskFinished { task_id });
    }
}
