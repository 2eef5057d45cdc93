//! Named threads, which system tools can distinguish when profiling.

use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Spawns a thread in a scope as [`Scope::spawn`] does, under a name of at most 15 bytes.
///
/// # Panics
/// If the machine has no thread left, like [`Scope::spawn`].
pub fn spawn_named<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let spawned = Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    spawned.unwrap_or_else(|error| std::panic::resume_unwind(Box::new(error)))
}
