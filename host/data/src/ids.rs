//! Ids that occur several times are kept apart.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// How often each id of a dataset has occurred. Samples must come in their order.
#[derive(Debug, Default)]
pub struct Ids {
    /// By the hash of the id.
    counts: HashMap<u64, u32>,
}

impl Ids {
    /// Gives the second and each further sample of an id a number: `q1`, `q1#2`, `q1#3`. Returns
    /// whether it did.
    pub fn keep_apart(&mut self, id: &mut String) -> bool {
        let count = self.count(id);
        if count == 1 {
            return false;
        }
        let mut number = count;
        loop {
            let made = format!("{id}#{number}");
            if self.count(&made) == 1 {
                *id = made;
                return true;
            }
            number += 1;
        }
    }

    /// How often an id has occurred, this time included.
    fn count(&mut self, id: &str) -> u32 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let count = self.counts.entry(hasher.finish()).or_insert(0);
        *count += 1;
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_occur_again_get_a_number() {
        let mut ids = Ids::default();
        let mut kept = ["a", "b", "a", "a#2", "a"].map(str::to_owned);
        let changed: Vec<bool> = kept.iter_mut().map(|id| ids.keep_apart(id)).collect();
        assert_eq!(kept, ["a", "b", "a#2", "a#2#2", "a#3"]);
        assert_eq!(changed, [false, false, true, true, true]);
    }
}
