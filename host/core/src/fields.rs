//! Problems of a document.

use serde_json::Value;

/// One problem of a document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FieldError {
    /// JSON pointer to the faulty value.
    pub pointer: String,
    /// Description of the problem, with the allowed values.
    pub message: String,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        write!(formatter, "{pointer}: {}", self.message)
    }
}

/// Creates the problem of a value with the wrong type.
pub(crate) fn expected(wanted: &str, found: &Value, pointer: String) -> FieldError {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {:?}", text.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    FieldError { pointer, message: format!("expected {wanted}, found {found}") }
}

/// Returns the name of a value's type for messages.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
