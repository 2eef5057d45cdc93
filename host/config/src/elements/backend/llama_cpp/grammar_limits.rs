//! Limits of grammars, and of schemas that become grammars. llama.cpp has none of its own: it makes a rule for each property
//! of an object, and for each pair of optional ones. It follows nesting by recursion, and writes out repetitions.

use serde_json::{Map, Value};
use std::collections::HashSet;

/// Maximum size of a grammar, in bytes.
const MAX_GRAMMAR_BYTES: usize = 64 << 10;
/// Maximum number of rules of a grammar.
const MAX_RULES: usize = 1_000;
/// Maximum size of a schema as JSON text, in bytes.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
/// Maximum number of JSON values of a schema.
const MAX_SCHEMA_VALUES: usize = 10_000;
/// Maximum nesting of a schema. The name of a rule has the names of all properties around it.
const MAX_SCHEMA_DEPTH: usize = 32;
/// Maximum number of properties of an object; those of all parts of an `allOf` count together.
const MAX_PROPERTIES: usize = 256;
/// Maximum number of optional properties of an object. The number of rules grows with its square.
const MAX_OPTIONAL_PROPERTIES: usize = 64;
/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 256;
/// Maximum length of a regular expression, in bytes.
const MAX_PATTERN_BYTES: usize = 1_024;
/// Maximum number of different references. Each can add the nesting of its target.
const MAX_REFERENCES: usize = 64;
/// Maximum sum of all repetitions, such as `{0,100}` or `maxLength: 100`. Each becomes a rule.
const MAX_REPETITIONS: u64 = 200_000;

/// Checks the size of a grammar.
pub(super) fn check_grammar(text: &str) -> Result<(), String> {
    let rules = text.matches("::=").count();
    for (what, found, most) in [
        ("bytes", text.len() as u64, MAX_GRAMMAR_BYTES as u64),
        ("rules", rules as u64, MAX_RULES as u64),
        ("repetitions", repetitions(text), MAX_REPETITIONS),
    ] {
        if found > most {
            return Err(format!("the grammar has {found} {what}; at most {most} are allowed"));
        }
    }
    Ok(())
}

/// Checks the size of a schema that becomes a grammar.
pub(super) fn check_schema(schema: &Value) -> Result<(), String> {
    let mut totals = SchemaTotals { root: schema, values: 0, repetitions: 0, references: HashSet::new() };
    totals.add(schema, 1)?;
    at_most("the schema", "bytes", schema.to_string().len(), MAX_SCHEMA_BYTES)
}

fn at_most(subject: &str, what: &str, found: usize, most: usize) -> Result<(), String> {
    if found > most {
        return Err(format!("{subject} has {found} {what}; at most {most} are allowed"));
    }
    Ok(())
}

/// Totals of the parts of a schema.
struct SchemaTotals<'s> {
    root: &'s Value,
    values: usize,
    repetitions: u64,
    references: HashSet<&'s str>,
}

impl<'s> SchemaTotals<'s> {
    fn add(&mut self, part: &'s Value, depth: usize) -> Result<(), String> {
        self.values += 1;
        at_most("the schema", "JSON values or more", self.values, MAX_SCHEMA_VALUES)?;
        at_most("the schema", "levels or more", depth, MAX_SCHEMA_DEPTH)?;
        for item in part.as_array().into_iter().flatten() {
            self.add(item, depth + 1)?;
        }
        let Value::Object(members) = part else {
            return Ok(());
        };
        self.check_properties(members)?;
        for (key, value) in members {
            at_most("a key of the schema", "bytes", key.len(), MAX_KEY_BYTES)?;
            match (key.as_str(), value) {
                ("pattern", Value::String(pattern)) => {
                    at_most("a `pattern`", "bytes", pattern.len(), MAX_PATTERN_BYTES)?;
                    self.repetitions = self.repetitions.saturating_add(repetitions(pattern));
                }
                ("$ref", Value::String(reference)) => {
                    self.references.insert(reference);
                    at_most("the schema", "different references", self.references.len(), MAX_REFERENCES)?;
                }
                ("minItems" | "maxItems" | "minLength" | "maxLength", Value::Number(bound)) => {
                    self.repetitions = self.repetitions.saturating_add(bound.as_u64().unwrap_or(0));
                }
                _ => {}
            }
            if self.repetitions > MAX_REPETITIONS {
                return Err(format!(
                    "the lengths and repetitions of the schema are {} together; at most {MAX_REPETITIONS} are \
                     allowed",
                    self.repetitions
                ));
            }
            self.add(value, depth + 1)?;
        }
        Ok(())
    }

