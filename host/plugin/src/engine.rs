//! The WebAssembly engine: its configuration, and the thread that advances time for running guests.

use crate::shortage::reported;
use gage_core::spawn_thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

/// Interval at which the deadlines of running guests are checked.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Stack size of a guest, in bytes.
const STACK_BYTES: usize = 512 << 10;

/// Number of slots in the pool. Guests run on their own threads, and there are far fewer threads than
/// slots. A component may consist of many core instances, each with a memory or a table.
const MAX_COMPONENTS: u32 = 128;
const MAX_CORE_INSTANCES: u32 = 1024;
/// Each slot reserves 4 GiB of address space, but no memory.
const MAX_MEMORIES: u32 = 256;
/// Maximum for the configurable limit.
const MAX_TABLE_ELEMENTS: usize = 1_000_000;
/// Bytes of an instance that are cleared rather than returned to the system when it is dropped.
const KEEP_BYTES: usize = 256 << 10;
/// Same as `KEEP_BYTES` for systems that report written pages, so that only those are cleared. A batch of a
/// few hundred short texts needs about this much.
const KEEP_WRITTEN_BYTES: usize = 1 << 20;

/// Creates an engine that runs components, with a pool of instances if the system has enough address space.
pub(crate) fn running_engine(counts: bool) -> Result<Engine, String> {
    let engine = Engine::new(&pooled(counts)).or_else(|_| Engine::new(&base(counts)));
    engine.map_err(|error| format!("WebAssembly engine: {}", reported(&error)))
}

/// Returns the settings that affect compiled code.
fn base(counts: bool) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(counts)
        .epoch_interruption(counts)
        .max_wasm_stack(STACK_BYTES)
        // The backtrace of a guest does not help the user of a suite.
        .wasm_backtrace_max_frames(None);
    config
}

/// Reserves and reuses slots, so that an instance costs microseconds. If the system lacks the address space,
/// the on-demand strategy is used instead.
fn pooled(counts: bool) -> Config {
    // Linux reports written pages since 6.7.
    let keep =
        if PoolingAllocationConfig::is_pagemap_scan_available() { KEEP_WRITTEN_BYTES } else { KEEP_BYTES };
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(MAX_COMPONENTS)
        .total_core_instances(MAX_CORE_INSTANCES)
        .total_memories(MAX_MEMORIES)
        .total_tables(MAX_CORE_INSTANCES)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .max_tables_per_module(16)
        .max_memories_per_module(16)
        .table_elements(MAX_TABLE_ELEMENTS)
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(keep)
        .table_keep_resident(KEEP_BYTES);
    let mut config = base(counts);
    config.allocation_strategy(pool);
    config
}

/// Creates an engine that only compiles, for a process that does nothing else. `is_parallel` compiles in several threads.
pub(crate) fn compiling_engine(is_parallel: bool) -> Result<Engine, String> {
    let mut config = base(true);
    config.parallel_compilation(is_parallel);
    Engine::new(&config).map_err(|error| format!("WebAssembly engine: {}", reported(&error)))
}

/// Advances the engine's epoch until dropped.
pub(crate) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(engine: Engine) -> Result<Ticker, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = spawn_thread("plugin-ticker", move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(TICK);
                engine.increment_epoch();
            }
        });
        let thread = thread.map_err(|shortage| shortage.report().to_string())?;
        Ok(Ticker { stop, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
