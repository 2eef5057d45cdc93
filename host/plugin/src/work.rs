//! Counts the work of plugin members in this process.

use crate::world::World;
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

thread_local! {
    /// True while calls of this thread are left out.
    static IS_LEFT_OUT: Cell<bool> = const { Cell::new(false) };
}

/// Does work whose plugin calls on this thread are not counted: nothing that a run records depends on them.
pub fn without_counting<R>(work: impl FnOnce() -> R) -> R {
    let outer = IS_LEFT_OUT.replace(true);
    let result = work();
    IS_LEFT_OUT.set(outer);
    result
}

/// Work that a member of a plugin has done. Calls that describe a plugin or check its parameters are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginWork {
    /// Number of items, such as samples.
    pub items: u64,
    /// Number of calls, each in its own instance and with many items.
    pub calls: u64,
    /// Processor time, including that of the host's own work during the calls, such as copying items.
    pub processor_time: Duration,
    /// Units of fuel, about one per WebAssembly instruction.
    pub fuel: u64,
    /// Most memory that one instance had, in bytes.
    pub peak_memory_bytes: u64,
}

/// The work of a member, by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberWork {
    /// Name of the component.
    pub plugin: String,
    /// Kind of the component.
    pub world: World,
    /// Name of the member.
    pub member: String,
    /// The work.
    pub work: PluginWork,
}

/// Counts the work of a member.
#[derive(Debug, Default)]
pub(crate) struct WorkCounter {
    items: AtomicU64,
    calls: AtomicU64,
    processor_ns: AtomicU64,
    fuel: AtomicU64,
    peak_memory_bytes: AtomicU64,
}

impl WorkCounter {
    /// Adds the work of a call on this thread.
    pub(crate) fn count(&self, work: PluginWork) {
        if !IS_LEFT_OUT.get() {
            self.add(work);
        }
    }

    fn add(&self, work: PluginWork) {
        let nanoseconds = u64::try_from(work.processor_time.as_nanos()).unwrap_or(u64::MAX);
        self.items.fetch_add(work.items, Ordering::Relaxed);
        self.calls.fetch_add(work.calls, Ordering::Relaxed);
        self.processor_ns.fetch_add(nanoseconds, Ordering::Relaxed);
        self.fuel.fetch_add(work.fuel, Ordering::Relaxed);
        self.peak_memory_bytes.fetch_max(work.peak_memory_bytes, Ordering::Relaxed);
    }

    pub(crate) fn work(&self) -> PluginWork {
        PluginWork {
            items: self.items.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::Relaxed),
            processor_time: Duration::from_nanos(self.processor_ns.load(Ordering::Relaxed)),
            fuel: self.fuel.load(Ordering::Relaxed),
            peak_memory_bytes: self.peak_memory_bytes.load(Ordering::Relaxed),
        }
    }
}

/// The counters of all plugins that were loaded.
#[derive(Debug, Default)]
pub(crate) struct WorkRegister(Mutex<Vec<(String, World, String, Arc<WorkCounter>)>>);

impl WorkRegister {
    /// Returns a new counter for a member.
    pub(crate) fn counter(&self, plugin: &str, world: World, member: &str) -> Arc<WorkCounter> {
        let counter = Arc::new(WorkCounter::default());
        self.0.lock().push((plugin.to_owned(), world, member.to_owned(), Arc::clone(&counter)));
        counter
    }

    /// Returns the work of each member that was called, in the order of their names. A component that was loaded several
    /// times counts as one.
    pub(crate) fn all(&self) -> Vec<MemberWork> {
        let mut sums: BTreeMap<(String, String, String), (World, WorkCounter)> = BTreeMap::new();
        for (plugin, world, member, counter) in self.0.lock().iter() {
            let work = counter.work();
            if work.calls > 0 {
                let key = (plugin.clone(), world.to_string(), member.clone());
                sums.entry(key).or_insert_with(|| (*world, WorkCounter::default())).1.add(work);
            }
        }
        let member = |((plugin, _, member), (world, counter)): (_, (World, WorkCounter))| MemberWork {
            plugin,
            world,
            member,
            work: counter.work(),
        };
        sums.into_iter().map(member).collect()
    }
}

/// Returns the processor time that this thread has used.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_are_left_out_are_not_counted() {
        let counter = WorkCounter::default();
        let call = || counter.count(PluginWork { calls: 1, ..PluginWork::default() });
        without_counting(|| {
            call();
            without_counting(call);
            call();
        });
        assert_eq!(counter.work().calls, 0);
        call();
        assert_eq!(counter.work().calls, 1);
    }

    #[test]
    fn work_is_summed_by_member() {
        let register = WorkRegister::default();
        let work = |items, peak_memory_bytes| PluginWork {
            items,
            calls: 1,
            processor_time: Duration::from_micros(3),
            fuel: 100,
            peak_memory_bytes,
        };
        let counters = ["b", "a", "b", "unused"].map(|member| register.counter("p", World::Metric, member));
        counters[0].add(work(2, 7));
        counters[0].add(work(3, 5));
        counters[1].add(work(1, 1));
        counters[2].add(work(4, 6));
        let found: Vec<_> = register.all().into_iter().map(|one| (one.member, one.work)).collect();
        let sum = PluginWork {
            items: 9,
            calls: 3,
            processor_time: Duration::from_micros(9),
            fuel: 300,
            peak_memory_bytes: 7,
        };
        assert_eq!(found, [("a".to_owned(), work(1, 1)), ("b".to_owned(), sum)]);
    }
}
