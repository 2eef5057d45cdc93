//! Long searches leave the async runtime, so that its other tasks continue: timers, signals, and other requests.

use gage_core::Object;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Maximum size of a text that is searched on a thread of the async runtime, in bytes.
const MAX_RUNTIME_BYTES: usize = 64 << 10;

/// Runs a search of some bytes. If they are many, the tasks of this thread of the runtime move to another one first.
pub(crate) fn off_runtime<R>(bytes: usize, search: impl FnOnce() -> R) -> R {
    // Outside of a runtime there are no tasks, and one with a single thread has no other.
    let has_other_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    match bytes > MAX_RUNTIME_BYTES && has_other_threads() {
        true => block_in_place(search),
        false => search(),
    }
}

/// Returns the size of a value's texts, names and numbers. Stops counting when they are many.
pub(crate) fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => sum_until_many(items.iter().map(bytes_of)),
        Value::Object(object) => bytes_of_object(object),
        _ => 1,
    }
}

/// Like [`bytes_of`], for an object.
pub(crate) fn bytes_of_object(object: &Object) -> usize {
    sum_until_many(object.iter().map(|(name, value)| name.len() + bytes_of(value)))
}

fn sum_until_many(sizes: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0;
    for size in sizes {
        sum += size;
        if sum > MAX_RUNTIME_BYTES {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::mpsc;
    use std::time::Duration;

    /// Returns whether another task of a runtime with one thread runs during a search of some bytes.
    fn another_task_runs_during(bytes: usize, patience: Duration) -> bool {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        let (sender, receiver) = mpsc::channel();
        let searching = runtime.spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            off_runtime(bytes, || receiver.recv_timeout(patience).is_ok())
        });
        runtime.block_on(searching).expect("no panic")
    }

    #[test]
    fn other_tasks_run_during_a_long_search() {
        assert!(another_task_runs_during(MAX_RUNTIME_BYTES + 1, Duration::from_secs(60)));
        // A short search keeps the only thread.
        assert!(!another_task_runs_during(MAX_RUNTIME_BYTES, Duration::from_millis(1)));
    }

    #[test]
    fn long_searches_run_in_every_context() {
        let search = || off_runtime(MAX_RUNTIME_BYTES + 1, || 7);
        assert_eq!(search(), 7);
        let single = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(single.block_on(async { search() }), 7);
        let many = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        assert_eq!(many.block_on(async { search() }), 7);
        let blocking = many.block_on(async { tokio::task::spawn_blocking(search).await });
        assert_eq!(blocking.expect("no panic"), 7);
    }

    #[test]
    fn all_texts_of_a_value_count() {
        assert_eq!(bytes_of(&json!({"ab": ["c", 1.5, null], "d": {"e": "fgh"}})), 2 + 1 + 1 + 1 + 1 + 1 + 3);
        let many = json!(vec!["x".repeat(100); 10_000]);
        assert!(bytes_of(&many) > MAX_RUNTIME_BYTES && bytes_of(&many) < 2 * MAX_RUNTIME_BYTES);
    }
}
