//! Costs of components, for benchmarks. No decision rests on them.

use crate::batch::ItemError;
use crate::bindings::types::Item;
use crate::component::{InstanceSetup, LinkedComponent, LoadError};
use crate::host::PluginHost;
use crate::inputs::MetricItem;
use crate::inspect::inspect;
use crate::kinds::extractor::Extractor;
use crate::kinds::metric::Metric;
use std::time::{Duration, Instant};
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

/// A component that holds nothing.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

/// The least time that one round of a measurement takes, so that the clock does not matter.
const ROUND: Duration = Duration::from_millis(2);

/// How long something took, over many rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The round in the middle, in seconds for each repetition.
    pub median: f64,
    /// The fastest round, which other work on the machine disturbed least.
    pub least: f64,
}

/// Repeats something for about so long.
pub fn measure(time: Duration, mut work: impl FnMut()) -> Timing {
    // The first time is paid for what is lazy.
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

/// What a component costs before it does anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentCosts {
    /// Making an instance and dropping it, store and all.
    pub instantiate: Timing,
    /// The same of a component that holds nothing.
    pub instantiate_empty: Timing,
    /// Compiling, on all cores, without a cache; once.
    pub compile: f64,
    /// Taking it from the cache, its checksum included; nothing without a cache folder.
    pub load: Option<Timing>,
}

/// Measures what a component costs before it does anything.
///
/// # Errors
/// When it cannot be used.
pub fn component_costs(
    host: &PluginHost,
    name: &str,
    bytes: &[u8],
    setup: &InstanceSetup,
    time: Duration,
) -> Result<ComponentCosts, LoadError> {
    let fail = |message: String| LoadError { name: name.to_owned(), message, help: None };
    let summary = inspect(bytes).map_err(|refusal| fail(refusal.message))?;
    let linked = LinkedComponent::load(host, name, bytes, summary.world, setup)?;
    let instantiate = measure(time, || {
        let made = linked.call(|store| linked.instance.instantiate(store).map(drop));
        debug_assert!(made.is_ok());
    });
    let began = Instant::now();
    host.compile_anew(name, bytes).map_err(fail)?;
    let compile = began.elapsed().as_secs_f64();
    let load = host.has_cache().then(|| {
        measure(time, || {
            let taken = host.component(name, bytes, summary.digest);
            debug_assert!(taken.is_ok());
        })
    });
    let empty = || -> wasmtime::Result<Timing> {
        let component = Component::from_binary(host.engine(), EMPTY)?;
        let instance = Linker::<()>::new(host.engine()).instantiate_pre(&component)?;
        Ok(measure(time, || drop(instance.instantiate(&mut Store::new(host.engine(), ())))))
    };
    let instantiate_empty = empty().map_err(|error| fail(format!("{error:#}")))?;
    Ok(ComponentCosts { instantiate, instantiate_empty, compile, load })
}

/// What items cost in batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemCosts {
    /// Seconds for each item.
    pub item: Timing,
    /// Fuel for each item, the share of the call included; 0 where none is counted.
    pub fuel: u64,
    /// Items that ended in an error.
    pub errors: usize,
}

/// What is measured with items: metrics and extractors.
pub trait ItemBench {
    /// Calls with the same batch for about so long.
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
    // Batches stay far below 2^53.
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
