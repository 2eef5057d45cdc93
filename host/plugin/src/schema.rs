//! Validation of parameters against a plugin's JSON Schema.

use crate::validate_output::cut;
use gage_core::FieldError;
use jsonschema::PatternOptions;
use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum work of a check: the size of the schema times the bytes of the parameters.
const MAX_CHECK_STEPS: u64 = 100_000_000;

/// Maximum work up to which errors are listed. Each step can be an error, which takes some hundred bytes of memory.
const MAX_LISTED_STEPS: u64 = 4_000_000;

/// Maximum number of problems that are reported, and of names that a message lists.
const MAX_PROBLEMS: usize = 64;

/// Maximum size of a message about a parameter, in bytes: it can show the whole value.
const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Maximum size of an example that is kept for messages, in bytes.
const MAX_EXAMPLE_BYTES: usize = 200;

/// A compiled schema.
pub(crate) struct ParamsSchema {
    validator: jsonschema::Validator,
    /// Number of values, with references replaced.
    size: u64,
    keys: Vec<String>,
    /// Example values of the keys that have one, as JSON.
    examples: BTreeMap<String, String>,
}

impl ParamsSchema {
    /// Compiles a plugin's schema, whose size in values was checked. It may not refer to other documents. Each regular
    /// expression may take `pattern_bytes` when it is compiled.
    pub(crate) fn compile(schema: &Value, size: u64, pattern_bytes: usize) -> Result<ParamsSchema, String> {
        let properties = || schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let keys = properties().map(|(key, _)| key.clone()).collect();
        let examples = properties().filter_map(|(key, property)| {
            let example = property.get("examples")?.get(0)?.to_string();
            (example.len() <= MAX_EXAMPLE_BYTES).then(|| (key.clone(), example))
        });
        let examples = examples.collect();
        let validator = jsonschema::options()
            // Matches take linear time. The other engine gives up after a while, and then both outcomes are tried.
            .with_pattern_options(
                PatternOptions::regex().size_limit(pattern_bytes).dfa_size_limit(pattern_bytes),
            )
            .should_validate_formats(false)
            .build(schema)
            .map_err(|error| match error.kind() {
                // The crate says nothing about the size.
                ValidationErrorKind::Format { .. } => format!(
                    "the schema cannot be used: {error}; a regular expression may take {pattern_bytes} bytes when \
                     it is compiled, and cannot look around or refer to groups"
                ),
                _ => format!("the schema cannot be used: {error}"),
            })?;
        Ok(ParamsSchema { validator, size, keys, examples })
    }

    /// Returns the problems with the parameters, up to [`MAX_PROBLEMS`]. `passthrough` lists keys that are allowed in
    /// addition to those of the schema.
    pub(crate) fn problems(&self, params: &Value, passthrough: &[String]) -> Vec<FieldError> {
        let (size, bytes) = (self.size, params.to_string().len());
        let steps = size.saturating_mul(bytes as u64);
        if steps > MAX_CHECK_STEPS {
            return vec![of_whole(format!(
                "the parameters are too large to be checked: {bytes} bytes against a schema of {size} values; \
                 at most {} bytes are allowed",
                MAX_CHECK_STEPS / size
            ))];
        }
        if self.validator.is_valid(params) {
            return Vec::new();
        }
        if steps > MAX_LISTED_STEPS {
            let message =
                "the parameters do not match the schema of the plugin; they are too large to say where";
            return vec![of_whole(message.to_owned())];
        }
        let known: Vec<&str> = self.keys.iter().chain(passthrough).map(String::as_str).collect();
        let mut problems: Vec<FieldError> = Vec::new();
        for error in self.validator.iter_errors(params) {
            self.add_problems(&error, &known, &mut problems);
            if problems.len() >= MAX_PROBLEMS {
                problems.truncate(MAX_PROBLEMS);
                break;
            }
        }
        problems
    }

    /// Adds what an error says about the parameters.
    fn add_problems(&self, error: &ValidationError<'_>, known: &[&str], problems: &mut Vec<FieldError>) {
        let pointer = error.instance_path().to_string();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                for key in unexpected.iter().take(MAX_PROBLEMS) {
                    let message = unknown_key(key, known);
                    problems.push(FieldError { pointer: format!("{pointer}/{key}"), message });
                }
            }
            ValidationErrorKind::Enum { options } => {
                let allowed = options.as_array().into_iter().flatten().map(Value::to_string);
                let allowed = listed(allowed);
                let found = cut(error.instance().to_string(), MAX_MESSAGE_BYTES);
                let message =
                    format!("{}{found} is not allowed; expected one of: {allowed}", named(&pointer));
                problems.push(FieldError { pointer, message: cut(message, 2 * MAX_MESSAGE_BYTES) });
            }
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                let example = self.examples.get(key).filter(|_| pointer.is_empty());
                let example = example.map(|value| format!("; write for example {{{key}: {value}}}"));
                let example = example.unwrap_or_default();
                let message = format!("{}the parameter `{key}` is missing{example}", named(&pointer));
                problems.push(FieldError { pointer, message: cut(message, MAX_MESSAGE_BYTES) });
            }
            _ => {
                let message = format!("{}{error}", named(&pointer));
                problems.push(FieldError { pointer, message: cut(message, MAX_MESSAGE_BYTES) });
            }
        }
    }
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return format!("unknown parameter `{key}`; there are no parameters");
    }
    let hint = gage_core::nearest(key, known.iter().copied())
        .map(|name| format!("did you mean `{name}`? "))
        .unwrap_or_default();
    let names = listed(known.iter().map(|name| (*name).to_owned()));
    format!("unknown parameter `{key}`; {hint}expected one of: {names}")
}

