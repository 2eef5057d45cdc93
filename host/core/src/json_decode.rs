//! Parsing of JSON into types, with every problem and its place collected.
//!
//! Tracking places is free until there is a problem. A place is a chain of steps on the stack, and becomes a
//! JSON pointer only in a [`FieldError`].

use crate::Object;
use crate::fields::{FieldError, expected};
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::{Display, Formatter, Result as FormatResult};

pub(crate) mod depth;
pub(crate) mod values;

/// Above this number of members, duplicate keys are searched with a hash table.
const MAX_COMPARED_MEMBERS: usize = 16;

/// Members of an object, in order, with keys that may borrow from the parsed text.
pub(crate) type BorrowedMembers<'t> = Vec<(Cow<'t, str>, BorrowedValue<'t>)>;

/// Converts to a value that borrows its texts. Takes linear time, unlike the conversion of the crate itself.
pub(crate) fn borrow(value: &Value) -> BorrowedValue<'_> {
    match value {
        Value::Null => BorrowedValue::Null,
        Value::Bool(value) => BorrowedValue::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => number.into(),
            (None, Some(number), _) => number.into(),
            (None, None, number) => number.unwrap_or_default().into(),
        },
        Value::String(text) => BorrowedValue::Str(Cow::Borrowed(text)),
        Value::Array(items) => BorrowedValue::Array(items.iter().map(borrow).collect()),
        Value::Object(members) => {
            BorrowedValue::Object(members.iter().map(|(key, value)| (key.as_str(), borrow(value))).collect())
        }
    }
}

/// Returns a member of an object. If there are several with the same key, the last counts, as in serde_json.
pub fn last_member<'v, 't>(value: &'v BorrowedValue<'t>, key: &str) -> Option<&'v BorrowedValue<'t>> {
    let members = value.as_object()?.iter();
    members.filter(|(name, _)| *name == key).last().map(|(_, value)| value)
}

/// Returns whether no object in a value has duplicate keys.
pub(crate) fn has_distinct_keys(value: &BorrowedValue<'_>) -> bool {
    match value {
        BorrowedValue::Array(items) => items.iter().all(has_distinct_keys),
        BorrowedValue::Object(members) => {
            are_distinct(members.len(), || members.keys()) && members.values().all(has_distinct_keys)
        }
        _ => true,
    }
}

/// Returns whether all keys differ from each other.
fn are_distinct<'k, I: Iterator<Item = &'k str>>(count: usize, keys: impl Fn() -> I) -> bool {
    if count > MAX_COMPARED_MEMBERS {
        return keys().collect::<HashSet<_>>().len() == count;
    }
    keys().enumerate().all(|(index, key)| keys().take(index).all(|earlier| earlier != key))
}