    /// Checks the properties of an object, or of all parts of an `allOf`.
    fn check_properties(&self, members: &Map<String, Value>) -> Result<(), String> {
        let own = properties_of(members);
        let required = members.get("required").and_then(Value::as_array);
        let required: HashSet<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
        let optional = own.into_iter().flatten().filter(|(name, _)| !required.contains(name.as_str()));
        self.check_counts(own.map_or(0, Map::len), optional.count())?;
        let (mut all, mut optional) = (0, 0);
        for child in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            all += self.count_of(child);
            let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| child.get(key)?.as_array());
            optional += alternatives.flatten().map(|part| self.count_of(part)).sum::<usize>();
        }
        self.check_counts(all + optional, optional)
    }

    fn check_counts(&self, properties: usize, optional: usize) -> Result<(), String> {
        at_most("an object of the schema", "properties", properties, MAX_PROPERTIES)?;
        at_most("an object of the schema", "optional properties", optional, MAX_OPTIONAL_PROPERTIES)
    }

    /// Returns the number of properties of a part, or of what it refers to.
    fn count_of(&self, part: &Value) -> usize {
        let mut part = part;
        for _ in 0..MAX_REFERENCES {
            let reference = part.get("$ref").and_then(Value::as_str);
            let pointer =
                reference.and_then(|reference| reference.split_once('#')).map(|(_, pointer)| pointer);
            match pointer.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => part = target,
                None => break,
            }
        }
        part.as_object().and_then(properties_of).map_or(0, Map::len)
    }
}

fn properties_of(members: &Map<String, Value>) -> Option<&Map<String, Value>> {
    members.get("properties").and_then(Value::as_object)
}

/// Returns the sum of the largest bounds in braces, such as 5 for `a{2,3} b{2}`.
fn repetitions(text: &str) -> u64 {
    let bounds = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(bounds, _)| bounds);
    let largest = |bounds: &str| bounds.split(',').filter_map(|bound| bound.trim().parse::<u64>().ok()).max();
    bounds.filter_map(largest).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns this many properties.
    fn properties(count: usize) -> Value {
        (0..count)
            .map(|number| (format!("p{number}"), json!({"type": "string"})))
            .collect::<Map<_, _>>()
            .into()
    }

    #[test]
    fn schemas_that_make_too_many_rules_are_refused() {
        let names: Vec<String> = (0..257).map(|number| format!("p{number}")).collect();
        let part = json!({"$ref": "#/$defs/a"});
        let definitions = json!({"a": {"properties": properties(50)}});
        let deep = (0..40).fold(json!({}), |inner, _| json!({"items": inner}));
        let references: Vec<Value> =
            (0..65).map(|number| json!({"$ref": format!("#/$defs/a{number}")})).collect();
        for (schema, message) in [
            (json!({"properties": properties(65)}), "65 optional properties; at most 64"),
            (json!({"properties": properties(257), "required": names}), "257 properties; at most 256"),
            (json!({"allOf": vec![part.clone(); 6], "$defs": definitions}), "300 properties"),
            (json!({"allOf": [{"anyOf": vec![part; 2]}], "$defs": definitions}), "100 optional properties"),
            (json!({"enum": (0..10_000).collect::<Vec<_>>()}), "10001 JSON values"),
            (deep, "33 levels"),
            (json!({"anyOf": references}), "65 different references"),
            (json!({"maxLength": 1_000_000}), "are 1000000 together"),
            (json!({"pattern": "^a{0,300000}$"}), "are 300000 together"),
            (json!({"pattern": "a".repeat(1_025)}), "a `pattern` has 1025 bytes"),
            (json!({"properties": {"a".repeat(257): {}}}), "a key of the schema has 257 bytes"),
            (json!({"const": "a".repeat(300_000)}), "bytes; at most 262144"),
        ] {
            let error = check_schema(&schema).expect_err("refused");
            assert!(error.contains(message), "{error}");
        }
        let names = &names[..256];
        assert_eq!(check_schema(&json!({"properties": properties(256), "required": names})), Ok(()));
        assert_eq!(check_schema(&json!({"properties": properties(64), "maxItems": 100})), Ok(()));
    }

    #[test]
    fn grammars_that_are_too_large_are_refused() {
        for (grammar, message) in [
            ("root ::= \"a\"\n".repeat(1_001), "1001 rules; at most 1000"),
            (format!("root ::= \"{}\"", "a".repeat(64 << 10)), "bytes; at most 65536"),
            ("root ::= \"a\"{2,150000} \"b\"{150000}".to_owned(), "300000 repetitions"),
        ] {
            let error = check_grammar(&grammar).expect_err("refused");
            assert!(error.contains(message), "{error}");
        }
        assert_eq!(check_grammar("root ::= [0-9]{1,5}"), Ok(()));
    }
}
