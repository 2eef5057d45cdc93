//! Values at paths. Members of typed documents become a JSON value only if the caller needs one.

use crate::content::ContentPart;
use crate::json_encode::{JsonMembers, Member};
use crate::sample::Reference;
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

    /// Returns it as a reference that an answer is compared with. `None` for a blank one: a text of white space, or a list
    /// of such texts. Blank entries of other lists are dropped.
    pub fn into_reference(self) -> Option<FieldValue<'a>> {
        let is_blank_somewhere = match &self {
            FieldValue::Text(text) => text.trim().is_empty(),
            FieldValue::Json(value) => has_blank(value),
            FieldValue::Typed(TypedValue(Member::References(references))) => {
                references.iter().any(Reference::is_blank)
            }
            FieldValue::Typed(TypedValue(Member::Reference(reference))) => reference.is_blank(),
            FieldValue::Typed(TypedValue(Member::Parts(parts))) => parts.iter().any(ContentPart::is_blank),
            FieldValue::Typed(_) => false,
        };
        if !is_blank_somewhere {
            return Some(self);
        }
        match self.into_value().into_owned() {
            Value::Array(mut items) => {
                items.retain(|item| !is_blank(item));
                (!items.is_empty()).then(|| FieldValue::Json(Cow::Owned(Value::Array(items))))
            }
            _ => None,
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

/// Returns whether a reference is blank, or a list of references has a blank entry.
fn has_blank(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_blank),
        other => is_blank(other),
    }
}

/// Returns whether a reference is a text of white space, or an object or a list with nothing else. Null is not blank: a
/// metric reads it as a missing value.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => !items.is_empty() && items.iter().all(is_blank),
        Value::Object(object) => match (object.get("answer"), object.get("text")) {
            // A reference of a Sample, and a part of its answer.
            (Some(Value::Array(parts)), _) => parts.iter().all(is_blank),
            (Some(answer), _) => is_blank(answer),
            (None, Some(text)) => is_blank(text),
            (None, None) => false,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Follows steps from a member of a typed document; `None` if one leads nowhere.
pub(crate) fn walk_members<'a>(
    document: &'a impl JsonMembers,
    key: &str,
    rest: &[PathStep],
) -> Option<FieldValue<'a>> {
    match document.member(key) {
        Some(member) => walk_member(member, rest),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvalContext, FieldPath, JsonView, Sample};
    use serde_json::json;

    /// Returns the reference at a path of a Sample.
    fn reference_at(sample: &Value, path: &str) -> Option<Value> {
        let read = Sample::from_value(sample.clone()).expect("a Sample");
        let [typed, json] = [JsonView::Sample(&read), JsonView::Json(sample)].map(|sample| {
            let roots = EvalContext {
                sample,
                model_output: (&Value::Null).into(),
                judge_output: &Value::Null,
                support_output: &Value::Null,
            };
            let found = FieldPath::new(path).find(roots)?.into_reference()?;
            Some(found.into_value().into_owned())
        });
        // The text of an answer is a list of parts in a Sample.
        assert_eq!(typed.is_some(), json.is_some(), "{path} of {sample}");
        typed
    }

    #[test]
    fn blank_references_are_missing_and_left_out_of_lists() {
        let part = |text: &str| json!({"answer": [{"type": "text", "text": text}]});
        for (fields, path, expected) in [
            (json!({"label": "", "references": [""]}), "label", None),
            (json!({"label": " \n", "references": [" \n"]}), "label", None),
            (json!({"label": "0", "references": ["0"]}), "label", Some(json!("0"))),
            (json!({"references": [{"answer": ""}]}), "references", None),
            (json!({"references": [{"answer": ""}]}), "references.0", None),
            (json!({"references": [{"answer": ""}]}), "references.0.answer", None),
            (json!({"references": []}), "references", Some(json!([]))),
            (json!({"references": [part(""), part("b")]}), "references", Some(json!([part("b")]))),
            (json!({"metadata": {"list": ["", " "]}}), "metadata.list", None),
            (json!({"metadata": {"list": ["", "a", 0]}}), "metadata.list", Some(json!(["a", 0]))),
            (json!({"metadata": {"list": [["", ""]]}}), "metadata.list", None),
            (json!({"metadata": {"list": [null, false]}}), "metadata.list", Some(json!([null, false]))),
            (json!({"metadata": {"one": {"kind": "x"}}}), "metadata.one", Some(json!({"kind": "x"}))),
        ] {
            let mut sample = json!({
                "schema_version": "v1", "id": "q", "messages": [{"role": "user", "content": "q"}],
                "references": [],
            });
            for (name, value) in fields.as_object().into_iter().flatten() {
                sample[name] = value.clone();
            }
            if let Some(references) = sample["references"].as_array_mut() {
                for reference in references.iter_mut().filter(|reference| reference.is_string()) {
                    *reference = json!({"answer": reference.take()});
                }
            }
            assert_eq!(reference_at(&sample, path), expected, "{path} of {fields}");
        }
    }
}
