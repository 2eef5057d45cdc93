//! Reads JSON by type and keeps every problem that turns up, with its place.
//!
//! A place costs nothing until something is wrong with it: it is a chain of steps on the stack, and
//! becomes a JSON pointer only in a [`Problem`].

use crate::Object;
use crate::fields::{FieldError, expected};
use serde_json::Value;
use std::fmt::{Display, Formatter, Result as FormatResult};

pub(crate) mod depth;

/// The way from the root of a document to one of its values. Displays as a JSON pointer.
struct Location<'r> {
    parent: Option<&'r Location<'r>>,
    step: PathSegment<'r>,
}

enum PathSegment<'r> {
    Root,
    Key(&'r str),
    Index(usize),
}

impl Display for Location<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            PathSegment::Root => Ok(()),
            PathSegment::Index(index) => write!(formatter, "/{index}"),
            PathSegment::Key(key) => write!(formatter, "/{}", key.replace('~', "~0").replace('/', "~1")),
        }
    }
}

/// A place in a document that is being read, and the problems found so far.
pub(crate) struct FieldReader<'r> {
    location: Location<'r>,
    problems: &'r mut Vec<FieldError>,
}

impl<'r> FieldReader<'r> {
    /// Begins at the root of a document.
    pub(crate) fn document(problems: &'r mut Vec<FieldError>) -> FieldReader<'r> {
        FieldReader { location: Location { parent: None, step: PathSegment::Root }, problems }
    }

    /// The place of a member.
    pub(crate) fn key<'s>(&'s mut self, key: &'s str) -> FieldReader<'s> {
        self.step(PathSegment::Key(key))
    }

    /// The place of an item.
    pub(crate) fn index(&mut self, index: usize) -> FieldReader<'_> {
        self.step(PathSegment::Index(index))
    }

    fn step<'s>(&'s mut self, step: PathSegment<'s>) -> FieldReader<'s> {
        FieldReader { location: Location { parent: Some(&self.location), step }, problems: self.problems }
    }

    /// Says that something is wrong here.
    pub(crate) fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(FieldError { pointer: self.location.to_string(), message: message.into() });
    }

    /// Says that another type is expected here.
    pub(crate) fn mistyped(&mut self, wanted: &str, found: &Value) {
        self.problems.push(expected(wanted, found, self.location.to_string()));
    }

    /// The same in place of a value that cannot be read.
    pub(crate) fn reject<T>(&mut self, wanted: &str, found: &Value) -> Option<T> {
        self.mistyped(wanted, found);
        None
    }

    /// The members of a value that must be an object.
    pub(crate) fn members(&mut self, value: Value) -> Option<Object> {
        match value {
            Value::Object(object) => Some(object),
            other => self.reject("an object", &other),
        }
    }

    /// A string; null counts as missing.
    pub(crate) fn string(&mut self, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => self.reject("a string", &other),
        }
    }

    /// An object; null counts as an empty one.
    pub(crate) fn object(&mut self, value: Value) -> Object {
        match value {
            Value::Null => Object::new(),
            other => self.members(other).unwrap_or_default(),
        }
    }

    /// A list; null counts as an empty one.
    pub(crate) fn list(&mut self, value: Value) -> Vec<Value> {
        match value {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            other => self.reject("a list", &other).unwrap_or_default(),
        }
    }

    /// Reads every item of a list; null counts as an empty one. Items that cannot be read are left
    /// out, each with a problem.
    pub(crate) fn items<T>(
        &mut self,
        value: Value,
        read: impl Fn(Value, &mut FieldReader<'_>) -> Option<T>,
    ) -> Vec<T> {
        let items = self.list(value);
        let mut all = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            all.extend(read(item, &mut self.index(index)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn places_are_json_pointers() {
        let mut problems = Vec::new();
        let mut root = FieldReader::document(&mut problems);
        root.problem("a");
        root.key("a/b~c").index(3).key("").string(json!(1));
        let found: Vec<(&str, &str)> =
            problems.iter().map(|problem| (problem.pointer.as_str(), problem.message.as_str())).collect();
        assert_eq!(found, [("", "a"), ("/a~1b~0c/3/", "expected a string, found the number 1")]);
    }
}
