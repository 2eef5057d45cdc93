//! The engine that all plugins of a process share.

use crate::cache::CompileCache;
use crate::compile::{CompileLimits, CompileProgress, ComponentCompiler};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wasmtime::component::Component;
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

/// How a [`PluginHost`] is set up.
#[derive(Clone, Default)]
pub struct HostOptions {
    /// Where compiled components are kept; without it each process compiles anew.
    pub cache_folder: Option<PathBuf>,
    /// Who compiles.
    pub compiler: ComponentCompiler,
    /// How much a compilation may use.
    pub compile_limits: CompileLimits,
    /// Compiles code that counts neither fuel nor time, to measure what counting costs; nothing ends
    /// a guest then, so this is for components that are trusted. Default no.
    pub uncounted: bool,
    /// The value of a granted secret, by name; default: the environment variable.
    pub secret: Option<fn(&str) -> Option<String>>,
    /// Told how a compilation goes.
    pub on_compile: Option<Arc<dyn Fn(CompileProgress<'_>) + Send + Sync>>,
}

/// Compiles and runs components. Cheap to clone.
#[derive(Clone)]
pub struct PluginHost {
    engine: Engine,
    cache: Arc<CompileCache>,
    secret: fn(&str) -> Option<String>,
    counts: bool,
    _ticker: Arc<Ticker>,
}

impl PluginHost {
    /// Sets up the engine and starts the thread that counts time for running guests.
    ///
    /// # Errors
    /// When the cache folder cannot be used, or the platform is not supported.
    pub fn new(options: &HostOptions) -> Result<PluginHost, String> {
        let counts = !options.uncounted;
        let engine = Engine::new(&pooled(counts)).or_else(|_| Engine::new(&base(counts)));
        let engine = engine.map_err(|error| format!("WebAssembly engine: {error:#}"))?;
        let cache = CompileCache::open(&engine, options)?;
        let ticker = Ticker::start(engine.clone())?;
        let secret = options.secret.unwrap_or(|name| std::env::var(name).ok());
        Ok(PluginHost { engine, cache: Arc::new(cache), secret, counts, _ticker: Arc::new(ticker) })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether its code counts fuel and time.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    /// Whether compiled components are kept.
    pub(crate) fn has_cache(&self) -> bool {
        self.cache.is_kept()
    }

    /// Compiles a component whether or not it is in the cache, and keeps nothing.
    pub(crate) fn compile_anew(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        self.cache.compile(&self.engine, name, bytes).map(drop)
    }

    /// The value of a secret.
    pub(crate) fn secret(&self, name: &str) -> Option<String> {
        (self.secret)(name)
    }

    /// Takes a component from the cache, or compiles it.
    pub(crate) fn component(
        &self,
        name: &str,
        bytes: &[u8],
        digest: gage_core::Digest,
    ) -> Result<Component, String> {
        self.cache.component(&self.engine, name, bytes, digest)
    }
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
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: Engine) -> Result<Ticker, String> {
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
