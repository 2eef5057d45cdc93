//! Counters of a backend: requests, attempts, and retries by cause.

use crate::api::BackendErrorKind;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(super) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) attempts: AtomicU64,
    pub(super) answered: AtomicU64,
    pub(super) bytes_sent: AtomicU64,
    pub(super) bytes_received: AtomicU64,
    /// Touched only after failures.
    retries: Mutex<BTreeMap<&'static str, u64>>,
    failures: Mutex<BTreeMap<&'static str, u64>>,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, amount: usize) {
        counter.fetch_add(amount as u64, Ordering::Relaxed);
    }

    pub(super) fn count_retry(&self, kind: BackendErrorKind) {
        *self.retries.lock().entry(kind.name()).or_insert(0) += 1;
    }

    pub(super) fn count_failure(&self, kind: BackendErrorKind) {
        *self.failures.lock().entry(kind.name()).or_insert(0) += 1;
    }

    pub(super) fn statistics(&self) -> gage_core::Object {
        let number = |counter: &AtomicU64| Value::from(counter.load(Ordering::Relaxed));
        let causes = |causes: &Mutex<BTreeMap<&'static str, u64>>| json!(*causes.lock());
        gage_core::Object::from_iter([
            ("requests".to_owned(), number(&self.requests)),
            ("answered".to_owned(), number(&self.answered)),
            ("attempts".to_owned(), number(&self.attempts)),
            ("retries".to_owned(), causes(&self.retries)),
            ("failures".to_owned(), causes(&self.failures)),
            ("bytes_sent".to_owned(), number(&self.bytes_sent)),
            ("bytes_received".to_owned(), number(&self.bytes_received)),
        ])
    }
}
