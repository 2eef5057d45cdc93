//! A component that is inspected, compiled and linked, ready to be called.

use crate::bindings::types::PluginInfo;
use crate::bindings::{http, llm, log, media, types};
use crate::call_subject::CallSubject;
use crate::capabilities::Access;
use crate::capabilities::models::Models;
use crate::host::PluginHost;
use crate::inspect::{ComponentSummary, Refusal, check_grants, inspect};
use crate::limits::Limits;
use crate::plugin_line::LineReceiver;
use crate::sandbox::{FUEL_PER_CHECK, GuestState, link_wasi};
use crate::shortage::{is_pool_full, reported, shortage_in};
use crate::slots::CallSlots;
use crate::work::{PluginWork, WorkCounter, thread_time};
use crate::world::{Capability, World};
use gage_config::{Grants, PluginLimits};
use gage_core::{Digest, ResourceShortage};
use parking_lot::RwLock;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::{HasSelf, InstancePre, Linker};
use wasmtime::{CallHook, Engine, Store, Trap};

/// Maximum number of tries to find the slots of a call in the pool. It has room for them, but the engine looks for a free
/// slot in one part of it after the other, and can miss one that another call returns meanwhile.
const MAX_POOL_TRIES: u32 = 1_000;

/// Error from loading a component.
#[derive(Clone, Debug, thiserror::Error)]
#[error("plugin '{name}': {message}")]
#[non_exhaustive]
pub struct LoadError {
    /// The plugin, as the suite names it.
    pub name: String,
    /// The problem.
    pub message: String,
    /// Advice on how to fix it.
    pub help: Option<String>,
}

impl LoadError {
    /// Creates the error of a rejected plugin.
    pub(crate) fn refused(name: &str, refusal: Refusal) -> LoadError {
        LoadError { name: name.to_owned(), message: refusal.message, help: refusal.help }
    }
}

/// Settings for running a component that differ from the defaults.
#[derive(Clone, Debug, Default)]
pub struct InstanceSetup {
    /// Name of its file in the suite, for messages; default: the component's name.
    pub source: Option<String>,
    /// Limits of the component.
    pub limits: PluginLimits,
    /// Grants of the component.
    pub grants: Grants,
    /// Load the component even if it imports interfaces that were not granted, so that it can describe
    /// itself. It cannot use those interfaces.
    pub is_only_described: bool,
    /// Receives what the component logs and prints; default: the program's log.
    pub lines: Option<LineReceiver>,
}

impl InstanceSetup {
    /// Returns the defaults for a component that a suite names by its file.
    pub(crate) fn of_file(path: &Path) -> InstanceSetup {
        InstanceSetup { source: Some(path.display().to_string()), ..InstanceSetup::default() }
    }

    /// Returns the defaults with different limits.
    pub fn with_limits(limits: PluginLimits) -> InstanceSetup {
        InstanceSetup { limits, ..InstanceSetup::default() }
    }
}

/// Description of a plugin in the record of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PluginIdentity {
    /// The component's own name.
    pub name: String,
    /// Version of the component.
    pub version: String,
    /// Digest of the bytes.
    pub digest: Digest,
    /// Version of `gage:plugin` that it was built against.
    pub wit_version: String,
    /// Limits of the plugin.
    pub limits: Limits,
}

/// A component that is ready to be instantiated.
pub(crate) struct LinkedComponent {
    pub(crate) name: String,
    pub(crate) summary: ComponentSummary,
    pub(crate) instance: InstancePre<GuestState>,
    pub(crate) limits: Limits,
    grants: Grants,
    access: RwLock<Access>,
    engine: Engine,
    /// Slots of a call in the pool; `None` if its instances are in no pool, because its calls may wait.
    slots: Option<CallSlots>,
    host: PluginHost,
    lines: Option<LineReceiver>,
}

/// Error of a call without a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallError {
    /// The guest exhausted its fuel, its time, or another budget.
    Budget(String),
    /// The guest trapped, requested too much memory, or returned an invalid result.
    Failed(String),
    /// The machine could not run the guest. The shortage was reported.
    Shortage(ResourceShortage),
}

