//! The evidence that claims cite.

use crate::ids::{id, items};
use crate::normalizer::Normalizer;
use gage_sdk::serde_json::Value;
use std::collections::HashSet;

/// Returns the ids that a claim cites under a key; a claim that is a text cites none.
pub fn cited(claim: &Value, key: &str, normalizer: Normalizer) -> HashSet<String> {
    let evidence = claim.get(key).map_or(&[] as &[Value], items);
    evidence.iter().filter_map(|evidence| id(evidence, normalizer)).collect()
}

/// Returns the ids in claims, or in a list of evidence, where a text is itself an id. An object with `claims` gives the
/// ids of its claims.
pub fn evidence_ids(value: &Value, key: &str, normalizer: Normalizer) -> HashSet<String> {
    let mut ids = HashSet::new();
    for item in items(value) {
        // A reference may be a whole answer.
        let claims = item.get("claims").map_or(std::slice::from_ref(item), items);
        for claim in claims {
            let evidence = claim.get(key).map_or(std::slice::from_ref(claim), items);
            ids.extend(evidence.iter().filter_map(|evidence| id(evidence, normalizer)));
        }
    }
    ids
}

/// Returns the ids of evidence that exists: a list of ids or of objects with `id`, or an object whose keys are ids.
pub fn existing_ids(value: &Value, normalizer: Normalizer) -> HashSet<String> {
    match value {
        Value::Object(object) if !object.contains_key("id") => {
            object.keys().map(|key| normalizer.apply(key)).filter(|key| !key.is_empty()).collect()
        }
        other => items(other).iter().filter_map(|item| id(item, normalizer)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn sorted(ids: HashSet<String>) -> Vec<String> {
        let mut ids: Vec<String> = ids.into_iter().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn evidence() {
        let loose = Normalizer::loose();
        let claims = json!({ "claims": [{ "evidence": ["N1", 2] }, { "evidence": { "id": "n1" } }, "n3"] });
        assert_eq!(sorted(evidence_ids(&claims, "evidence", loose)), ["2", "n1", "n3"]);
        assert_eq!(sorted(cited(&json!({ "evidence": [" A ", null, "a"] }), "evidence", loose)), ["a"]);
        assert!(cited(&json!("n1"), "evidence", loose).is_empty());
        assert_eq!(sorted(existing_ids(&json!({ "A": "text", "": 1 }), loose)), ["a"]);
        assert_eq!(sorted(existing_ids(&json!([{ "id": 7 }, "b"]), loose)), ["7", "b"]);
    }
}
