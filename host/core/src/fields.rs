//! Reads a JSON object field by field and keeps every problem that turns up, with its place.

use crate::Object;
use serde_json::Value;

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// JSON pointer to the value that is to blame.
    pub pointer: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        write!(formatter, "{pointer}: {}", self.message)
    }
}

/// The fields of an object that are not read yet.
pub(crate) struct Fields<'p> {
    object: Object,
    pointer: String,
    problems: &'p mut Vec<Problem>,
}

impl<'p> Fields<'p> {
    /// Begins to read a value that must be an object; anything else is a problem.
    pub(crate) fn of(value: Value, pointer: String, problems: &'p mut Vec<Problem>) -> Option<Fields<'p>> {
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
        self.problems.push(Problem { pointer, message: message.into() });
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| !value.is_null())
    }

    /// Takes a field out; null counts as missing.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.object.shift_remove(key).filter(|value| !value.is_null())
    }

    pub(crate) fn required(&mut self, key: &str) -> Option<Value> {
        let value = self.take(key);
        if value.is_none() {
            self.problem(key, "this field is required");
        }
        value
    }

    pub(crate) fn string(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => self.mistyped("a string", &other, key),
        }
    }

    pub(crate) fn object(&mut self, key: &str) -> Object {
        match self.take(key) {
            None => Object::new(),
            Some(Value::Object(object)) => object,
            Some(other) => self.mistyped("an object", &other, key).unwrap_or_default(),
        }
    }

    pub(crate) fn list(&mut self, key: &str) -> Vec<Value> {
        match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => self.mistyped("a list", &other, key).unwrap_or_default(),
        }
    }

    /// Reads every item of a list with a function that is given the place of the item.
    pub(crate) fn items<T>(
        &mut self,
        key: &str,
        read: impl Fn(Value, String, &mut Vec<Problem>) -> Option<T>,
    ) -> Vec<T> {
        let items = self.list(key);
        let pointer = self.pointer_to(key);
        items
            .into_iter()
            .enumerate()
            .filter_map(|(index, item)| read(item, format!("{pointer}/{index}"), self.problems))
            .collect()
    }

    /// The keys that were not read, without those that are null.
    pub(crate) fn object_keys(&self) -> Vec<String> {
        self.object.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.clone()).collect()
    }

    /// What was not read, in its order.
    pub(crate) fn rest(self) -> Object {
        self.object
    }

    pub(crate) fn pointer_to(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"))
    }

    pub(crate) fn problems(&mut self) -> &mut Vec<Problem> {
        self.problems
    }

    fn mistyped<T>(&mut self, wanted: &str, found: &Value, key: &str) -> Option<T> {
        let pointer = self.pointer_to(key);
        self.problems.push(expected(wanted, found, pointer));
        None
    }
}

/// The problem that a value is not of the wanted type.
pub(crate) fn expected(wanted: &str, found: &Value, pointer: String) -> Problem {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {:?}", text.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    Problem { pointer, message: format!("expected {wanted}, found {found}") }
}
