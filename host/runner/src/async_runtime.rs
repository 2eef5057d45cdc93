//! The async runtime that requests run on.

use crate::RunnerError;
use gage_core::ensure_threads;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Time that an idle thread for blocking work is kept: longer than any run. Without such a thread, the runtime panics if the
/// machine has no thread for blocking work.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Starts an async runtime, after a check that its threads and `more_threads` can run. Without them, the runtime itself would
/// hang.
///
/// # Errors
/// If the machine has too few threads or file descriptors.
pub fn start_runtime(more_threads: usize) -> Result<Runtime, RunnerError> {
    let fail = |source: io::Error| RunnerError::io("cannot start the async runtime", source);
    let workers = cores();
    // One more for blocking work.
    ensure_threads(workers + 1 + more_threads).map_err(|shortage| fail(shortage.into()))?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .enable_all()
        .build()
        .map_err(fail)?;
    drop(runtime.spawn_blocking(|| {}));
    Ok(runtime)
}

/// Returns the number of cores available to this process.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
