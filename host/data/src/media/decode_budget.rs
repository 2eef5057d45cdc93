//! How many bytes of pixels are in memory at once.

use std::sync::{Condvar, Mutex, PoisonError};

/// A budget that threads take from and give back to.
pub(super) struct DecodeBudget {
    budget: u64,
    free: Mutex<u64>,
    returned: Condvar,
}

/// Bytes that were taken; they are given back when it is dropped.
pub(super) struct DecodePermit<'a> {
    permits: &'a DecodeBudget,
    bytes: u64,
}

impl DecodeBudget {
    pub(super) fn new(budget: u64) -> DecodeBudget {
        DecodeBudget { budget, free: Mutex::new(budget), returned: Condvar::new() }
    }

    /// Waits until so many bytes are free, and takes them. What is larger than the whole budget waits
    /// until it is alone. A thread must not take a second permit while it holds one.
    pub(super) fn take(&self, bytes: u64) -> DecodePermit<'_> {
        let bytes = bytes.min(self.budget);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.returned.wait_while(free, |free| *free < bytes).unwrap_or_else(PoisonError::into_inner);
        *free -= bytes;
        DecodePermit { permits: self, bytes }
    }
}

impl Drop for DecodePermit<'_> {
    fn drop(&mut self) {
        *self.permits.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.permits.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn the_budget_is_never_exceeded() {
        let permits = DecodeBudget::new(100);
        let (taken, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let (permits, taken, most) = (&permits, &taken, &most);
                scope.spawn(move || {
                    for round in 0..50 {
                        let bytes = (thread * 37 + round * 11) % 130;
                        let permit = permits.take(bytes);
                        let now = taken.fetch_add(permit.bytes, Ordering::SeqCst) + permit.bytes;
                        most.fetch_max(now, Ordering::SeqCst);
                        taken.fetch_sub(permit.bytes, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 100);
        assert_eq!(*permits.free.lock().expect("sound"), 100);
    }
}
