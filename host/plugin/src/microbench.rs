//! Costs of components, for benchmarks. Nothing else depends on them.

use crate::batch::ItemError;
use crate::bindings::types::Item;
use crate::call_subject::CallSubject;
use crate::component::{InstanceSetup, LinkedComponent, LoadError};
use crate::host::PluginHost;
use crate::inputs::MetricItem;
use crate::inspect::inspect;
use crate::kinds::extractor::Extractor;
use crate::kinds::metric::Metric;
use std::time::{Duration, Instant};
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

/// An empty component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

/// Minimum time of one measurement round, so that the clock resolution does not matter.
const ROUND: Duration = Duration::from_millis(2);

/// Duration of an operation, measured over many rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Median round, in seconds per repetition.
    pub median: f64,
    /// Fastest round, which was least disturbed by other work on the machine.
    pub least: f64,
}

/// Repeats an operation for about the given time.
pub fn measure(time: Duration, mut work: impl FnMut()) -> Timing {
    // The first call pays for lazy initialization.
    work();
    let mut repetitions = 1_u32;
    let mut rounds: Vec<f64> = Vec::new();
    let began = Instant::now();
    while rounds.len() < 5 || began.elapsed() < time {
        let round = Instant::now();
        for _ in 0..repetitions {
            work();
        }
        let took = round.elapsed();
        if took < ROUND && rounds.is_empty() && repetitions < 1 << 20 {
            repetitions *= 2;
            continue;
        }
        rounds.push(took.as_secs_f64() / f64::from(repetitions));
    }
    rounds.sort_by(f64::total_cmp);
    Timing {
        median: rounds.get(rounds.len() / 2).copied().unwrap_or_default(),
        least: rounds.first().copied().unwrap_or_default(),
    }
}

/// Costs of a component before it does any work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentCosts {
    /// Creating and dropping an instance, including its store.
    pub instantiate: Timing,
    /// Creating and dropping an instance of an empty component.
    pub instantiate_empty: Timing,
    /// Compiling once, on all cores; `None` if the code was in the cache.
    pub compile: Option<f64>,
    /// Loading from the cache, including the checksum; `None` without a cache folder.
    pub load: Option<Timing>,
}

/// Measures the costs of a component before it does any work. It must not have been loaded before, so that its compilation
/// can be measured.
///
/// # Errors
/// If the component cannot be used.
pub fn component_costs(
    host: &PluginHost,
    name: &str,
    bytes: &[u8],
    setup: &InstanceSetup,
    time: Duration,
) -> Result<ComponentCosts, LoadError> {
    let fail = |message: String| LoadError { name: name.to_owned(), message, help: None };
    let summary = inspect(bytes).map_err(|refusal| fail(refusal.message))?;
    let is_cached = host.is_cached(summary.digest);
    let began = Instant::now();
    let linked = LinkedComponent::load(host, name, bytes, summary.world, setup)?;
    let compile = (!is_cached).then(|| began.elapsed().as_secs_f64());
    let instantiate = measure(time, || {
        let made = linked.call(&CallSubject::default(), async |store| {
            linked.instance.instantiate_async(store).await.map(drop)
        });
        debug_assert!(made.is_ok());
    });
    let load = host.has_cache().then(|| {
        measure(time, || {
            let taken = host.component(host.engines().pooled(), name, bytes, summary.digest);
            debug_assert!(taken.is_ok());
        })
    });
    let empty = || -> wasmtime::Result<Timing> {
        let engine = host.engines().pooled();
        let component = Component::from_binary(engine, EMPTY)?;
        let instance = Linker::<()>::new(engine).instantiate_pre(&component)?;
        Ok(measure(time, || drop(instance.instantiate(&mut Store::new(engine, ())))))
    };
    let instantiate_empty = empty().map_err(|error| fail(format!("{error:#}")))?;
    Ok(ComponentCosts { instantiate, instantiate_empty, compile, load })
}

/// Costs of items in batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemCosts {
    /// Seconds per item.
    pub item: Timing,
    /// Fuel per item, including its share of the call; 0 if fuel is not counted.
    pub fuel: u64,
    /// Number of items that ended in an error.
    pub errors: usize,
}

/// Plugins that are benchmarked with items: metrics and extractors.
pub trait ItemBench {
    /// Calls with the same batch for about the given time.
    fn item_costs(&self, items: Vec<MetricItem>, time: Duration) -> ItemCosts;
}

/// Counts errors, and divides by the number of items.
fn costs<R>(
    items: Vec<MetricItem>,
    time: Duration,
    fuel: impl Fn() -> u64,
    call: impl Fn(&[Item]) -> Vec<Result<R, ItemError>>,
) -> ItemCosts {
    let count = items.len().max(1);
    let sound: Vec<Item> = items.into_iter().filter_map(|item| item.0.ok()).collect();
    let errors = call(&sound).iter().filter(|result| result.is_err()).count();
    let before = fuel();
    call(&sound);
    let spent = fuel() - before;
    let all = measure(time, || drop(call(&sound)));
    // Batch sizes are far below 2^53.
    let each = |seconds: f64| seconds / count as f64;
    let item = Timing { median: each(all.median), least: each(all.least) };
    ItemCosts { item, fuel: spent / count as u64, errors }
}

impl ItemBench for Metric {
    fn item_costs(&self, items: Vec<MetricItem>, time: Duration) -> ItemCosts {
        costs(items, time, || self.work().fuel, |items| self.score_sound(items).results)
    }
}

impl ItemBench for Extractor {
    fn item_costs(&self, items: Vec<MetricItem>, time: Duration) -> ItemCosts {
        costs(items, time, || self.work().fuel, |items| self.extract_sound(items))
    }
}
