//! What surrounds a guest while it runs: the limiter of its memory, an empty WASI, and a log.

use crate::bindings::log::{self, Level};
use crate::limits::Limits;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::time::Duration;
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The seed of the random source that guests see, so that a scorer is reproducible.
const GUEST_SEED: u64 = 0;

/// Core instances, and memories and tables, that one component may have.
const MOST_INSTANCES: usize = 64;

/// The state of one store, which lives for one call.
pub(crate) struct GuestState {
    pub(crate) limiter: TotalLimiter,
    log: LogBudget,
    wasi: Option<Wasi>,
}

struct Wasi {
    context: WasiCtx,
    table: ResourceTable,
}

impl GuestState {
    pub(crate) fn new(plugin: &str, limits: &Limits, needs_wasi: bool) -> GuestState {
        GuestState {
            limiter: TotalLimiter::new(limits),
            log: LogBudget {
                plugin: plugin.to_owned(),
                lines_left: limits.log_lines,
                bytes_left: limits.log_bytes,
                dropped: 0,
            },
            wasi: needs_wasi.then(|| Wasi { context: empty_wasi(), table: ResourceTable::new() }),
        }
    }

    /// Says how many log lines were left out.
    pub(crate) fn finish(&self) {
        if self.log.dropped > 0 {
            tracing::warn!(target: "plugin", plugin = %self.log.plugin, dropped = self.log.dropped, "log lines left out");
        }
    }
}

/// No files, no environment, no arguments, no sockets, nothing on the standard streams, a clock
/// that stands still, and random numbers that are the same each time.
fn empty_wasi() -> WasiCtx {
    WasiCtx::builder()
        .wall_clock(StoppedClock)
        .monotonic_clock(StoppedClock)
        .secure_random(ChaCha8Rng::seed_from_u64(GUEST_SEED))
        .insecure_random(ChaCha8Rng::seed_from_u64(GUEST_SEED))
        .insecure_random_seed(u128::from(GUEST_SEED))
        .allow_tcp(false)
        .allow_udp(false)
        .build()
}

struct StoppedClock;

impl wasmtime_wasi::HostWallClock for StoppedClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl wasmtime_wasi::HostMonotonicClock for StoppedClock {
    fn resolution(&self) -> u64 {
        1_000_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        // Only components that import WASI are linked with it, and for them it is there.
        let wasi =
            self.wasi.get_or_insert_with(|| Wasi { context: empty_wasi(), table: ResourceTable::new() });
        WasiCtxView { ctx: &mut wasi.context, table: &mut wasi.table }
    }
}

/// Counts the memory of all memories and tables of a store together; wasmtime itself would
/// limit each of them.
pub(crate) struct TotalLimiter {
    memory_left: usize,
    elements_left: usize,
    /// What was refused, if anything was.
    pub(crate) refused: Option<&'static str>,
}

impl TotalLimiter {
    fn new(limits: &Limits) -> TotalLimiter {
        TotalLimiter { memory_left: limits.memory_bytes, elements_left: limits.table_elements, refused: None }
    }
}

impl ResourceLimiter for TotalLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match self.memory_left.checked_sub(desired.saturating_sub(current)) {
            Some(left) => {
                self.memory_left = left;
                Ok(true)
            }
            None => {
                self.refused = Some("memory");
                Ok(false)
            }
        }
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match self.elements_left.checked_sub(desired.saturating_sub(current)) {
            Some(left) => {
                self.elements_left = left;
                Ok(true)
            }
            None => {
                self.refused = Some("table elements");
                Ok(false)
            }
        }
    }

    fn instances(&self) -> usize {
        MOST_INSTANCES
    }

    fn tables(&self) -> usize {
        MOST_INSTANCES
    }

    fn memories(&self) -> usize {
        MOST_INSTANCES
    }
}

struct LogBudget {
    plugin: String,
    lines_left: usize,
    bytes_left: usize,
    dropped: usize,
}

impl log::Host for GuestState {
    fn emit(&mut self, level: Level, message: String) {
        let budget = &mut self.log;
        if budget.lines_left == 0 || budget.bytes_left < message.len() {
            budget.dropped += 1;
            return;
        }
        budget.lines_left -= 1;
        budget.bytes_left -= message.len();
        // Escaped: a terminal must not act on what a guest writes.
        let message = message.escape_debug();
        let plugin = &budget.plugin;
        match level {
            Level::Debug => tracing::debug!(target: "plugin", %plugin, "{message}"),
            Level::Info => tracing::info!(target: "plugin", %plugin, "{message}"),
            Level::Warn => tracing::warn!(target: "plugin", %plugin, "{message}"),
            Level::Error => tracing::error!(target: "plugin", %plugin, "{message}"),
        }
    }
}

impl crate::bindings::types::Host for GuestState {}
