//! The size of a schema whose references are replaced by what they refer to.
//!
//! A validator follows each reference again, so a small schema of references to references can take years. A schema
//! is therefore refused before it is compiled if it is too large in this form. Each value of the schema is then applied
//! at most once to each value of the parameters, so the size bounds the time of a check. Keywords for which this is not
//! true are refused too.

use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Maximum number of values of a schema, with its references replaced.
pub(crate) const MAX_SCHEMA_VALUES: u64 = 100_000;

/// Maximum nesting of a schema, with its references replaced.
pub(crate) const MAX_SCHEMA_DEPTH: usize = 64;

/// Number of values that a regular expression counts as: it takes longer to compile than others.
pub(crate) const PATTERN_VALUES: u64 = 100;

/// Length of an index in the path of a value, in bytes.
const INDEX_BYTES: usize = 6;

/// Returns the size of a schema, with its references replaced.
///
/// # Errors
/// If the schema is too large or too deep, is recursive, or uses a keyword whose work has no bound.
pub(crate) fn schema_size(schema: &Value) -> Result<SchemaSize, String> {
    let mut sizes = SchemaSizes { root: schema, known: HashMap::new() };
    let size = sizes.size_of(schema, 1)?;
    if size.depth > MAX_SCHEMA_DEPTH {
        return Err(too_deep());
    }
    if size.values > MAX_SCHEMA_VALUES {
        return Err(format!(
            "the schema is too large: it has {} values with its references replaced, and at most \
             {MAX_SCHEMA_VALUES} are allowed (a regular expression counts as {PATTERN_VALUES})",
            size.values
        ));
    }
    Ok(size)
}

/// Returns the regular expressions of a schema, each once.
pub(crate) fn patterns_of(schema: &Value) -> HashSet<&str> {
    let (mut patterns, mut rest) = (HashSet::new(), vec![schema]);
    while let Some(part) = rest.pop() {
        rest.extend(part.as_array().into_iter().flatten());
        for (key, value) in part.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("pattern", Value::String(pattern)) => {
                    patterns.insert(pattern.as_str());
                }
                ("patternProperties", Value::Object(members)) => {
                    patterns.extend(members.keys().map(String::as_str));
                }
                _ => {}
            }
            rest.push(value);
        }
    }
    patterns
}

fn too_deep() -> String {
    format!("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels with its references replaced")
}

/// Size of a part of a schema, with its references replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaSize {
    pub(crate) values: u64,
    /// Bytes of its texts and of the path of each value: a validator keeps both.
    pub(crate) text_bytes: u64,
    depth: usize,
}

impl SchemaSize {
    fn of_one(value: &Value) -> SchemaSize {
        let text_bytes = value.as_str().map_or(0, str::len) as u64;
        SchemaSize { values: 1, text_bytes, depth: 1 }
    }

    /// Adds a part on the level below, whose key has this length.
    fn add(&mut self, key_bytes: usize, part: SchemaSize) {
        let path_bytes = part.values.saturating_mul(1 + key_bytes as u64);
        self.text_bytes = self.text_bytes.saturating_add(part.text_bytes).saturating_add(path_bytes);
        self.values = self.values.saturating_add(part.values);
        self.depth = self.depth.max(part.depth.saturating_add(1));
    }
}

/// The sizes of the parts of a schema.
struct SchemaSizes<'s> {
    root: &'s Value,
    /// Sizes by address; `None` for parts that contain the current one.
    known: HashMap<*const Value, Option<SchemaSize>>,
}

impl<'s> SchemaSizes<'s> {
    fn size_of(&mut self, part: &'s Value, level: usize) -> Result<SchemaSize, String> {
        if level > MAX_SCHEMA_DEPTH {
            return Err(too_deep());
        }
        if !part.is_array() && !part.is_object() {
            return Ok(SchemaSize::of_one(part));
        }
        match self.known.insert(std::ptr::from_ref(part), None) {
            None => {}
            Some(None) => return Err("the schema is recursive: a `$ref` leads back to itself".to_owned()),
            Some(Some(size)) => {
                self.known.insert(std::ptr::from_ref(part), Some(size));
                return Ok(size);
            }
        }
        let mut size = SchemaSize::of_one(part);
        for item in part.as_array().into_iter().flatten() {
            size.add(INDEX_BYTES, self.size_of(item, level + 1)?);
        }
        for (key, value) in part.as_object().into_iter().flatten() {
            size.add(key.len(), self.size_of(value, level + 1)?);
            if let Some(target) = self.target(key, value)? {
                size.add(key.len(), self.size_of(target, level + 1)?);
            }
            size.values = size.values.saturating_add(pattern_values(key, value));
        }
        self.known.insert(std::ptr::from_ref(part), Some(size));
        Ok(size)
    }

