//! The sandbox of a running guest: the memory limiter, the host's interfaces with their budgets, and an empty
//! WASI.

mod call_clock;
mod guest_log;
mod host_fuel;
mod imports;
mod print_stream;
mod wasi;

use crate::call_subject::CallSubject;
use crate::capabilities::Access;
use crate::limits::Limits;
use crate::plugin_line::LineReceiver;
use crate::shortage::shortage_in;
use crate::slots::{MAX_CORE_INSTANCES_PER_CALL, MAX_SLOTS_PER_CALL, MAX_TABLES_PER_CALL};
pub(crate) use call_clock::{CallClock, FUEL_PER_CHECK};
use guest_log::GuestLog;
use host_fuel::HostFuel;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasi::Wasi;
pub(crate) use wasi::link as link_wasi;
use wasmtime::ResourceLimiter;

/// State of one store, which lives for one call.
pub struct GuestState {
    pub(crate) limiter: TotalLimiter,
    log: Arc<Mutex<GuestLog>>,
    host_calls_left: u64,
    host_fuel: HostFuel,
    /// Reason why the host ended the guest, if it did.
    pub(crate) ended: Option<String>,
    clock: Arc<CallClock>,
    may_wait: Duration,
    access: Access,
    wasi: Option<Wasi>,
}

impl GuestState {
    pub(crate) fn new(
        plugin: &str,
        limits: &Limits,
        access: Access,
        subject: CallSubject,
        lines: Option<LineReceiver>,
    ) -> GuestState {
        GuestState {
            limiter: TotalLimiter::new(limits),
            log: Arc::new(Mutex::new(GuestLog::new(plugin, subject, lines, limits))),
            host_calls_left: limits.host_calls,
            host_fuel: HostFuel::new(limits.fuel_per_item),
            ended: None,
            clock: Arc::new(CallClock::start(limits.wall_time)),
            may_wait: limits.wait_time,
            access,
            wasi: None,
        }
    }

    /// Logs printed lines that have no end, and the number of omitted log lines.
    pub(crate) fn finish(&self) {
        if let Some(wasi) = &self.wasi {
            wasi.finish();
        }
        self.log.lock().finish();
    }

    /// Counts a host call, and ends the guest if there were too many.
    fn count_call(&mut self) -> wasmtime::Result<()> {
        match self.host_calls_left.checked_sub(1) {
            Some(left) => {
                self.host_calls_left = left;
                Ok(())
            }
            None => Err(self.end("called the host too often")),
        }
    }

    /// Ends the guest because it exhausted a budget.
    fn end(&mut self, message: &str) -> wasmtime::Error {
        self.ended = Some(message.to_owned());
        wasmtime::Error::msg(message.to_owned())
    }

    /// Runs an operation that may take long and does not count against the guest's time. `work` receives the
    /// maximum duration.
    fn wait<R>(&mut self, work: impl FnOnce(&Access, Duration) -> R) -> wasmtime::Result<R> {
        if self.may_wait.is_zero() {
            return Err(self.end("waited for requests too long"));
        }
        let began = Instant::now();
        let result = work(&self.access, self.may_wait);
        let elapsed = began.elapsed();
        self.clock.add_wait(elapsed);
        self.may_wait = self.may_wait.saturating_sub(elapsed);
        Ok(result)
    }

    /// Returns the clock of the call.
    pub(crate) fn clock(&self) -> Arc<CallClock> {
        Arc::clone(&self.clock)
    }
}

/// Limits the combined size of all memories and tables of a store. wasmtime itself would limit each of them.
pub(crate) struct TotalLimiter {
    memory_left: usize,
    elements_left: usize,
    /// The refused resource, if any.
    pub(crate) refused: Option<&'static str>,
}

impl TotalLimiter {
    fn new(limits: &Limits) -> TotalLimiter {
        TotalLimiter { memory_left: limits.memory_bytes, elements_left: limits.table_elements, refused: None }
    }

    /// Returns how much more memory may be taken, in bytes. Memory is never given back.
    pub(crate) fn memory_left(&self) -> usize {
        self.memory_left
    }

    /// Takes some of the remaining amount, or records that there is not enough.
    fn take(&mut self, what: &'static str, left: fn(&mut TotalLimiter) -> &mut usize, more: usize) -> bool {
        let left = left(self);
        let Some(rest) = left.checked_sub(more) else {
            self.refused = Some(what);
            return false;
        };
        *left = rest;
        true
    }
}

impl ResourceLimiter for TotalLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.take("memory", |limiter| &mut limiter.memory_left, desired.saturating_sub(current)))
    }

    /// Ends the guest if the machine has no more memory: it would take that for its own limit.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        if shortage_in(&error).is_some() { Err(error) } else { Ok(()) }
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.take("table elements", |limiter| &mut limiter.elements_left, desired.saturating_sub(current)))
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES_PER_CALL as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES_PER_CALL as usize
    }

    fn memories(&self) -> usize {
        MAX_SLOTS_PER_CALL as usize
    }
}
