//! Named threads, which system tools can distinguish when profiling. Every thread of the program is started here, so that a
//! machine without another thread is an error and not a panic.

use crate::resource_shortage::ResourceShortage;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Starts a thread, under a name of at most 15 bytes.
///
/// # Errors
/// If the machine has no thread or no memory left.
pub fn spawn_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ResourceShortage> {
    let spawned = Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|error| ResourceShortage::of_thread(name, &error))
}

/// Starts a thread in a scope, under a name of at most 15 bytes. If it fails, the scope still waits for the threads that were
/// started before: the caller must end them.
///
/// # Errors
/// If the machine has no thread or no memory left.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, ResourceShortage> {
    let spawned = Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    spawned.map_err(|error| ResourceShortage::of_thread(name, &error))
}
