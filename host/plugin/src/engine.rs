//! The WebAssembly engines and their configuration.

use crate::guest_code::GuestCode;
use crate::shortage::reported;
use crate::slots::{MAX_CORE_INSTANCES_PER_CALL, POOL_SLOTS, TABLES_PER_SLOT};
use parking_lot::Mutex;
use std::sync::Arc;
use wasmtime::{CacheStore, Config, Enabled, Engine, PoolingAllocationConfig};

/// Stack size of a guest, in bytes.
pub(crate) const STACK_BYTES: usize = 512 << 10;

/// Size of the stack of the host's functions that a guest calls, in bytes.
const HOST_STACK_BYTES: usize = 1536 << 10;

/// Maximum for the configurable limit.
const MAX_TABLE_ELEMENTS: usize = 1_000_000;
/// Bytes of an instance that are cleared rather than returned to the system when it is dropped.
const KEEP_BYTES: usize = 256 << 10;
/// Same as `KEEP_BYTES` for systems that report written pages, so that only those are cleared. A batch of a
/// few hundred short texts needs about this much.
const KEEP_WRITTEN_BYTES: usize = 1 << 20;

/// The engines that run components. Code that was compiled for one runs in both.
pub(crate) struct Engines {
    pooled: Engine,
    waiting: Mutex<Option<Engine>>,
    code: GuestCode,
}

impl Engines {
    /// Creates the engine with a pool of instances, or without one if the system lacks the address space.
    pub(crate) fn new(code: GuestCode) -> Result<Engines, String> {
        let pooled = Engine::new(&pooled(code)).or_else(|_| Engine::new(&base(code)));
        let pooled = pooled.map_err(|error| message_of(&error))?;
        Ok(Engines { pooled, waiting: Mutex::new(None), code })
    }

    /// Returns the form of compiled code.
    pub(crate) fn code(&self) -> GuestCode {
        self.code
    }

    /// Returns the engine for calls that only compute. Its instances are in the pool.
    pub(crate) fn pooled(&self) -> &Engine {
        &self.pooled
    }

    /// Returns the engine for calls that may wait for servers or models. Its instances are in no pool, so a call that
    /// waits for an hour holds nothing that other plugins need.
    pub(crate) fn waiting(&self) -> Result<Engine, String> {
        let mut waiting = self.waiting.lock();
        if let Some(engine) = &*waiting {
            return Ok(engine.clone());
        }
        let engine = Engine::new(&base(self.code)).map_err(|error| message_of(&error))?;
        *waiting = Some(engine.clone());
        Ok(engine)
    }
}

fn message_of(error: &wasmtime::Error) -> String {
    format!("WebAssembly engine: {}", reported(error))
}

/// Returns the settings that affect compiled code.
fn base(code: GuestCode) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(code != GuestCode::WithoutFuel)
        // The fuel of a bulk operation on a 64-bit table or memory can overflow the counter, and then nothing ends.
        .wasm_memory64(false)
        .max_wasm_stack(STACK_BYTES)
        // The rest is for functions of the host, which run on the same stack.
        .async_stack_size(STACK_BYTES + HOST_STACK_BYTES)
        // A guest could otherwise recognize the processor, and score differently on another.
        .cranelift_nan_canonicalization(code != GuestCode::WithoutCanonicalNan)
        .relaxed_simd_deterministic(true)
        // The backtrace of a guest does not help the user of a suite.
        .wasm_backtrace_max_frames(None);
    config
}

/// Reserves and reuses slots, so that an instance costs microseconds. If the system lacks the address space,
/// the on-demand strategy is used instead.
fn pooled(code: GuestCode) -> Config {
    // Linux reports written pages since 6.7.
    let keep =
        if PoolingAllocationConfig::is_pagemap_scan_available() { KEEP_WRITTEN_BYTES } else { KEEP_BYTES };
    let mut pool = PoolingAllocationConfig::new();
    // A memory reserves 4 GiB of address space, but no memory. Instances are only counted.
    pool.total_component_instances(POOL_SLOTS)
        .total_core_instances(POOL_SLOTS * MAX_CORE_INSTANCES_PER_CALL)
        .total_memories(POOL_SLOTS)
        .total_stacks(POOL_SLOTS)
        .total_tables(POOL_SLOTS * TABLES_PER_SLOT)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .max_tables_per_module(16)
        .max_memories_per_module(16)
        .table_elements(MAX_TABLE_ELEMENTS)
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(keep)
        .table_keep_resident(KEEP_BYTES);
    let mut config = base(code);
    config.allocation_strategy(pool);
    config
}

/// Creates an engine that only compiles, for a process that does nothing else. `is_parallel` compiles in several threads.
/// The code of functions in `functions` is not compiled again.
pub(crate) fn compiling_engine(
    is_parallel: bool,
    functions: Option<Arc<dyn CacheStore>>,
) -> Result<Engine, String> {
    let mut config = base(GuestCode::Production);
    config.parallel_compilation(is_parallel);
    if let Some(functions) = functions {
        config.enable_incremental_compilation(functions).map_err(|error| message_of(&error))?;
    }
    Engine::new(&config).map_err(|error| message_of(&error))
}
