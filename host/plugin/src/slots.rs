//! Slots of the instance pool, which all plugins share.
//!
//! A call takes its slots before it creates an instance, and returns them after it has dropped the instance. Without
//! enough free slots it waits. The pool has room for all instances that the slots stand for, so it is never exhausted.
//!
//! Every wait ends. Slots go to calls in the order in which the calls ask. Only calls that cannot wait for servers or
//! models take slots, so their own limits end each call that holds some. A call takes its slots in one order: first from
//! the share of its component, then from the pool. It takes no others while it holds them.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use wasmtime::component::Component;

/// Number of slots in the pool. Each one stands for a memory, `TABLES_PER_SLOT` tables, and an instance of a component.
pub(crate) const POOL_SLOTS: u32 = 256;

/// Number of tables per slot. Components made with an SDK have up to three.
pub(crate) const TABLES_PER_SLOT: u32 = 4;

/// Maximum number of slots that a call takes, which is also the maximum number of memories of a component.
pub(crate) const MAX_SLOTS_PER_CALL: u32 = 16;

/// Maximum number of tables of a component.
pub(crate) const MAX_TABLES_PER_CALL: u32 = MAX_SLOTS_PER_CALL * TABLES_PER_SLOT;

/// Maximum number of core instances of a component. The pool has room for as many per slot.
pub(crate) const MAX_CORE_INSTANCES_PER_CALL: u32 = 64;

/// Maximum number of slots that the calls of one component hold together. The others are left to other components.
pub(crate) const MAX_SLOTS_PER_COMPONENT: u32 = POOL_SLOTS / 2;

const _: () = assert!(MAX_SLOTS_PER_CALL <= MAX_SLOTS_PER_COMPONENT, "a call must not wait for ever");

/// The slots that each call of a component takes.
pub(crate) struct CallSlots {
    count: u32,
    share: SlotQueue,
    pool: Arc<SlotQueue>,
}

impl CallSlots {
    /// Counts the memories and tables that a component creates.
    pub(crate) fn new(component: &Component, pool: Arc<SlotQueue>) -> CallSlots {
        // The limiter of a call refuses more before the pool is asked.
        let count = component.resources_required().map_or(MAX_SLOTS_PER_CALL, |needs| {
            let of_tables = needs.num_tables.div_ceil(TABLES_PER_SLOT);
            needs.num_memories.max(of_tables).clamp(1, MAX_SLOTS_PER_CALL)
        });
        CallSlots { count, share: SlotQueue::new(MAX_SLOTS_PER_COMPONENT), pool }
    }

    /// Waits for the slots of a call.
    pub(crate) fn acquire(&self) -> [SlotPermit<'_>; 2] {
        [self.share.acquire(self.count), self.pool.acquire(self.count)]
    }
}

/// Slots that go to calls in the order in which the calls ask. The semaphore of `tokio` is as fair, but only futures can
/// wait for it.
pub(crate) struct SlotQueue {
    state: Mutex<SlotState>,
    changed: Condvar,
}

struct SlotState {
    free: u32,
    /// Number of calls that have asked.
    asked: u64,
    /// Number of calls that have got their slots.
    served: u64,
}

impl SlotQueue {
    /// Creates a queue for a number of slots, which are free.
    pub(crate) fn new(slots: u32) -> SlotQueue {
        SlotQueue {
            state: Mutex::new(SlotState { free: slots, asked: 0, served: 0 }),
            changed: Condvar::new(),
        }
    }

    fn acquire(&self, count: u32) -> SlotPermit<'_> {
        let mut state = self.state.lock();
        let turn = state.asked;
        state.asked += 1;
        self.changed.wait_while(&mut state, |state| state.served != turn || state.free < count);
        state.served += 1;
        state.free -= count;
        drop(state);
        // The next call may find enough slots too.
        self.changed.notify_all();
        SlotPermit { queue: self, count }
    }
}

/// Slots that a call holds until this is dropped.
pub(crate) struct SlotPermit<'q> {
    queue: &'q SlotQueue,
    count: u32,
}

impl Drop for SlotPermit<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().free += self.count;
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Returns when a number of calls have asked for slots.
    fn wait_for_calls(queue: &SlotQueue, count: u64) {
        while queue.state.lock().asked < count {
            thread::yield_now();
        }
    }

    #[test]
    fn slots_go_to_calls_in_the_order_in_which_they_ask() {
        let queue = SlotQueue::new(4);
        let ended = Mutex::new(Vec::new());
        let call = |count| {
            let permit = queue.acquire(count);
            ended.lock().push(count);
            drop(permit);
        };
        let held = queue.acquire(2);
        thread::scope(|scope| {
            scope.spawn(|| call(4));
            wait_for_calls(&queue, 2);
            // Two slots are free, but another call asked before.
            scope.spawn(|| call(1));
            wait_for_calls(&queue, 3);
            let free_and_served = {
                let state = queue.state.lock();
                (state.free, state.served)
            };
            assert_eq!(free_and_served, (2, 1));
            drop(held);
        });
        assert_eq!(*ended.lock(), [4, 1]);
        assert_eq!(queue.state.lock().free, 4);
    }

    #[test]
    fn calls_never_hold_more_slots_than_there_are() {
        let queue = SlotQueue::new(8);
        let held = Mutex::new(0);
        thread::scope(|scope| {
            for thread in 0..8 {
                let (queue, held) = (&queue, &held);
                scope.spawn(move || {
                    for round in 0..200 {
                        let count = 1 + (thread + round) % 8;
                        let permit = queue.acquire(count);
                        *held.lock() += count;
                        assert!(*held.lock() <= 8);
                        *held.lock() -= count;
                        drop(permit);
                    }
                });
            }
        });
        assert_eq!(queue.state.lock().free, 8);
    }
}
