//! The JSON Schema that a component declares for its parameters.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_plugin::fuzzing::parameter_problems;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

/// The schema of a plugin's parameters.
pub const TARGET: Target = Target { name: "plugin_schemas", cases: 1_000, seeds, inputs, check };

/// Maximum size of all messages about some parameters, in bytes.
const MAX_MESSAGE_BYTES: usize = 2 << 20;

const NAMES: &[&str] = &[
    "type",
    "properties",
    "additionalProperties",
    "required",
    "items",
    "prefixItems",
    "enum",
    "const",
    "$ref",
    "$defs",
    "$id",
    "$schema",
    "$dynamicRef",
    "$anchor",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "pattern",
    "patternProperties",
    "propertyNames",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxItems",
    "uniqueItems",
    "contains",
    "dependentSchemas",
    "unevaluatedProperties",
    "format",
    "default",
    "a",
    "b",
];

fn seeds() -> Vec<Vec<u8>> {
    let schemas = [
        json!({"type": "object", "additionalProperties": false, "required": ["mode"], "properties": {
            "mode": {"enum": ["a", "b"], "default": "a"}, "count": {"type": "integer", "minimum": 1, "maximum": 64},
            "names": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "uniqueItems": true},
        }}),
        json!({"$ref": "#/$defs/one", "$defs": {
            "one": {"anyOf": [{"$ref": "#/$defs/two"}, {"type": "null"}]},
            "two": {"allOf": [{"type": "object"}, {"properties": {"a": {"type": "number", "multipleOf": 0.1}}}]},
        }}),
        json!({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"not": {"type": "string"}},
            "patternProperties": {"^x": {"minLength": 2}}, "propertyNames": {"maxLength": 9}}),
        json!(true),
    ];
    schemas.iter().map(|schema| schema.to_string().into_bytes()).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::json_inputs(seeds(), NAMES)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let Ok(schema) = std::str::from_utf8(input) else { return Ok(Verdict::Refused) };
    let mut verdict = Verdict::Refused;
    let own: Value = serde_json::from_str(schema).unwrap_or_default();
    for params in [json!({}), json!({"mode": "c", "names": ["x", 1], "a": [{"b": "aaaa"}], "x": -0.05}), own]
    {
        // The message about a schema that cannot be used is shown as well.
        let problems = parameter_problems(schema, &params);
        let messages = match &problems {
            Ok(problems) => problems.iter().map(|problem| problem.message.len()).sum(),
            Err(message) => message.len(),
        };
        if messages > MAX_MESSAGE_BYTES {
            return Err(format!("the messages about {params} have {messages} bytes"));
        }
        verdict = verdict.or(Verdict::of(&problems));
    }
    Ok(verdict)
}
