//! Steps of an argument, and the steps that it shares with another.

use crate::fragments::{member, text};
use crate::ids::{id, items};
use crate::normalizer::Normalizer;
use crate::share;
use gage_sdk::serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A step with an id or a text, in comparable form.
#[derive(Debug)]
pub struct Step {
    /// Id of the step.
    pub id: Option<String>,
    /// Text of the step.
    pub text: Option<String>,
    /// Ids of the steps that it depends on.
    pub needs: Vec<String>,
}

/// Property by which steps are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchBy {
    /// Ids if every step on both sides has one, otherwise texts.
    Auto,
    /// Ids.
    Id,
    /// Texts.
    Text,
}

impl Step {
    /// Reads the steps of a list, or the single step that the value is: texts, or objects with `id`, `text` and
    /// `depends_on`. Steps with neither an id nor a text are skipped.
    pub fn read_all(value: &Value, normalizer: Normalizer) -> Vec<Step> {
        let steps = items(value).iter().map(|step| Step {
            id: step.as_object().and_then(|_| id(step, normalizer)),
            text: text(step, normalizer),
            needs: step.as_object().map(|step| needs(step, normalizer)).unwrap_or_default(),
        });
        steps.filter(|step| step.id.is_some() || step.text.is_some()).collect()
    }
}

/// Returns the ids under `depends_on`.
pub fn needs(members: &Map<String, Value>, normalizer: Normalizer) -> Vec<String> {
    items(member(members, "depends_on")).iter().filter_map(|need| id(need, normalizer)).collect()
}

/// Steps that an argument shares with a reference. A repeated step counts at its first position. A step that cannot be
/// identified (without an id, if ids are compared) matches no other.
#[derive(Debug, PartialEq, Eq)]
pub struct MatchedSteps {
    /// True if ids were compared, false if texts.
    pub by_id: bool,
    /// Number of distinct given steps.
    pub given: usize,
    /// Number of distinct expected steps.
    pub expected: usize,
    /// Positions in the reference of the given steps that are expected, in the order given.
    pub common: Vec<usize>,
}

impl MatchedSteps {
    /// Compares steps with those of a reference, in linear time.
    pub fn new(steps: &[Step], reference: &[Step], match_by: MatchBy) -> MatchedSteps {
        let by_id = match match_by {
            MatchBy::Auto => steps.iter().chain(reference).all(|step| step.id.is_some()),
            MatchBy::Id => true,
            MatchBy::Text => false,
        };
        let key = |step: &'_ Step| if by_id { step.id.clone() } else { step.text.clone() };
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut expected = 0;
        for step in reference {
            match key(step) {
                Some(key) if places.contains_key(&key) => {}
                key => {
                    places.extend(key.map(|key| (key, expected)));
                    expected += 1;
                }
            }
        }
        let mut given = 0;
        let mut seen = HashSet::new();
        let mut common = Vec::new();
        for step in steps {
            let key = key(step);
            let is_new = key.as_ref().is_none_or(|key| seen.insert(key.clone()));
            given += usize::from(is_new);
            if let Some(place) = key.filter(|_| is_new).and_then(|key| places.get(&key)) {
                common.push(*place);
            }
        }
        MatchedSteps { by_id, given, expected, common }
    }

    /// Returns the share of expected steps that were given, in any order; 0 if none are expected.
    pub fn completeness(&self) -> f64 {
        share(self.common.len(), self.expected)
    }

    /// Returns the share of given steps that were expected; 0 if none are given.
    pub fn precision(&self) -> f64 {
        share(self.common.len(), self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn steps_are_matched() {
        let steps = |value: Value| Step::read_all(&value, Normalizer::loose());
        for (given, expected, by_id, counts, common) in [
            (json!(["B", "a", "b"]), json!(["a", "b"]), false, (2, 2), vec![1, 0]),
            (json!([{ "id": "s1" }]), json!([{ "id": "S1", "text": "x" }]), true, (1, 1), vec![0]),
            (json!([{ "id": 1, "text": "x" }]), json!(["x", "y"]), false, (1, 2), vec![0]),
            (json!([{}, null, " "]), json!("a"), false, (0, 1), vec![]),
        ] {
            let found = MatchedSteps::new(&steps(given.clone()), &steps(expected), MatchBy::Auto);
            assert_eq!((found.given, found.expected), counts, "{given}");
            assert_eq!((found.by_id, &found.common), (by_id, &common), "{given}");
        }
        let none = MatchedSteps::new(&[], &[], MatchBy::Text);
        assert_eq!((none.completeness(), none.precision()), (0.0, 0.0));
    }
}
