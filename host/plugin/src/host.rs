//! The engine that all plugins of a process share.

use crate::cache;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wasmtime::{Config, Engine};

/// How often the deadline of running guests is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The stack of a guest.
const STACK_BYTES: usize = 512 << 10;

/// How a [`PluginHost`] is set up.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// Where compiled components are kept; without it each process compiles anew.
    pub cache_folder: Option<PathBuf>,
}

/// Compiles and runs components. Cheap to clone.
#[derive(Clone)]
pub struct PluginHost {
    engine: Engine,
    _ticker: Arc<Ticker>,
}

impl PluginHost {
    /// Sets up the engine and starts the thread that counts time for running guests.
    ///
    /// # Errors
    /// When the cache folder cannot be used, or the platform is not supported.
    pub fn new(options: &HostOptions) -> Result<PluginHost, String> {
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .consume_fuel(true)
            .epoch_interruption(true)
            .max_wasm_stack(STACK_BYTES)
            // The backtrace of a guest says nothing to the person who runs a suite.
            .wasm_backtrace_max_frames(None);
        if let Some(folder) = &options.cache_folder {
            config.cache(Some(cache::open(folder)?));
        }
        let engine = Engine::new(&config).map_err(|error| format!("WebAssembly engine: {error:#}"))?;
        let ticker = Ticker::start(engine.clone())?;
        Ok(PluginHost { engine, _ticker: Arc::new(ticker) })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
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