/// Returns a list for a message, which leaves out all but the first entries.
fn listed(entries: impl Iterator<Item = String>) -> String {
    let mut entries = entries.fuse();
    let mut shown: Vec<String> = entries.by_ref().take(MAX_PROBLEMS).collect();
    shown.extend(entries.next().map(|_| "…".to_owned()));
    shown.join(", ")
}

/// Returns a problem with the parameters as a whole.
fn of_whole(message: String) -> FieldError {
    FieldError { pointer: String::new(), message }
}

/// Returns the name of a parameter before a message about its value; nothing for the parameters as a whole.
fn named(pointer: &str) -> String {
    match pointer.trim_start_matches('/') {
        "" => String::new(),
        name => format!("`{}`: ", name.replace('/', ".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component_schemas::compile_schema;
    use serde_json::json;

    fn problems(schema: &Value, params: &Value) -> Vec<(String, String)> {
        let schema = compile_schema(&schema.to_string()).expect("a schema");
        let problems = schema.problems(params, &["own".to_owned()]);
        problems.into_iter().map(|problem| (problem.pointer, problem.message)).collect()
    }

    #[test]
    fn problems_name_the_parameter_and_what_is_allowed() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {"mode": {"enum": ["a", "b"]}, "count": {"$ref": "#/$defs/count"}},
            "$defs": {"count": {"type": "integer"}},
        });
        assert!(problems(&schema, &json!({"mode": "a", "count": 3})).is_empty());
        for (params, pointer, message) in [
            (
                json!({"mod": 1}),
                "/mod",
                "unknown parameter `mod`; did you mean `mode`? expected one of: mode, count, own",
            ),
            (json!({"mode": "c"}), "/mode", "`mode`: \"c\" is not allowed; expected one of: \"a\", \"b\""),
            (json!({"count": "x"}), "/count", "`count`: \"x\" is not of type \"integer\""),
        ] {
            assert_eq!(problems(&schema, &params), [(pointer.to_owned(), message.to_owned())], "{params}");
        }
    }

    #[test]
    fn a_missing_parameter_is_named_with_an_example() {
        let schema = json!({
            "properties": {
                "pattern": {"type": "string", "examples": ["^a+$"]},
                "form": {"type": "object", "required": ["style"]},
            },
            "required": ["pattern"],
        });
        for (params, pointer, message) in [
            (json!({}), "", r#"the parameter `pattern` is missing; write for example {pattern: "^a+$"}"#),
            (json!({"pattern": "a", "form": {}}), "/form", "`form`: the parameter `style` is missing"),
        ] {
            assert_eq!(problems(&schema, &params), [(pointer.to_owned(), message.to_owned())], "{params}");
        }
    }

    #[test]
    fn problems_of_large_schemas_and_parameters_are_few() {
        // Each item breaks 1,000 rules.
        let rules = json!({"items": {"allOf": vec![json!(false); 1_000]}});
        assert_eq!(problems(&rules, &json!([1, 2])).len(), MAX_PROBLEMS);
        let many = problems(&rules, &json!(vec![1; 5_000]));
        assert!(
            matches!(many.as_slice(), [(_, message)] if message.contains("too large to say where")),
            "{many:?}"
        );
        let more = problems(&rules, &json!(vec![1; 100_000]));
        assert!(
            matches!(more.as_slice(), [(_, message)] if message.contains("too large to be checked")),
            "{more:?}"
        );
        let names: serde_json::Map<String, Value> =
            (0..1_000).map(|number| (format!("name{number}"), json!({}))).collect();
        let schema = json!({"properties": names, "additionalProperties": false});
        let unknown = problems(&schema, &json!({"x": 1}));
        assert!(unknown[0].1.ends_with("name62, name63, …"), "{unknown:?}");
    }

    #[test]
    fn regular_expressions_take_linear_time() {
        let compile = |pattern: &str| compile_schema(&json!({ "pattern": pattern }).to_string()).map(drop);
        assert_eq!(compile("^(a+)+$"), Ok(()));
        // It can only be matched by trying out.
        assert!(compile(r"^(a+)\1$").is_err());
        assert_eq!(problems(&json!({"pattern": "^(a+)+$"}), &json!("a".repeat(10_000) + "b")).len(), 1);
    }
}
