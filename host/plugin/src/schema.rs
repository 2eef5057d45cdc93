//! Validation of parameters against a plugin's JSON Schema.

use gage_core::FieldError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

/// A compiled schema.
pub(crate) struct ParamsSchema {
    validator: jsonschema::Validator,
    keys: Vec<String>,
}

impl ParamsSchema {
    /// Compiles a plugin's schema. It may not refer to other documents.
    pub(crate) fn compile(text: &str) -> Result<ParamsSchema, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
        let keys = schema.get("properties").and_then(Value::as_object);
        let keys = keys.map(|properties| properties.keys().cloned().collect()).unwrap_or_default();
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| format!("the schema cannot be used: {error}"))?;
        Ok(ParamsSchema { validator, keys })
    }

    /// Returns all problems with the parameters. `passthrough` lists keys that are allowed in addition to
    /// those of the schema.
    pub(crate) fn problems(&self, params: &Value, passthrough: &[String]) -> Vec<FieldError> {
        let mut problems: Vec<FieldError> = Vec::new();
        let known: Vec<&str> = self.keys.iter().chain(passthrough).map(String::as_str).collect();
        for error in self.validator.iter_errors(params) {
            let pointer = error.instance_path().to_string();
            if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
                for key in unexpected {
                    let hint = gage_core::nearest(key, known.iter().copied())
                        .map(|name| format!("did you mean `{name}`? "))
                        .unwrap_or_default();
                    let message = match known.is_empty() {
                        true => format!("unknown parameter `{key}`; there are no parameters"),
                        false => {
                            format!("unknown parameter `{key}`; {hint}expected one of: {}", known.join(", "))
                        }
                    };
                    problems.push(FieldError { pointer: format!("{pointer}/{key}"), message });
                }
            } else if let ValidationErrorKind::Enum { options } = error.kind() {
                let allowed = options.as_array().into_iter().flatten().map(Value::to_string);
                let allowed = allowed.collect::<Vec<_>>().join(", ");
                let message = format!(
                    "{}{} is not allowed; expected one of: {allowed}",
                    named(&pointer),
                    error.instance()
                );
                problems.push(FieldError { pointer, message });
            } else {
                let message = format!("{}{error}", named(&pointer));
                problems.push(FieldError { pointer, message });
            }
        }
        problems
    }
}

/// Returns the name of a parameter before a message about its value; nothing for the parameters as a whole.
fn named(pointer: &str) -> String {
    match pointer.trim_start_matches('/') {
        "" => String::new(),
        name => format!("`{}`: ", name.replace('/', ".")),
    }
}