impl CallError {
    /// Returns the error as a sentence that starts with what the plugin was doing.
    pub(crate) fn while_doing(&self, doing: &str) -> String {
        match self {
            CallError::Budget(message) => format!("it {message} while {doing}"),
            CallError::Failed(message) => format!("it failed while {doing}: {message}"),
            CallError::Shortage(shortage) => format!("it could not run while {doing}: {shortage}"),
        }
    }
}

impl LinkedComponent {
    /// Inspects, compiles and links a component of a world.
    #[tracing::instrument(name = "load_plugin", skip_all, fields(plugin = name))]
    pub(crate) fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        world: World,
        setup: &InstanceSetup,
    ) -> Result<LinkedComponent, LoadError> {
        let fail = |refusal: Refusal| LoadError::refused(name, refusal);
        let fail_with = |message: String| fail(Refusal::new(message));
        check_size(bytes.len(), Limits::of_interpreter().with(&setup.limits)).map_err(fail)?;
        let summary = inspect(bytes).map_err(fail)?;
        if summary.world != world {
            return Err(fail_with(format!("it is a {} plugin, but is used as a {world}", summary.world)));
        }
        let base = if summary.needs_wasi() { Limits::of_interpreter() } else { Limits::default() };
        let limits = base.with(&setup.limits);
        check_size(bytes.len(), limits.clone()).map_err(fail)?;
        if !setup.is_only_described {
            let source = setup.source.as_deref().unwrap_or(name);
            check_grants(&summary, &setup.grants, id_of(name), source).map_err(fail)?;
        }
        let access = Access::new(&setup.grants, &|name| host.secret(name)).map_err(fail_with)?;
        let may_wait = summary.capabilities().into_iter().any(Capability::may_wait);
        let engine = match may_wait {
            true => host.engines().waiting().map_err(fail_with)?,
            false => host.engines().pooled().clone(),
        };
        let component = host.component(&engine, name, bytes, summary.digest).map_err(fail_with)?;
        let mut linker = Linker::new(&engine);
        link(&mut linker, &summary).map_err(|error| fail_with(reported(&error)))?;
        let instance = linker
            .instantiate_pre(&component)
            .map_err(|error| fail_with(format!("it does not link: {}", reported(&error))))?;
        Ok(LinkedComponent {
            name: name.to_owned(),
            summary,
            instance,
            limits,
            grants: setup.grants.clone(),
            access: RwLock::new(access),
            engine,
            slots: (!may_wait).then(|| CallSlots::new(&component, host.slots())),
            host: host.clone(),
            lines: setup.lines.clone(),
        })
    }

    /// Sets the models of the run, as far as they are granted.
    pub(crate) fn set_models(&self, models: Arc<dyn Models>) {
        let mut access = self.access.write();
        *access = access.clone().with_models(&self.grants, models);
    }

    /// Returns its access, for calls that may use it.
    pub(crate) fn access(&self) -> Access {
        self.access.read().clone()
    }

    /// Returns its grants.
    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns the description for the record of a run, using the component's own info.
    pub(crate) fn identity(&self, info: &PluginInfo) -> PluginIdentity {
        PluginIdentity {
            name: info.name.clone(),
            version: info.version.clone(),
            digest: self.summary.digest,
            wit_version: self.summary.wit_version.clone(),
            limits: self.limits.clone(),
        }
    }

    /// Calls into a fresh instance, which is dropped afterwards. The instance has no access, so this is for
    /// calls that describe or check.
    pub(crate) fn call<R>(
        &self,
        subject: &CallSubject,
        call: impl AsyncFnMut(&mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> Result<R, CallError> {
        self.call_counted(subject, Access::default(), &WorkCounter::default(), 0, call).0
    }

    /// Calls into a fresh instance with the given access, and counts the work on some items. Waits for slots in the pool
    /// first. Returns the fuel used.
    #[tracing::instrument(name = "call_plugin", level = "debug", skip_all, fields(plugin = self.name))]
    pub(crate) fn call_counted<R>(
        &self,
        subject: &CallSubject,
        access: Access,
        counter: &WorkCounter,
        items: u64,
        mut call: impl AsyncFnMut(&mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> (Result<R, CallError>, u64) {
        // They are returned after the store is dropped.
        let _slots = self.slots.as_ref().map(CallSlots::acquire);
        let began = thread_time();
        let limits = &self.limits;
        let mut tries = 1;
        let (store, result) = loop {
            let mut store = self.store(subject, access.clone());
            let ready = if self.host.counts() { limit_work(&mut store, limits) } else { Ok(()) };
            let clock = store.data().clock();
            match ready.and_then(|()| clock.run(call(&mut store))) {
                Err(error) if is_pool_full(&error) && tries < MAX_POOL_TRIES => tries += 1,
                result => break (store, result),
            }
            drop(store);
            std::thread::yield_now();
        };
        let fuel = store.get_fuel().map_or(0, |left| limits.fuel_per_item.saturating_sub(left));
        store.data().finish();
        let result = result.map_err(|error| classify(&error, &store, limits));
        let peak_memory_bytes = limits.memory_bytes.saturating_sub(store.data().limiter.memory_left()) as u64;
        drop(store);
        let processor_time = thread_time().saturating_sub(began);
        counter.count(PluginWork { items, calls: 1, processor_time, fuel, peak_memory_bytes });
        (result, fuel)
    }

    /// Creates the store of a call, with its limits except for fuel.
    fn store(&self, subject: &CallSubject, access: Access) -> Store<GuestState> {
        let limits = &self.limits;
        let state = GuestState::new(&self.name, limits, access, subject.clone(), self.lines.clone());
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(limits.result_bytes.saturating_mul(64).max(limits.memory_bytes));
        store
    }
}

/// Gives the guest its fuel, and has its time checked after each part of it. The work of the host takes no fuel, so the
/// time is checked after each call of the host, too. If it is over then, this replaces an error of the host.
fn limit_work(store: &mut Store<GuestState>, limits: &Limits) -> wasmtime::Result<()> {
    store.call_hook(|context, hook| match hook {
        CallHook::ReturningFromHost => context.data().clock().check(),
        _ => Ok(()),
    });
    store.fuel_async_yield_interval(Some(FUEL_PER_CHECK))?;
    store.set_fuel(limits.fuel_per_item)
}

/// Suggests an id for an entry of `plugins` for this component.
fn id_of(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".wasm").unwrap_or(file)
}

fn check_size(bytes: usize, limits: Limits) -> Result<(), Refusal> {
    let most = limits.component_bytes;
    if bytes <= most {
        return Ok(());
    }
    Err(Refusal {
        message: format!("it has {bytes} bytes; at most {most} are allowed"),
        help: Some("more can be allowed under `plugins`, `limits`, `component_mib`".to_owned()),
    })
}

fn link(linker: &mut Linker<GuestState>, summary: &ComponentSummary) -> wasmtime::Result<()> {
    log::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    for capability in summary.capabilities() {
        match capability {
            Capability::Media => media::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?,
            Capability::Http => http::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?,
            Capability::Llm => llm::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?,
        }
    }
    if summary.needs_wasi() {
        link_wasi(linker)?;
    }
    Ok(())
}

fn classify(error: &wasmtime::Error, store: &Store<GuestState>, limits: &Limits) -> CallError {
    if let Some(shortage) = shortage_in(error) {
        return CallError::Shortage(shortage.report());
    }
    let state = store.data();
    if let Some(message) = &state.ended {
        return CallError::Budget(message.clone());
    }
    match (error.downcast_ref::<Trap>(), state.limiter.refused) {
        (Some(Trap::OutOfFuel), _) => {
            CallError::Budget(format!("used up its fuel of {} units", limits.fuel_per_item))
        }
        (Some(Trap::Interrupt), _) => {
            CallError::Budget(format!("did not end within {} s", limits.wall_time.as_secs_f64()))
        }
        // Allocators abort with `unreachable`; a guest with another trap has survived the refusal.
        (Some(Trap::UnreachableCodeReached) | None, Some("memory")) => {
            CallError::Failed(format!("needed more than its {} bytes of memory", limits.memory_bytes))
        }
        (Some(Trap::UnreachableCodeReached) | None, Some(what)) => {
            CallError::Failed(format!("needed more than its {} {what}", limits.table_elements))
        }
        (Some(trap), _) => CallError::Failed(trap.to_string()),
        (None, None) => {
            CallError::Failed(gage_core::printable_line(&format!("{:#}", error.root_cause())).into_owned())
        }
    }
}
