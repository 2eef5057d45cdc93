//! What can be wrong with a document, and a reader that takes an object apart field by field.

use crate::Object;
use serde_json::Value;

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FieldError {
    /// JSON pointer to the value that is to blame.
    pub pointer: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        write!(formatter, "{pointer}: {}", self.message)
    }
}

/// The fields of an object that are not read yet.
pub(crate) struct Fields<'p> {
    object: Object,
    pointer: String,
    problems: &'p mut Vec<FieldError>,
}

impl<'p> Fields<'p> {
    /// Begins to read a value that must be an object; anything else is a problem.
    pub(crate) fn of(value: Value, pointer: String, problems: &'p mut Vec<FieldError>) -> Option<Fields<'p>> {
        match value {
            Value::Object(object) => Some(Fields { object, pointer, problems }),
            other => {
                problems.push(expected("an object", &other, pointer));
                None
            }
        }
    }

    /// Says that something is wrong with a field.
    pub(crate) fn problem(&mut self, key: &str, message: impl Into<String>) {
        let pointer = self.pointer_to(key);
        self.problems.push(FieldError { pointer, message: message.into() });
    }

    /// Takes a field out; null counts as missing.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.object.shift_remove(key).filter(|value| !value.is_null())
    }

    /// The keys that were not read, without those that are null.
    pub(crate) fn object_keys(&self) -> Vec<String> {
        self.object.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.clone()).collect()
    }

    fn pointer_to(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"))
    }
}

/// The problem that a value is not of the wanted type.
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

/// What a value is called in messages.
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
