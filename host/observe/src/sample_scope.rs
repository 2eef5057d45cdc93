//! The sample that the current work is about, for log lines.
//!
//! A span of `tracing` for each sample would cost more than the rest of its bookkeeping: each layer formats the fields, and
//! keeps them in a registry. This scope costs two stores whenever the work is polled.

use std::sync::Arc;

tokio::task_local! {
    static CURRENT: SampleScope;
}

/// A sample and its task. Log lines of the work in its scope name both.
#[derive(Clone, Debug)]
pub struct SampleScope {
    pub(crate) task_id: Arc<str>,
    pub(crate) sample_id: Box<str>,
}

impl SampleScope {
    /// Returns the scope of a sample.
    pub fn new(task_id: &Arc<str>, sample_id: &str) -> SampleScope {
        SampleScope { task_id: Arc::clone(task_id), sample_id: sample_id.into() }
    }

    /// Returns the scope of the current work, to be carried to another thread.
    pub fn current() -> Option<SampleScope> {
        CURRENT.try_with(SampleScope::clone).ok()
    }

    /// Returns the work in this scope.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }
}

/// Calls a function in a scope, if there is one.
pub fn in_sample_scope<T>(scope: Option<SampleScope>, call: impl FnOnce() -> T) -> T {
    match scope {
        Some(scope) => CURRENT.sync_scope(scope, call),
        None => call(),
    }
}

/// Calls a function with the scope of the current work, if there is one.
pub(crate) fn with_current<T>(read: impl FnOnce(&SampleScope) -> T) -> Option<T> {
    CURRENT.try_with(read).ok()
}