    /// Returns what a keyword refers to, if it is a reference.
    fn target(&self, key: &str, value: &Value) -> Result<Option<&'s Value>, String> {
        match (key, value) {
            ("$ref", Value::String(reference)) => {
                // The `%` of an address would have to be decoded.
                let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
                let target = pointer.and_then(|pointer| self.root.pointer(pointer));
                target.map(Some).ok_or_else(|| {
                    format!(
                        "the schema refers to '{}', which is not in it; a `$ref` must be like `#/$defs/NAME`",
                        reference.chars().take(80).collect::<String>()
                    )
                })
            }
            // They would give references another meaning.
            ("$id" | "$dynamicRef" | "$recursiveRef", Value::String(_)) => Err(unsupported(key)),
            // There, `id` has the meaning of `$id`.
            ("$schema", Value::String(draft)) if draft.contains("draft-04") => {
                Err("the schema is of draft 4; use a later one, such as 2020-12".to_owned())
            }
            // They check a part of the schema again on each level.
            ("unevaluatedItems" | "unevaluatedProperties", _) => Err(unsupported(key)),
            _ => Ok(None),
        }
    }
}

fn unsupported(keyword: &str) -> String {
    format!("the schema uses `{keyword}`, which schemas of parameters cannot have")
}

/// Returns what the regular expressions of a keyword count in addition.
fn pattern_values(key: &str, value: &Value) -> u64 {
    match (key, value) {
        ("pattern", Value::String(_)) => PATTERN_VALUES,
        ("patternProperties", Value::Object(patterns)) => {
            PATTERN_VALUES.saturating_mul(patterns.len() as u64)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns a schema of definitions, each of which refers twice to the next.
    fn doubled(keyword: &str, count: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        for number in 0..count {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), json!({keyword: [next, next]}));
        }
        definitions.insert(format!("d{count}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn references_count_as_often_as_they_are_followed() {
        let values = |schema: &Value| schema_size(schema).map(|size| size.values);
        assert_eq!(values(&json!({"type": "string"})), Ok(2));
        // Twice: where it is defined, and where it is referred to.
        assert_eq!(values(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}})), Ok(7));
        assert_eq!(values(&json!({"pattern": "a"})), Ok(102));
        assert_eq!(values(&json!({"patternProperties": {"a": true, "b": true}})), Ok(204));
        let sizes = [1, 2, 3].map(|count| values(&doubled("allOf", count)).unwrap_or_default());
        assert!(sizes[2] - sizes[1] > 2 * (sizes[1] - sizes[0]), "{sizes:?}");
    }

    #[test]
    fn paths_of_values_count_with_their_full_length() {
        let text_bytes = |schema: &Value| schema_size(schema).map(|size| size.text_bytes);
        assert_eq!(text_bytes(&json!({"type": "string"})), Ok(11));
        // Two paths begin with `/properties`, and one of them ends with `/ab`.
        assert_eq!(text_bytes(&json!({"properties": {"ab": true}})), Ok(25));
    }

    #[test]
    fn equal_patterns_are_one() {
        let schema = json!({"items": [{"pattern": "a"}, {"pattern": "a"}], "patternProperties": {"b": true}});
        assert_eq!(patterns_of(&schema), HashSet::from(["a", "b"]));
    }

    #[test]
    fn schemas_whose_check_has_no_bound_are_refused() {
        let chain = (0..80).map(|number| {
            (format!("d{number}"), json!({"$ref": format!("#/$defs/d{}", (number + 1).min(79))}))
        });
        let chain: serde_json::Map<String, Value> = chain.collect();
        for (schema, message) in [
            (doubled("allOf", 18), "the schema is too large"),
            (doubled("anyOf", 18), "the schema is too large"),
            (doubled("oneOf", 34), "nested deeper than 64 levels"),
            (json!({"$ref": "#/$defs/d0", "$defs": chain}), "nested deeper than 64 levels"),
            (json!({"properties": {"a": {"$ref": "#"}}}), "recursive"),
            (json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}), "recursive"),
            (json!({"$ref": "#/$defs/b"}), "refers to '#/$defs/b', which is not in it"),
            (json!({"$ref": "https://example.com/a.json"}), "refers to 'https://example.com/a.json'"),
            (json!({"$ref": "#/$defs/%61", "$defs": {"a": true}}), "refers to '#/$defs/%61'"),
            (json!({"$id": "https://example.com/a.json"}), "uses `$id`"),
            (json!({"$schema": "http://json-schema.org/draft-04/schema#"}), "of draft 4"),
            (json!({"$dynamicRef": "#a"}), "uses `$dynamicRef`"),
            (json!({"anyOf": [{"unevaluatedProperties": false}]}), "uses `unevaluatedProperties`"),
            (json!({"enum": vec![1; 100_000]}), "the schema is too large"),
        ] {
            let error = schema_size(&schema).expect_err("refused");
            assert!(error.contains(message), "{error}");
        }
    }
}
