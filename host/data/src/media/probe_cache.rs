//! A cache of probed images, each of which one thread probes.

use super::error::MediaError;
use super::image_probe::ImageProbe;
use gage_core::Digest;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A map that forgets what was not asked for during the last half of its size.
pub(super) struct RecentProbes<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    half: usize,
}

impl<K: Eq + Hash + Clone, V: Clone> RecentProbes<K, V> {
    /// A map of at most so many entries.
    pub(super) fn new(most: usize) -> RecentProbes<K, V> {
        RecentProbes { young: HashMap::new(), old: HashMap::new(), half: (most / 2).max(1) }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let value = self.old.remove(key)?;
        self.insert(key.clone(), value.clone());
        Some(value)
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }
}

type ProbeOutcome = Result<ImageProbe, MediaError>;

/// The outcomes of probing images, each of which is probed by one thread only.
pub(super) struct ProbeCache {
    state: Mutex<ProbeState>,
    finished: Condvar,
}

struct ProbeState {
    known: RecentProbes<Digest, ProbeOutcome>,
    running: HashSet<Digest>,
}

impl ProbeCache {
    /// A cache of at most so many images.
    pub(super) fn new(most: usize) -> ProbeCache {
        let state = ProbeState { known: RecentProbes::new(most), running: HashSet::new() };
        ProbeCache { state: Mutex::new(state), finished: Condvar::new() }
    }

    /// The cached outcome of an image, or else the outcome of `probe`. A thread that asks while another one probes the
    /// same image waits for it.
    pub(super) fn get_or_probe(&self, digest: Digest, probe: impl FnOnce() -> ProbeOutcome) -> ProbeOutcome {
        let mut state = self.state.lock();
        self.finished.wait_while(&mut state, |state| state.running.contains(&digest));
        if let Some(outcome) = state.known.get(&digest) {
            return outcome;
        }
        state.running.insert(digest);
        drop(state);
        let _running = RunningProbe { cache: self, digest };
        let outcome = probe();
        let mut state = self.state.lock();
        state.known.insert(digest, outcome.clone());
        outcome
    }
}

/// Marks an image as being probed, until it is dropped.
struct RunningProbe<'a> {
    cache: &'a ProbeCache,
    digest: Digest,
}

impl Drop for RunningProbe<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.state.lock();
        state.running.remove(&self.digest);
        drop(state);
        self.cache.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recently_used_entries_stay_cached() {
        let mut recent = RecentProbes::new(4);
        for key in 0..100 {
            recent.insert(key, key * 2);
            assert_eq!(recent.get(&0), Some(0));
            assert!(recent.young.len() + recent.old.len() <= 4);
        }
        assert_eq!((recent.get(&99), recent.get(&50)), (Some(198), None));
    }
}
