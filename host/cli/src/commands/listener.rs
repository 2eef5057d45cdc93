//! Listener for the library's events: downloads, compilations, and the progress of a run.

use super::{signals, view_address};
use crate::arguments::ProgressArguments;
use crate::environment;
use crate::terminal::{self, CompilingLine, FetchProgress, TerminalProgress};
use gage_data::hub::HubProgress as _;
use gage_runner::{CancelToken, RunEvent, RunProgress};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Shows the library's events on the standard error stream.
pub(super) struct Listener {
    quiet: bool,
    fetching: FetchProgress,
    compiling: CompilingLine,
    run: Option<RunView>,
}

/// View of a run.
struct RunView {
    kind: terminal::ProgressKind,
    stop: CancelToken,
    /// Folder of the run folder.
    output_folder: PathBuf,
    /// True to print the metrics address, because the user does not know its port.
    prints_metrics_address: bool,
    tasks: OnceLock<TerminalProgress>,
    /// Set when signals are awaited.
    awaits_signals: OnceLock<()>,
    /// True once samples may be in flight.
    has_samples: Arc<AtomicBool>,
}

impl Listener {
    /// Creates a listener for a command that runs nothing.
    pub(super) fn new(quiet: bool) -> Listener {
        Listener {
            quiet,
            fetching: FetchProgress::new(quiet),
            compiling: CompilingLine::default(),
            run: None,
        }
    }

    /// Creates a listener for a command that shows tasks. A signal sets the token.
    pub(super) fn of_run(
        quiet: bool,
        progress: &ProgressArguments,
        stop: &CancelToken,
        output_folder: &Path,
        prints_metrics_address: bool,
    ) -> Listener {
        let run = RunView {
            kind: progress.progress,
            stop: stop.clone(),
            output_folder: output_folder.to_owned(),
            prints_metrics_address,
            tasks: OnceLock::new(),
            awaits_signals: OnceLock::new(),
            has_samples: Arc::default(),
        };
        Listener { run: Some(run), ..Listener::new(quiet) }
    }
}

impl RunProgress for Listener {
    fn on_event(&self, event: &RunEvent<'_>) {
        match (event, &self.run) {
            (RunEvent::Compiling(compiled), _) => {
                signals::end_with_line();
                if !self.quiet {
                    self.compiling.note(*compiled);
                }
            }
            (RunEvent::Fetching { path, done, total }, _) => self.fetching.file(path, *done, *total),
            (RunEvent::Warnings(problems), _) => terminal::show_problems(problems),
            (event, Some(run)) => run.on_event(event, self.quiet),
            _ => {}
        }
    }
}

impl RunView {
    /// Lets the first signal stop the run from now on.
    fn await_signals(&self) {
        if self.awaits_signals.set(()).is_ok()
            && let Err(error) = signals::stop_on_signal(self.stop.clone(), Arc::clone(&self.has_samples))
        {
            tracing::warn!(%error, "a signal will end the process at once");
        }
    }

    fn on_event(&self, event: &RunEvent<'_>, quiet: bool) {
        match event {
            RunEvent::SuiteRead { .. } => environment::warn_of_no_effect(),
            RunEvent::Resuming { folder } if !quiet => {
                terminal::eprint_line(format_args!("resuming {}", folder.display()));
            }
            RunEvent::MetricsServed { address } if self.prints_metrics_address => {
                terminal::eprint_line(format_args!("counters are at http://{address}/metrics"));
            }
            RunEvent::Loading => self.await_signals(),
            RunEvent::Started { servers, limits } => {
                self.await_signals();
                self.has_samples.store(true, Ordering::Relaxed);
                let view = view_address::address_or_command(&self.output_folder);
                let tasks = TerminalProgress::new(self.kind, quiet, (*servers).clone(), limits, view);
                let _ = self.tasks.set(tasks);
            }
            event => {
                if let Some(tasks) = self.tasks.get() {
                    tasks.on_event(event);
                }
            }
        }
    }
}
