//! Progress and cancellation of transfers, and the runtime that they run on.

use crate::StorageError;
use gage_core::{ResourceShortage, ensure_threads};
use std::cell::Cell;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// Interval at which a transfer checks for cancellation.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Number of files that are transferred at the same time.
pub(crate) const MAX_PARALLEL_FILES: usize = 4;

/// Number of files and bytes that were transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferCount {
    /// Number of whole files.
    pub files: u64,
    /// Number of bytes of these files.
    pub bytes: u64,
}

/// Shows the progress of a transfer, and may cancel it.
pub trait TransferObserver {
    /// Called after each file with the sum so far.
    fn progress(&self, count: TransferCount) {
        let _ = count;
    }

    /// Returns whether the transfer is to end. It is asked several times a second.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Shows nothing, and cancels nothing.
impl TransferObserver for () {}

/// Counts the files of a transfer.
pub(crate) struct TransferCounter<'o> {
    observer: &'o dyn TransferObserver,
    count: Cell<TransferCount>,
}

impl<'o> TransferCounter<'o> {
    pub(crate) fn new(observer: &'o dyn TransferObserver) -> TransferCounter<'o> {
        TransferCounter { observer, count: Cell::default() }
    }

    /// Counts a file.
    pub(crate) fn add(&self, bytes: u64) {
        let TransferCount { files, bytes: before } = self.count.get();
        self.count.set(TransferCount { files: files + 1, bytes: before + bytes });
        self.observer.progress(self.count.get());
    }

    /// Returns the sum.
    pub(crate) fn count(&self) -> TransferCount {
        self.count.get()
    }
}

/// Runs a transfer to its end, or until the observer cancels it.
pub(crate) fn run<T>(
    observer: &dyn TransferObserver,
    transfer: impl Future<Output = Result<T, StorageError>>,
) -> Result<T, StorageError> {
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let cancelled = async {
            while !observer.is_cancelled() {
                tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            () = cancelled => Err(StorageError::Cancelled),
            done = transfer => done,
        }
    });
    // A pending address lookup is no longer needed.
    runtime.shutdown_background();
    done
}

fn runtime() -> Result<Runtime, StorageError> {
    let failed = |error: io::Error| {
        ResourceShortage::report_in(&error);
        StorageError::Runtime(error)
    };
    if Handle::try_current().is_ok() {
        return Err(failed(io::Error::other("nothing can be transferred from asynchronous code")));
    }
    // The runtime panics without the thread that looks up names.
    ensure_threads(1).map_err(|shortage| failed(shortage.into()))?;
    Builder::new_current_thread().enable_all().build().map_err(failed)
}
