//! JSON Schemas that a grammar can enforce. Keywords that llama.cpp would silently ignore are refused.

use serde_json::{Map, Value};

/// Keywords that a grammar never enforces.
const NEVER: &[&str] = &[
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "else",
    "if",
    "maxProperties",
    "minProperties",
    "multipleOf",
    "not",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Numeric bounds, which a grammar enforces only for integers.
const BOUNDS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
/// Keywords whose members are schemas under user-defined names.
const NAMED: &[&str] = &["properties", "$defs", "definitions"];
/// Keywords whose values are not schemas.
const VALUES: &[&str] = &["const", "default", "enum", "examples"];

/// Checks that a grammar can enforce a schema.
///
/// # Errors
/// Returns the place of the first keyword that cannot be enforced, and the reason.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    check_at(schema, String::new())
}

fn check_at(schema: &Value, pointer: String) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            if let Some((keyword, why)) = left_out(members) {
                return Err(format!("`{pointer}/{keyword}` {why}; leave it out, or check it when scoring"));
            }
            members.iter().filter(|(keyword, _)| !VALUES.contains(&keyword.as_str())).try_for_each(
                |(keyword, value)| match value {
                    Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                        named.iter().try_for_each(|(name, schema)| {
                            check_at(schema, format!("{pointer}/{keyword}/{name}"))
                        })
                    }
                    _ => check_at(value, format!("{pointer}/{keyword}")),
                },
            )
        }
        Value::Array(schemas) => (0..)
            .zip(schemas)
            .try_for_each(|(place, schema): (usize, _)| check_at(schema, format!("{pointer}/{place}"))),
        _ => Ok(()),
    }
}

/// Returns the first keyword that the grammar of a schema would omit, and the reason.
fn left_out(members: &Map<String, Value>) -> Option<(&str, &'static str)> {
    let is_whole = members.get("type").is_some_and(|kind| kind == "integer");
    members.iter().find_map(|(keyword, value)| {
        let why = match (keyword.as_str(), value) {
            ("uniqueItems", Value::Bool(true)) => "cannot be expressed as a grammar",
            (keyword, _) if NEVER.contains(&keyword) => "cannot be expressed as a grammar",
            (keyword, _) if BOUNDS.contains(&keyword) && !is_whole => {
                "can be expressed as a grammar only for `type: integer`"
            }
            ("pattern", Value::String(pattern)) if !pattern.starts_with('^') || !pattern.ends_with('$') => {
                "must begin with ^ and end with $ in a grammar"
            }
            ("pattern", Value::String(pattern)) if pattern.contains("(?") => {
                "must not contain groups that begin with (? in a grammar"
            }
            _ => return None,
        };
        Some((keyword.as_str(), why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_grammar_cannot_say_is_refused_at_its_place() {
        for (schema, place) in [
            (json!({"type": "number", "minimum": 100}), "/minimum"),
            (json!({"not": {"type": "string"}}), "/not"),
            (
                json!({"properties": {"not": {"type": "integer", "multipleOf": 5}}}),
                "/properties/not/multipleOf",
            ),
            (json!({"type": "array", "items": {"uniqueItems": true}}), "/items/uniqueItems"),
            (json!({"anyOf": [{"type": "null"}, {"minProperties": 3}]}), "/anyOf/1/minProperties"),
            (json!({"$defs": {"a": {"pattern": "[0-9]+"}}}), "/$defs/a/pattern"),
            (json!({"pattern": "^(?=a)b$"}), "/pattern"),
        ] {
            let refused = check_schema(&schema).expect_err("refused");
            assert!(refused.starts_with(&format!("`{place}` ")), "{refused}");
        }
    }

    #[test]
    fn the_rest_is_not() {
        let schema = json!({
            "type": "object",
            "properties": {
                "not": {"type": "integer", "minimum": 1, "maximum": 10},
                "unit": {"enum": [{"multipleOf": 1}, "m"], "default": {"not": 1}},
                "code": {"type": "string", "pattern": "^[A-Z]{2}$", "minLength": 2},
                "list": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1, "uniqueItems": false},
            },
            "$defs": {"item": {"anyOf": [{"type": "number"}, {"const": null}]}},
            "required": ["not"],
            "additionalProperties": false,
        });
        assert_eq!(check_schema(&schema), Ok(()));
    }
}
