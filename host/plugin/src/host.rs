//! The plugin host: the engines and the compile cache shared by all plugins of a process.

use crate::cache::CompileCache;
use crate::engine::Engines;
use crate::guest_code::GuestCode;
use crate::host_options::HostOptions;
use crate::slots::{POOL_SLOTS, SlotQueue};
use crate::work::{MemberWork, WorkRegister};
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Compiles and runs components. Cheap to clone.
#[derive(Clone)]
pub struct PluginHost {
    engines: Arc<Engines>,
    slots: Arc<SlotQueue>,
    cache: Arc<CompileCache>,
    secret: fn(&str) -> Option<String>,
    works: Arc<WorkRegister>,
}

impl PluginHost {
    /// Sets up the engines.
    ///
    /// # Errors
    /// If the cache folder cannot be used, or the platform is not supported.
    pub fn new(options: &HostOptions) -> Result<PluginHost, String> {
        PluginHost::with_code(options, GuestCode::Production)
    }

    /// Sets up the engines for a benchmark of trusted components, which are compiled in this process and not cached.
    ///
    /// # Errors
    /// If the platform is not supported.
    pub fn for_benchmark(code: GuestCode) -> Result<PluginHost, String> {
        PluginHost::with_code(&HostOptions::default(), code)
    }

    fn with_code(options: &HostOptions, code: GuestCode) -> Result<PluginHost, String> {
        let engines = Arc::new(Engines::new(code)?);
        let cache = CompileCache::open(engines.pooled(), options)?;
        let secret = options.secret.unwrap_or(gage_core::variable);
        Ok(PluginHost {
            engines,
            slots: Arc::new(SlotQueue::new(POOL_SLOTS)),
            cache: Arc::new(cache),
            secret,
            works: Arc::default(),
        })
    }

    /// Returns what each member of a plugin has cost so far, if it was called.
    pub fn work(&self) -> Vec<MemberWork> {
        self.works.all()
    }

    pub(crate) fn works(&self) -> &WorkRegister {
        &self.works
    }

    pub(crate) fn engines(&self) -> &Engines {
        &self.engines
    }

    /// Returns the slots of the pool.
    pub(crate) fn slots(&self) -> Arc<SlotQueue> {
        Arc::clone(&self.slots)
    }

    /// Returns whether compiled code counts fuel, and calls end in time.
    pub(crate) fn counts(&self) -> bool {
        self.engines.code() != GuestCode::WithoutFuel
    }

    /// Returns whether compiled components are cached.
    pub(crate) fn has_cache(&self) -> bool {
        self.cache.is_kept()
    }

    /// Returns whether a component need not be compiled.
    pub(crate) fn is_cached(&self, digest: gage_core::Digest) -> bool {
        self.cache.has(digest)
    }

    /// Returns the value of a secret.
    pub(crate) fn secret(&self, name: &str) -> Option<String> {
        (self.secret)(name)
    }

    /// Loads a component for an engine from the cache, or compiles it.
    pub(crate) fn component(
        &self,
        engine: &Engine,
        name: &str,
        bytes: &[u8],
        digest: gage_core::Digest,
    ) -> Result<Component, String> {
        self.cache.component(engine, name, bytes, digest)
    }
}
