//! The time of a call.

use parking_lot::Mutex;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use wasmtime::Trap;

/// Fuel after which a guest stops, so that its time is checked. A guest uses it in about a tenth of a millisecond, or in up
/// to a second with the slowest code that is known: loops that move tens of thousands of variables.
pub(crate) const FUEL_PER_CHECK: u64 = 100_000;

/// The time of a call, without its waits for granted requests. It is checked each time that the guest stops, and after
/// each call of the host.
pub(crate) struct CallClock {
    began: Instant,
    wall_time: Duration,
    waited: Mutex<Duration>,
}

impl CallClock {
    /// Starts now.
    pub(super) fn start(wall_time: Duration) -> CallClock {
        CallClock { began: Instant::now(), wall_time, waited: Mutex::default() }
    }

    /// Adds a wait, which does not count against the guest.
    pub(super) fn add_wait(&self, time: Duration) {
        *self.waited.lock() += time;
    }

    /// Checks the time.
    ///
    /// # Errors
    /// [`Trap::Interrupt`] if it is over.
    pub(crate) fn check(&self) -> wasmtime::Result<()> {
        let time = self.began.elapsed().saturating_sub(*self.waited.lock());
        if time > self.wall_time { Err(Trap::Interrupt.into()) } else { Ok(()) }
    }

    /// Runs a guest on this thread until it ends or its time is over. The guest must stop each time that it has used
    /// [`FUEL_PER_CHECK`].
    ///
    /// # Errors
    /// Those of the guest, and [`Trap::Interrupt`] if its time is over.
    pub(crate) fn run<R>(&self, guest: impl Future<Output = wasmtime::Result<R>>) -> wasmtime::Result<R> {
        let mut guest = pin!(guest);
        // A guest that stops is always ready to go on, so nothing wakes it.
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match guest.as_mut().poll(&mut context) {
                Poll::Ready(result) => return result,
                Poll::Pending => self.check()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, poll_fn, ready};

    #[test]
    fn guest_runs_until_it_ends_or_its_time_is_over() {
        let clock = CallClock::start(Duration::MAX);
        assert_eq!(clock.run(ready(wasmtime::Result::Ok(7))).ok(), Some(7));
        let mut checks = 0;
        let ended = clock.run(poll_fn(|_| {
            checks += 1;
            if checks < 5 { Poll::Pending } else { Poll::Ready(wasmtime::Result::Ok(checks)) }
        }));
        assert_eq!(ended.ok(), Some(5));
        let over = CallClock::start(Duration::ZERO).run(pending::<wasmtime::Result<()>>());
        assert_eq!(over.unwrap_err().downcast_ref(), Some(&Trap::Interrupt));
    }

    #[test]
    fn waits_do_not_count() {
        let clock = CallClock::start(Duration::ZERO);
        clock.add_wait(Duration::MAX / 2);
        assert!(clock.check().is_ok());
    }
}
