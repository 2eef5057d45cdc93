//! References and labels: the forms of right answers in raw rows, and their standard form.

use crate::sample::{reference, text_part};
use gage_row_kit::fields::{Fields, object, text};
use gage_row_kit::media::Kind;
use gage_sdk::serde_json::Value;
use std::borrow::Cow;

/// Converts an answer to references. It may be a text, a number, a part of a message, an object with `answer` or
/// `text`, or a list of these. It may also be lists in an object (`{"text": […]}`). A list of parts is one answer.
pub(crate) fn references_of(answer: Value) -> Vec<Value> {
    match answer {
        Value::Array(items) if !items.is_empty() && items.iter().all(is_part) => {
            vec![object([("answer", items.into())])]
        }
        Value::Array(items) => items.into_iter().map(as_reference).collect(),
        Value::Object(members) if members.get("text").is_some_and(Value::is_array) => parallel(members),
        single => vec![as_reference(single)],
    }
}

/// Converts parallel lists to answers. Other values of each answer become its `meta`.
fn parallel(mut members: Fields) -> Vec<Value> {
    let Some(Value::Array(texts)) = members.shift_remove("text") else { return Vec::new() };
    let about = |index: usize| -> Fields {
        let item = |(name, value): (&String, &Value)| {
            let item = value.as_array().map_or(Some(value), |items| items.get(index))?;
            Some((name.clone(), item.clone()))
        };
        members.iter().filter_map(item).collect()
    };
    let answers = texts.into_iter().map(as_reference).enumerate();
    answers.map(|(index, reference)| with_meta(reference, about(index))).collect()
}

fn with_meta(mut reference: Value, meta: Fields) -> Value {
    if let Value::Object(members) = &mut reference
        && !meta.is_empty()
    {
        members.insert("meta".to_owned(), meta.into());
    }
    reference
}

/// Returns whether an answer is empty: a list without items.
pub(crate) fn is_empty(answer: &Value) -> bool {
    let listed = answer.get("text").unwrap_or(answer);
    listed.as_array().is_some_and(Vec::is_empty)
}

/// Returns a reference in its standard form. A value that cannot be one stays as it is, and the host rejects it.
pub(crate) fn as_reference(value: Value) -> Value {
    match value {
        Value::String(text) => reference(text),
        part if is_part(&part) => object([("answer", Value::Array(vec![part]))]),
        Value::Object(members) => from_object(members),
        Value::Null => Value::Null,
        other => match text(&other) {
            Some(text) => reference(text),
            None => other,
        },
    }
}

fn from_object(mut members: Fields) -> Value {
    if let Some(answer) = members.get_mut("answer") {
        if let Some(text) = text(answer).map(Cow::into_owned) {
            *answer = Value::Array(vec![text_part(text)]);
        } else if is_part(answer) {
            *answer = Value::Array(vec![answer.take()]);
        }
        return Value::Object(members);
    }
    let Some(text) = members.get("text").and_then(text).map(Cow::into_owned) else {
        return Value::Object(members);
    };
    members.shift_remove("text");
    with_meta(reference(text), members)
}

fn is_part(value: &Value) -> bool {
    value.get("type").is_some_and(Value::is_string)
}

/// Returns a reference as one text, for a label: its first part if that is media, otherwise the text of all its parts.
pub(crate) fn reference_text(reference: &Value) -> Option<Cow<'_, str>> {
    let answer = match reference {
        Value::Object(members) => members.get("answer")?,
        other => other,
    };
    match answer {
        Value::Array(parts) => match parts.as_slice() {
            [] => None,
            [single] => media_url(single).or_else(|| part_text(single)).map(Cow::Borrowed),
            [first, ..] => media_url(first)
                .map(Cow::Borrowed)
                .or_else(|| Some(parts.iter().filter_map(part_text).collect::<String>().into())),
        },
        scalar => text(scalar),
    }
}

fn part_text(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}

fn media_url(part: &Value) -> Option<&str> {
    let kind = part.get("type")?.as_str()?;
    let kind = Kind::ALL.into_iter().find(|known| known.part_type() == kind)?;
    let inner = part.get(kind.part_type())?;
    inner.as_str().or_else(|| inner.get("url")?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn answers_have_many_shapes() {
        let image = json!({ "type": "image_url", "image_url": { "url": "a.png" } });
        for (answer, expected, label) in [
            (json!("a"), json!([reference("a")]), Some("a")),
            (json!(4), json!([reference("4")]), Some("4")),
            (json!(["a", 2]), json!([reference("a"), reference("2")]), Some("a")),
            (json!([]), json!([]), None),
            (
                json!({ "answer": "a", "meta": { "k": 1 } }),
                json!([{ "answer": [text_part("a")], "meta": { "k": 1 } }]),
                Some("a"),
            ),
            (
                json!({ "text": "a", "start": 3 }),
                json!([{ "answer": [text_part("a")], "meta": { "start": 3 } }]),
                Some("a"),
            ),
            (
                json!({ "text": ["a", "b"], "start": [1, 2] }),
                json!([
                    { "answer": [text_part("a")], "meta": { "start": 1 } },
                    { "answer": [text_part("b")], "meta": { "start": 2 } },
                ]),
                Some("a"),
            ),
            (image.clone(), json!([{ "answer": [image] }]), Some("a.png")),
            (
                json!([text_part("a"), text_part("b")]),
                json!([{ "answer": [text_part("a"), text_part("b")] }]),
                Some("ab"),
            ),
            (json!({ "answer": image }), json!([{ "answer": [image] }]), Some("a.png")),
            (json!({ "other": 1 }), json!([{ "other": 1 }]), None),
        ] {
            let references = references_of(answer.clone());
            let found = references.first().and_then(reference_text);
            assert_eq!(found.as_deref(), label, "{answer}");
            assert_eq!(json!(references), expected, "{answer}");
        }
    }
}
