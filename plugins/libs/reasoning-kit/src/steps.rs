//! The steps of an argument, and those that it shares with another.

use crate::fragments::{member, text};
use crate::ids::{id, items};
use crate::normalizer::Normalizer;
use crate::share;
use gage_sdk::serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// One step, its texts in comparable form. It has an id or a text.
#[derive(Debug)]
pub struct Step {
    /// What it is called.
    pub id: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// The ids of the steps that it builds on.
    pub needs: Vec<String>,
}

/// What steps are told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchBy {
    /// By ids where every step on both sides has one, otherwise by texts.
    Auto,
    /// By ids.
    Id,
    /// By texts.
    Text,
}

impl Step {
    /// The steps of a list, or the one that the value is: texts, or objects with `id`, `text` and
    /// `depends_on`. What has neither an id nor a text is left out.
    pub fn read_all(value: &Value, normalizer: Normalizer) -> Vec<Step> {
        let steps = items(value).iter().map(|step| Step {
            id: step.as_object().and_then(|_| id(step, normalizer)),
            text: text(step, normalizer),
            needs: step.as_object().map(|step| needs(step, normalizer)).unwrap_or_default(),
        });
        steps.filter(|step| step.id.is_some() || step.text.is_some()).collect()
    }
}

/// The ids under `depends_on`.
pub fn needs(members: &Map<String, Value>, normalizer: Normalizer) -> Vec<String> {
    items(member(members, "depends_on")).iter().filter_map(|need| id(need, normalizer)).collect()
}

/// The steps that an argument shares with a reference. A step that comes twice counts where it comes
/// first; one that cannot be told (without an id, where ids are compared) is like no other.
#[derive(Debug, PartialEq, Eq)]
pub struct MatchedSteps {
    /// Whether ids were compared, not texts.
    pub by_id: bool,
    /// How many different steps were given.
    pub given: usize,
    /// How many different steps were expected.
    pub expected: usize,
    /// For each given step that is expected, in the order given: its place in the reference.
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

    /// The share of the expected steps that are there, in whatever order; 0 where none is expected.
    pub fn completeness(&self) -> f64 {
        share(self.common.len(), self.expected)
    }

    /// The share of the given steps that were expected; 0 where none is given.
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
