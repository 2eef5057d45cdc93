//! Checks that the process can get more threads and file descriptors, for libraries that panic or hang without them.

use crate::resource_shortage::ResourceShortage;
use crate::threads::spawn_thread;
use std::fs::File;
use std::io;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Number of times that the end of the started threads is checked, and the time between.
const MAX_CHECKS: usize = 200;
const CHECK_INTERVAL: Duration = Duration::from_micros(500);

/// Checks that so many more threads can run at the same time, by starting them.
///
/// # Errors
/// If one cannot be started.
pub fn ensure_threads(count: usize) -> Result<(), ResourceShortage> {
    let before = running_threads();
    let started = (0..count).map(|_| {
        let (release, released) = channel::<()>();
        let thread = spawn_thread("reserve", move || released.recv().is_err())?;
        Ok((thread, release))
    });
    // Dropping a sender ends its thread.
    let started = started.collect::<Result<Vec<_>, ResourceShortage>>()?;
    for (thread, release) in started {
        drop(release);
        // The thread only waits.
        let _ = thread.join();
    }
    // A thread still counts for a moment after it was joined.
    for _ in 0..MAX_CHECKS {
        match (before, running_threads()) {
            (Some(before), Some(now)) if now > before => std::thread::sleep(CHECK_INTERVAL),
            _ => break,
        }
    }
    Ok(())
}

/// Returns the number of threads of this process, if the system tells it.
fn running_threads() -> Option<usize> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    Some(threads.count())
}

/// Checks that so many more files can be open at the same time, by opening them.
///
/// # Errors
/// If one cannot be opened.
pub fn ensure_file_descriptors(count: usize) -> Result<(), ResourceShortage> {
    let opened: io::Result<Vec<File>> = (0..count).map(|_| File::open("/dev/null")).collect();
    // A system without this file has other limits.
    let shortage = opened.err().and_then(|error| {
        let action = format!("cannot open {count} files: {error}");
        ResourceShortage::find(&error).map(|shortage| shortage.while_doing(action))
    });
    shortage.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_an_ordinary_process_suffice() {
        assert_eq!(ensure_threads(4), Ok(()));
        assert_eq!(ensure_file_descriptors(16), Ok(()));
    }
}
