//! Values at paths. Members of typed documents become a JSON value only if the caller needs one.

use crate::json_encode::{JsonMembers, Member};
use crate::sample::derived::DerivedMetadata;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathStep {
    /// Key in an object.
    pub(crate) key: String,
    /// Index in a list.
    pub(crate) index: Option<usize>,
}

/// A value at a path.
pub enum FieldValue<'a> {
    /// A value of JSON.
    Json(Cow<'a, Value>),
    /// A text of a typed document.
    Text(&'a str),
    /// A list or an object of a typed document.
    Typed(TypedValue<'a>),
}

/// A list or an object of a typed document, to be written as JSON.
pub struct TypedValue<'a>(Member<'a>);

impl Serialize for TypedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'a> From<&'a Value> for FieldValue<'a> {
    fn from(value: &'a Value) -> FieldValue<'a> {
        FieldValue::Json(Cow::Borrowed(value))
    }
}

impl<'a> FieldValue<'a> {
    /// Returns it as a value of JSON, converting it if necessary.
    pub fn into_value(self) -> Cow<'a, Value> {
        match self {
            FieldValue::Json(value) => value,
            FieldValue::Text(text) => Cow::Owned(Value::from(text)),
            FieldValue::Typed(typed) => Cow::Owned(serde_json::to_value(typed).unwrap_or_default()),
        }
    }

    fn of(member: Member<'a>) -> Option<FieldValue<'a>> {
        Some(match member {
            Member::Text(text) => FieldValue::Text(text),
            Member::Value(value) => FieldValue::from(value),
            Member::Finish(_) => FieldValue::Json(Cow::Owned(serde_json::to_value(member).ok()?)),
            member => FieldValue::Typed(TypedValue(member)),
        })
    }
}

impl<'a> From<DerivedMetadata<'a>> for Member<'a> {
    fn from(derived: DerivedMetadata<'a>) -> Member<'a> {
        match derived {
            DerivedMetadata::OptionTexts(texts) => Member::OptionTexts(texts),
            DerivedMetadata::CorrectChoice(id) => Member::Text(id),
        }
    }
}

/// Follows steps from a member of a typed document; `None` if one leads nowhere.
pub(crate) fn walk_members<'a>(
    document: &'a impl JsonMembers,
    key: &str,
    rest: &[PathStep],
) -> Option<FieldValue<'a>> {
    match document.members().find(|(name, _)| *name == key) {
        Some((_, member)) => walk_member(member, rest),
        None => walk(document.extra().get(key)?, rest).map(FieldValue::from),
    }
}

fn walk_member<'a>(member: Member<'a>, steps: &[PathStep]) -> Option<FieldValue<'a>> {
    let Some((step, rest)) = steps.split_first() else { return FieldValue::of(member) };
    match member {
        Member::Value(value) => walk(value, steps).map(FieldValue::from),
        Member::Object(object) => walk(object.get(&step.key)?, rest).map(FieldValue::from),
        Member::Metadata(metadata) => match metadata.own.get(&step.key) {
            Some(value) => walk(value, rest).map(FieldValue::from),
            None => walk_member(metadata.derived(&step.key)?.into(), rest),
        },
        Member::Values(items) => walk(items.get(step.index?)?, rest).map(FieldValue::from),
        Member::Parts(items) => walk_member(Member::Part(items.get(step.index?)?), rest),
        Member::Messages(items) => walk_member(Member::Message(items.get(step.index?)?), rest),
        Member::Options(items) => walk_member(Member::Option(items.get(step.index?)?), rest),
        Member::References(items) => walk_member(Member::Reference(items.get(step.index?)?), rest),
        Member::Part(part) => walk_members(part, &step.key, rest),
        Member::Message(message) => walk_members(message, &step.key, rest),
        Member::Option(option) => walk_members(option, &step.key, rest),
        Member::Reference(reference) => walk_members(reference, &step.key, rest),
        Member::Text(_) => None,
        // The other members are converted to JSON, which is little data.
        member => {
            let value = walk_owned(serde_json::to_value(member).ok()?, steps)?;
            Some(FieldValue::Json(Cow::Owned(value)))
        }
    }
}

/// Follows steps in a value of JSON.
pub(crate) fn walk<'a>(document: &'a Value, steps: &[PathStep]) -> Option<&'a Value> {
    steps.iter().try_fold(document, |value, step| match value {
        Value::Object(object) => object.get(&step.key),
        Value::Array(items) => items.get(step.index?),
        _ => None,
    })
}

/// Follows steps in an owned value.
fn walk_owned(document: Value, steps: &[PathStep]) -> Option<Value> {
    steps.iter().try_fold(document, |value, step| match value {
        Value::Object(mut object) => object.swap_remove(&step.key),
        Value::Array(mut items) => {
            let index = step.index.filter(|index| *index < items.len())?;
            Some(items.swap_remove(index))
        }
        _ => None,
    })
}
