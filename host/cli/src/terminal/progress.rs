//! Progress of a run on the standard error stream: fixed lines on a terminal, occasional lines elsewhere, or JSON for
//! machines.
//!
//! The threads of a run only count; a separate thread draws a few times per second.

mod layout;
mod machine;
mod pace;
mod painter;
mod servers;
mod tally;
mod total_lines;
mod totals;
mod view;

use gage_backend::HttpHosts;
use gage_runner::{ConcurrencyLimit, RunEvent};
use painter::Painter;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use tally::TaskTally;
use totals::RunTotals;
pub(crate) use view::{print_around_view, stderr_around_view};

/// Display mode for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressKind {
    /// `live` on a terminal, else `plain`.
    Auto,
    /// A line for each task that runs, which stays in its place.
    Live,
    /// A line for each task that runs, every few seconds; none for a run that is done before.
    Plain,
    /// One JSON object per line, every second and when a task starts or ends.
    Json,
    /// No progress.
    None,
}

impl ProgressKind {
    /// Returns the actual kind: `None` if the user wants quiet.
    fn settle(self, quiet: bool) -> ProgressKind {
        match self {
            _ if quiet => ProgressKind::None,
            ProgressKind::Auto if view::is_possible() => ProgressKind::Live,
            ProgressKind::Auto => ProgressKind::Plain,
            other => other,
        }
    }
}

/// Counts events, and displays them.
pub(crate) struct TerminalProgress {
    tasks: Arc<Tasks>,
    totals: Arc<RunTotals>,
    /// The limits of the suite that hold tasks below the concurrency of the run.
    limits: Vec<ConcurrencyLimit>,
    painter: Mutex<Option<Painter>>,
    is_shown: bool,
}

/// Tasks that have started.
type Tasks = RwLock<Vec<Arc<TaskTally>>>;

impl TerminalProgress {
    /// Starts to display. `view` is the address of the viewer, or the command that starts it.
    pub(crate) fn new(
        kind: ProgressKind,
        quiet: bool,
        servers: HttpHosts,
        limits: &[ConcurrencyLimit],
        view: String,
    ) -> TerminalProgress {
        let (tasks, totals) = (Arc::new(Tasks::default()), Arc::new(RunTotals::new(view)));
        let painter = Painter::start(kind.settle(quiet), Arc::clone(&tasks), servers, Arc::clone(&totals));
        let (is_shown, limits) = (painter.is_some(), limits.to_vec());
        TerminalProgress { tasks, totals, limits, is_shown, painter: Mutex::new(painter) }
    }

    /// Shows the final state, and stops.
    fn finish(&self) {
        let painter = self.painter.lock().take();
        drop(painter);
    }

    fn with(&self, task_id: &str, count: impl FnOnce(&TaskTally)) {
        if self.is_shown {
            let tasks = self.tasks.read();
            if let Some(task) = tasks.iter().rev().find(|task| task.task_id() == task_id) {
                count(task);
            }
        }
    }

    fn wake(&self) {
        if let Some(painter) = &*self.painter.lock() {
            painter.wake();
        }
    }
}

impl TerminalProgress {
    /// Counts an event of a run.
    pub(crate) fn on_event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::TaskStarted { task_id, total, done, mean } if self.is_shown => {
                let limits = self.limits.iter().filter(|limit| limit.task_id == *task_id);
                let limits = limits.cloned().collect();
                let task = TaskTally::new(task_id, *total, *done, *mean).with_limits(limits);
                self.tasks.write().push(Arc::new(task));
                self.wake();
            }
            RunEvent::RequestBegan { task_id } => self.with(task_id, |task| task.in_flight(1)),
            RunEvent::RequestEnded { task_id } => self.with(task_id, |task| task.in_flight(-1)),
            RunEvent::SampleAnswered { task_id } => self.with(task_id, TaskTally::answered),
            RunEvent::FiguresSoFar { task_id, figures } => {
                self.with(task_id, |task| task.figures_so_far(figures));
            }
            RunEvent::UsageCounted { usage } if self.is_shown => self.totals.count_usage(usage),
            RunEvent::SampleFinished(finished) => {
                self.with(finished.task_id, |task| task.finished(finished));
                if self.is_shown {
                    self.totals.finished(finished);
                }
            }
            RunEvent::TaskFinished { task_id } => {
                self.with(task_id, TaskTally::end);
                self.wake();
            }
            RunEvent::TasksEnded => self.finish(),
            _ => {}
        }
    }
}
