//! The WebAssembly engine: its configuration, and the thread that counts time for running guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

/// How often the deadline of running guests is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The stack of a guest.
const STACK_BYTES: usize = 512 << 10;

/// Slots of the pool. Guests run on threads of their own, of which there are far fewer; a
/// component may be made of many core instances, each with a memory or a table.
const MAX_COMPONENTS: u32 = 128;
const MAX_CORE_INSTANCES: u32 = 1024;
/// Each slot reserves 4 GiB of addresses, and no memory.
const MAX_MEMORIES: u32 = 256;
/// The most that limits can be set to.
const MAX_TABLE_ELEMENTS: usize = 1_000_000;
/// Bytes of an instance that are cleared rather than given back to the system when it is gone.
const KEEP_BYTES: usize = 256 << 10;
/// The same where the system says which pages were written, so that no others are cleared: about what a batch
/// of a few hundred short texts takes.
const KEEP_WRITTEN_BYTES: usize = 1 << 20;

/// An engine that runs components: with a pool of instances if the system has enough addresses for it.
pub(crate) fn running_engine(counts: bool) -> Result<Engine, String> {
    let engine = Engine::new(&pooled(counts)).or_else(|_| Engine::new(&base(counts)));
    engine.map_err(|error| format!("WebAssembly engine: {error:#}"))
}

/// What compiled code depends on.
fn base(counts: bool) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(counts)
        .epoch_interruption(counts)
        .max_wasm_stack(STACK_BYTES)
        // The backtrace of a guest says nothing to the person who runs a suite.
        .wasm_backtrace_max_frames(None);
    config
}

/// With slots that are reserved once and reused, so that an instance costs microseconds. Where the
/// system does not give so many addresses, the plain strategy takes over.
fn pooled(counts: bool) -> Config {
    // Linux says from 6.7 on which pages were written.
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

/// An engine that only compiles, for a process that does nothing else.
pub(crate) fn compiling_engine() -> Result<Engine, String> {
    Engine::new(&base(true)).map_err(|error| format!("WebAssembly engine: {error:#}"))
}

/// Advances the epoch of the engine for as long as it lives.
pub(crate) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(engine: Engine) -> Result<Ticker, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("plugin-ticker".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    std::thread::park_timeout(TICK);
                    engine.increment_epoch();
                }
            })
            .map_err(|error| format!("cannot start the thread that ends guests: {error}"))?;
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
