//! A component on its way to being called: inspected, compiled, linked.

use crate::bindings::log;
use crate::bindings::types::PluginInfo;
use crate::host::{PluginHost, TICK};
use crate::inspect::{ComponentSummary, World, inspect};
use crate::limits::Limits;
use crate::sandbox::GuestState;
use gage_core::Digest;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Store, Trap};

/// Why a component cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("plugin '{name}': {message}")]
#[non_exhaustive]
pub struct LoadError {
    /// The plugin, as the suite names it.
    pub name: String,
    /// What is wrong.
    pub message: String,
}

/// What a record of a run says about a plugin.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PluginIdentity {
    /// The component's own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// The version of `gage:plugin` that it was built against.
    pub wit_version: String,
}

/// A component that is ready to be instantiated.
pub(crate) struct Linked {
    pub(crate) name: String,
    pub(crate) summary: ComponentSummary,
    pub(crate) instance: InstancePre<GuestState>,
    pub(crate) limits: Limits,
    host: PluginHost,
}

/// Why a call did not give a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallError {
    /// The guest used up its fuel, or its time.
    Budget(String),
    /// The guest trapped, wanted too much memory, or returned something that is not allowed.
    Failed(String),
}

impl Linked {
    /// Inspects, compiles and links a component of a world.
    pub(crate) fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        world: World,
        limits: &Limits,
    ) -> Result<Linked, LoadError> {
        let fail = |message: String| LoadError { name: name.to_owned(), message };
        let summary = inspect(bytes, limits.component_bytes).map_err(fail)?;
        if summary.world != world {
            let (found, wanted) = (summary.world.interface(), world.interface());
            return Err(fail(format!("it is a {found} plugin, but is used as a {wanted}")));
        }
        let component = Component::from_binary(host.engine(), bytes)
            .map_err(|error| fail(format!("it does not compile: {error:#}")))?;
        let mut linker = Linker::new(host.engine());
        link(&mut linker, summary.needs_wasi()).map_err(|error| fail(format!("{error:#}")))?;
        let instance = linker
            .instantiate_pre(&component)
            .map_err(|error| fail(format!("it does not link: {error:#}")))?;
        Ok(Linked { name: name.to_owned(), summary, instance, limits: limits.clone(), host: host.clone() })
    }

    /// What a record of a run says about the component, which says the rest of itself.
    pub(crate) fn identity(&self, info: PluginInfo) -> PluginIdentity {
        PluginIdentity {
            name: info.name,
            version: info.version,
            digest: self.summary.digest,
            wit_version: self.summary.wit_version.clone(),
        }
    }

    /// Calls into a fresh instance, which is gone afterwards.
    pub(crate) fn call<R>(
        &self,
        call: impl FnOnce(&mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> Result<R, CallError> {
        let limits = &self.limits;
        let state = GuestState::new(&self.name, limits, self.summary.needs_wasi());
        let mut store = Store::new(self.host.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(limits.result_bytes.saturating_mul(64).max(limits.memory_bytes));
        // The tick under way may end at once, so one more is given.
        let ticks = limits.wall_time.as_millis().div_ceil(TICK.as_millis()) + 1;
        store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX));
        let result = store.set_fuel(limits.fuel_per_item).and_then(|()| call(&mut store));
        store.data().finish();
        result.map_err(|error| classify(&error, &store, limits))
    }
}

fn link(linker: &mut Linker<GuestState>, needs_wasi: bool) -> wasmtime::Result<()> {
    log::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    crate::bindings::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    if needs_wasi {
        wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    }
    Ok(())
}

fn classify(error: &wasmtime::Error, store: &Store<GuestState>, limits: &Limits) -> CallError {
    let refused = store.data().limiter.refused;
    match (error.downcast_ref::<Trap>(), refused) {
        (Some(Trap::OutOfFuel), _) => {
            CallError::Budget(format!("used up its fuel of {} units", limits.fuel_per_item))
        }
        (Some(Trap::Interrupt), _) => {
            CallError::Budget(format!("did not end within {} s", limits.wall_time.as_secs_f64()))
        }
        (_, Some("memory")) => {
            CallError::Failed(format!("wanted more than its {} bytes of memory", limits.memory_bytes))
        }
        (_, Some(what)) => {
            CallError::Failed(format!("wanted more than its {} {what}", limits.table_elements))
        }
        (Some(trap), None) => CallError::Failed(trap.to_string()),
        (None, None) => CallError::Failed(format!("{:#}", error.root_cause())),
    }
}
