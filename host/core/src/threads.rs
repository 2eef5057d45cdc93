//! Threads with names, by which the system's tools tell where the time goes.

use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Spawns a thread in a scope as [`Scope::spawn`] does, under a name of at most 15 bytes.
///
/// # Panics
/// When the machine has no thread left, as [`Scope::spawn`].
pub fn spawn_named<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let spawned = Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    spawned.unwrap_or_else(|error| std::panic::resume_unwind(Box::new(error)))
}
