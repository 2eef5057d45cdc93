//! `gage-host plugin test --watch`: tests again whenever a file changes.

use crate::commands::signals;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{ResourceShortage, spawn_thread};
use gage_plugin_tools::{WatchPause, WatchedFiles, wait_for_change};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Interval at which the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// Runs a test, and again after each change, until a signal. `test` receives a flag that the signal sets. An error of the
/// plugin, which was printed, does not end it.
pub(super) fn watch(
    files: &WatchedFiles,
    mut test: impl FnMut(&Arc<AtomicBool>) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut pause = SignalPause { signal: listen(Arc::clone(&stop))? };
    repeat(files, &mut pause, || {
        terminal::clear_screen();
        let result = test(&stop).map(drop);
        terminal::eprint_line("watching the files; Ctrl-C ends");
        result
    })?;
    Ok(ExitCode::Done)
}

/// Repeats a step after each change, until the pauses end.
fn repeat(
    files: &WatchedFiles,
    pause: &mut dyn WatchPause,
    mut step: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    loop {
        // A change during the step is followed by another step.
        let seen = files.states();
        match step() {
            Err(error) if !error.is::<ExitCode>() => return Err(error),
            _ => {}
        }
        if !wait_for_change(files, &seen, pause) {
            return Ok(());
        }
    }
}

/// Pauses that end at a signal.
struct SignalPause {
    signal: Receiver<()>,
}

impl WatchPause for SignalPause {
    fn pause(&mut self) -> bool {
        matches!(self.signal.recv_timeout(LOOK_INTERVAL), Err(RecvTimeoutError::Timeout))
    }
}

/// Listens for a signal on a thread of its own, which sets the flag and disconnects the receiver.
pub(super) fn listen(stop: Arc<AtomicBool>) -> anyhow::Result<Receiver<()>> {
    let (sender, receiver) = channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wait = move || {
        runtime.block_on(async { signals::signal().await });
        stop.store(true, Ordering::Relaxed);
        drop(sender);
    };
    spawn_thread("signals", wait).map_err(ResourceShortage::report)?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::path::Path;

    /// Changes a file in the first pauses.
    struct Changes<'f>(&'f Path, usize);

    impl WatchPause for Changes<'_> {
        fn pause(&mut self) -> bool {
            if self.1 == 0 {
                return false;
            }
            self.1 -= 1;
            // Two pauses per change: the second one sees that the file is complete.
            if self.1 % 2 == 1 {
                std::fs::write(self.0, "x".repeat(self.1)).expect("written");
            }
            true
        }
    }

    #[test]
    fn each_change_is_followed_by_a_step() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("plugin.py");
        let files = WatchedFiles::new(vec![file.clone()]);
        let steps = Cell::new(0);
        let step = || {
            steps.set(steps.get() + 1);
            // A test that fails is repeated as well.
            if steps.get() == 2 { Err(ExitCode::Configuration.into()) } else { Ok(()) }
        };
        repeat(&files, &mut Changes(&file, 6), step).expect("it ends");
        assert_eq!(steps.get(), 4);
        let fault = || Err(anyhow::anyhow!("the machine"));
        assert!(repeat(&files, &mut Changes(&file, 6), fault).is_err());
    }
}