/// Keeps one member per key, as serde_json does: the last value, at the position of the first.
fn without_duplicates(members: BorrowedMembers<'_>) -> BorrowedMembers<'_> {
    if are_distinct(members.len(), || members.iter().map(|(key, _)| &**key)) {
        return members;
    }
    let mut places: HashMap<Cow<'_, str>, usize> = HashMap::with_capacity(members.len());
    let mut distinct: BorrowedMembers<'_> = Vec::with_capacity(members.len());
    for (key, value) in members {
        match places.get(&key) {
            Some(place) => distinct[*place].1 = value,
            None => {
                places.insert(key.clone(), distinct.len());
                distinct.push((key, value));
            }
        }
    }
    distinct
}

/// Path from the root of a document to one of its values. Displays as a JSON pointer.
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
    /// Starts at the root of a document.
    pub(crate) fn document(problems: &'r mut Vec<FieldError>) -> FieldReader<'r> {
        FieldReader { location: Location { parent: None, step: PathSegment::Root }, problems }
    }

    /// Returns the place of a member.
    pub(crate) fn key<'s>(&'s mut self, key: &'s str) -> FieldReader<'s> {
        self.step(PathSegment::Key(key))
    }

    /// Returns the place of an item.
    pub(crate) fn index(&mut self, index: usize) -> FieldReader<'_> {
        self.step(PathSegment::Index(index))
    }

    fn step<'s>(&'s mut self, step: PathSegment<'s>) -> FieldReader<'s> {
        FieldReader { location: Location { parent: Some(&self.location), step }, problems: self.problems }
    }

    /// Reports a problem at this place.
    pub(crate) fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(FieldError { pointer: self.location.to_string(), message: message.into() });
    }

    /// Reports that another type is expected at this place.
    pub(crate) fn mistyped(&mut self, wanted: &str, found: &Value) {
        self.problems.push(expected(wanted, found, self.location.to_string()));
    }

    /// Reports that another type is expected, and returns `None`.
    pub(crate) fn reject<T>(&mut self, wanted: &str, found: &BorrowedValue<'_>) -> Option<T> {
        self.mistyped(wanted, &found.into());
        None
    }

    /// Returns the members of a value that must be an object.
    pub(crate) fn members<'t>(&mut self, value: BorrowedValue<'t>) -> Option<BorrowedMembers<'t>> {
        match value {
            BorrowedValue::Object(object) => Some(without_duplicates(object.into_vec())),
            other => self.reject("an object", &other),
        }
    }

    /// Returns a string; null counts as missing.
    pub(crate) fn string(&mut self, value: BorrowedValue<'_>) -> Option<String> {
        match value {
            BorrowedValue::Str(text) => Some(text.into_owned()),
            BorrowedValue::Null => None,
            other => self.reject("a string", &other),
        }
    }

    /// Returns an object; null counts as empty.
    pub(crate) fn object(&mut self, value: BorrowedValue<'_>) -> Object {
        match value {
            BorrowedValue::Null => Object::new(),
            BorrowedValue::Object(object) => object.into(),
            other => self.reject("an object", &other).unwrap_or_default(),
        }
    }

    /// Returns a list; null counts as empty.
    pub(crate) fn list(&mut self, value: BorrowedValue<'_>) -> Vec<Value> {
        self.borrowed_list(value).into_iter().map(Value::from).collect()
    }

    fn borrowed_list<'t>(&mut self, value: BorrowedValue<'t>) -> Vec<BorrowedValue<'t>> {
        match value {
            BorrowedValue::Array(items) => items,
            BorrowedValue::Null => Vec::new(),
            other => self.reject("a list", &other).unwrap_or_default(),
        }
    }

    /// Reads every item of a list; null counts as empty. Unreadable items are skipped, each with a problem.
    pub(crate) fn items<'t, T>(
        &mut self,
        value: BorrowedValue<'t>,
        read: impl Fn(BorrowedValue<'t>, &mut FieldReader<'_>) -> Option<T>,
    ) -> Vec<T> {
        let items = self.borrowed_list(value);
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn members_are_those_that_serde_json_keeps(keys in prop::collection::vec("[a-d\n]{1,3}", 0..40)) {
            let written: Vec<String> = keys
                .iter()
                .enumerate()
                .map(|(number, key)| format!("{}: {number}", Value::from(key.as_str())))
                .collect();
            let text = format!("{{{}}}", written.join(","));
            let expected: Object = serde_json::from_str(&text).expect("JSON");
            let read: BorrowedValue = serde_json::from_str(&text).expect("JSON");
            let mut problems = Vec::new();
            let members = FieldReader::document(&mut problems).members(read).expect("an object");
            let found: Vec<(String, Value)> =
                members.into_iter().map(|(key, value)| (key.into_owned(), value.into())).collect();
            prop_assert_eq!(&found, &expected.clone().into_iter().collect::<Vec<_>>());
            let borrowed = Value::from(borrow(&Value::Object(expected.clone())));
            prop_assert_eq!(borrowed.to_string(), Value::Object(expected).to_string());
        }
    }

    #[test]
    fn places_are_json_pointers() {
        let mut problems = Vec::new();
        let mut root = FieldReader::document(&mut problems);
        root.problem("a");
        root.key("a/b~c").index(3).key("").string(1_u64.into());
        let found: Vec<(&str, &str)> =
            problems.iter().map(|problem| (problem.pointer.as_str(), problem.message.as_str())).collect();
        assert_eq!(found, [("", "a"), ("/a~1b~0c/3/", "expected a string, found the number 1")]);
    }
}
