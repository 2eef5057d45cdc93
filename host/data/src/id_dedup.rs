//! Deduplication of IDs that occur several times.

use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

/// IDs of a dataset. Samples must arrive in their order. Uses about 20 bytes per sample.
#[derive(Debug, Default)]
pub struct IdDeduplicator {
    /// Hashes of all IDs given out.
    taken: FxHashSet<u64>,
    /// Lowest number for the next sample of an ID, by the hash of the ID. Contains only IDs that occurred several
    /// times.
    next: FxHashMap<u64, u32>,
}

impl IdDeduplicator {
    /// Numbers the second and each further sample of an ID: `q1`, `q1#2`, `q1#3`. Returns whether it did.
    pub fn deduplicate(&mut self, id: &mut String) -> bool {
        let hash = hash_of(id);
        if self.taken.insert(hash) {
            return false;
        }
        // Each number is tried once per ID, no matter how often it occurs.
        let next = self.next.entry(hash).or_insert(2);
        loop {
            let made = format!("{id}#{next}");
            *next += 1;
            if self.taken.insert(hash_of(&made)) {
                *id = made;
                return true;
            }
        }
    }
}

fn hash_of(id: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_occur_again_get_a_number() {
        let mut ids = IdDeduplicator::default();
        let mut kept = ["a", "b", "a", "a#2", "a"].map(str::to_owned);
        let changed: Vec<bool> = kept.iter_mut().map(|id| ids.deduplicate(id)).collect();
        assert_eq!(kept, ["a", "b", "a#2", "a#2#2", "a#3"]);
        assert_eq!(changed, [false, false, true, true, true]);
    }
}
