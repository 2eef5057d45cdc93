//! What is remembered of media that were examined.

use super::error::MediaError;
use super::image_probe::ImageProbe;
use gage_core::Digest;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Condvar, Mutex, PoisonError};

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

/// The outcomes of examining images, each of which is examined by one thread only.
pub(super) struct ProbeCache {
    state: Mutex<ProbeState>,
    finished: Condvar,
}

struct ProbeState {
    known: RecentProbes<Digest, ProbeOutcome>,
    running: HashSet<Digest>,
}

impl ProbeCache {
    /// A memory of at most so many images.
    pub(super) fn new(most: usize) -> ProbeCache {
        let state = ProbeState { known: RecentProbes::new(most), running: HashSet::new() };
        ProbeCache { state: Mutex::new(state), finished: Condvar::new() }
    }

    /// What is known of an image, or else what examining it says. A thread that asks while another
    /// examines the same image waits for it.
    pub(super) fn get_or_examine(
        &self,
        digest: Digest,
        examine: impl FnOnce() -> ProbeOutcome,
    ) -> ProbeOutcome {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self
            .finished
            .wait_while(state, |state| state.running.contains(&digest))
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = state.known.get(&digest) {
            return outcome;
        }
        state.running.insert(digest);
        drop(state);
        let _running = RunningProbe { outcomes: self, digest };
        let outcome = examine();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.known.insert(digest, outcome.clone());
        outcome
    }
}

/// Marks an image as being examined, until it is dropped.
struct RunningProbe<'a> {
    outcomes: &'a ProbeCache,
    digest: Digest,
}

impl Drop for RunningProbe<'_> {
    fn drop(&mut self) {
        let mut state = self.outcomes.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running.remove(&self.digest);
        drop(state);
        self.outcomes.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_again_is_kept() {
        let mut recent = RecentProbes::new(4);
        for key in 0..100 {
            recent.insert(key, key * 2);
            assert_eq!(recent.get(&0), Some(0));
            assert!(recent.young.len() + recent.old.len() <= 4);
        }
        assert_eq!((recent.get(&99), recent.get(&50)), (Some(198), None));
    }
}
