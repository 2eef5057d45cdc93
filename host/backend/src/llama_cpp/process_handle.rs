//! Handle of a child process, which one thread waits for and another may kill.

use parking_lot::Mutex;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// First and longest pause between two looks at a process that is about to exit.
const FIRST_EXIT_POLL: Duration = Duration::from_millis(1);
const MAX_EXIT_POLL: Duration = Duration::from_millis(20);

/// Handle of a child process. Clones share the process.
///
/// A process that has exited is never killed: its id may belong to another process by then.
#[derive(Clone, Debug)]
pub struct ProcessHandle {
    child: Arc<Mutex<Child>>,
    id: u32,
}

impl ProcessHandle {
    /// Creates the handle of a process.
    pub fn new(child: Child) -> ProcessHandle {
        let id = child.id();
        ProcessHandle { child: Arc::new(Mutex::new(child)), id }
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Kills the process, which may have exited.
    pub fn kill(&self) {
        // A `Child` whose exit status is known sends no signal.
        let _ = self.child.lock().kill();
    }

    /// Waits for the exit of the process, up to a limit. `None` if it has not exited by then.
    ///
    /// A killed process exits late if it waits for a device, and never if the device hangs.
    pub fn wait_up_to(&self, limit: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        let mut pause = FIRST_EXIT_POLL;
        loop {
            // The lock is free during the pause, so that another thread can kill the process.
            if let Ok(Some(status)) = self.child.lock().try_wait() {
                return Some(status);
            }
            let left = limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero())?;
            sleep(pause.min(left));
            pause = (pause * 2).min(MAX_EXIT_POLL);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_does_not_exit_is_waited_for_up_to_a_limit() {
        let child = Command::new("sleep").arg("3600").spawn().expect("a process");
        let process = ProcessHandle::new(child);
        assert_eq!(process.wait_up_to(Duration::ZERO), None);
        let other = process.clone();
        other.kill();
        let status = process.wait_up_to(Duration::from_secs(60)).expect("it was killed");
        assert!(!status.success());
        assert_eq!(other.wait_up_to(Duration::ZERO), Some(status), "every handle knows");
        other.kill();
    }
}
