//! Budget of bytes that decoded pixels may occupy at one time.

use parking_lot::{Condvar, Mutex};

/// Budget that threads acquire bytes from and release them to.
pub(super) struct DecodeBudget {
    budget: u64,
    free: Mutex<u64>,
    released: Condvar,
}

/// Acquired bytes, released on drop.
pub(super) struct DecodePermit<'a> {
    budget: &'a DecodeBudget,
    bytes: u64,
}

impl DecodeBudget {
    pub(super) fn new(budget: u64) -> DecodeBudget {
        DecodeBudget { budget, free: Mutex::new(budget), released: Condvar::new() }
    }

    /// Waits until `bytes` are free, and acquires them. A request for more than the whole budget waits until no other
    /// thread holds a permit. A thread must not acquire a second permit while it holds one.
    pub(super) fn acquire(&self, bytes: u64) -> DecodePermit<'_> {
        let bytes = bytes.min(self.budget);
        let mut free = self.free.lock();
        self.released.wait_while(&mut free, |free| *free < bytes);
        *free -= bytes;
        DecodePermit { budget: self, bytes }
    }
}

impl Drop for DecodePermit<'_> {
    fn drop(&mut self) {
        *self.budget.free.lock() += self.bytes;
        self.budget.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn the_budget_is_never_exceeded() {
        let budget = DecodeBudget::new(100);
        let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let (budget, held, most) = (&budget, &held, &most);
                scope.spawn(move || {
                    for round in 0..50 {
                        let bytes = (thread * 37 + round * 11) % 130;
                        let permit = budget.acquire(bytes);
                        let now = held.fetch_add(permit.bytes, Ordering::SeqCst) + permit.bytes;
                        most.fetch_max(now, Ordering::SeqCst);
                        held.fetch_sub(permit.bytes, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 100);
        assert_eq!(*budget.free.lock(), 100);
    }
}
