//! Text predictions and correct answers, in the forms that suites and datasets use.

use crate::answer::value_of;
use crate::json::read;
use crate::params::flag_schema;
use crate::text::strip;
use crate::value::as_text;
use gage_sdk::metric::Value;
use gage_sdk::{PluginError, serde_json};
use std::borrow::Cow;

/// Keys of an object that may hold its text; the first one present counts.
const KEYS: [&str; 3] = ["text", "answer", "value"];

/// Types other than text that are accepted as a prediction or a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// No other types: a number as a summary or a translation is a mistake of the suite.
    Texts,
    /// Numbers and booleans, as spelled in JSON: they are common answers to questions.
    Scalars,
    /// All types: a value without a text counts as spelled in JSON, and nothing is an error.
    Anything,
}

impl Accepts {
    fn scalars(self) -> bool {
        self != Accepts::Texts
    }
}

/// Returns the text of a prediction; `None` if there is none.
///
/// # Errors
/// `invalid-input` for types that are not accepted.
pub fn prediction(value: &Value, accepts: Accepts) -> Result<Option<Cow<'_, str>>, PluginError> {
    let is_accepted = accepts == Accepts::Anything
        || match value {
            Value::Absent | Value::Text(_) => true,
            Value::Number(number) => accepts.scalars() && number.is_finite(),
            Value::Boolean(_) => accepts.scalars(),
            Value::Texts(_) => false,
            Value::Json(json) => accepts.scalars() && !json.trim_start().starts_with(['[', '{', '"']),
        };
    if is_accepted {
        return Ok(as_text(value));
    }
    let wanted = if accepts.scalars() { "a text, a number or a boolean" } else { "a text" };
    Err(PluginError::invalid_input(format!(
        "the prediction must be {wanted}; set 'prediction_field' to the path of one"
    )))
}

/// Returns the texts of all references. A text gives itself, or its parts if there is a separator, and a list gives the
/// texts of its items. An object gives its `text`, `answer` or `value`, which may be a list in turn. Nulls are skipped.
///
/// `None` if there is no value at all, which differs from an empty list. With [`Accepts::Anything`] the members of the
/// outermost list are read as by [`text`].
///
/// # Errors
/// `invalid-input` for objects without such a member, and for types that are not accepted.
pub fn references<'value>(
    value: &'value Value,
    separator: Option<&str>,
    accepts: Accepts,
) -> Result<Option<Vec<Cow<'value, str>>>, PluginError> {
    Ok(Some(match value {
        Value::Absent => return Ok(None),
        Value::Text(text) => match separator {
            Some(separator) => text.split(separator).map(Cow::Borrowed).collect(),
            None => vec![Cow::Borrowed(text)],
        },
        Value::Texts(texts) => texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect(),
        Value::Number(number) if accepts == Accepts::Scalars && !number.is_finite() => {
            return Err(refuse(accepts));
        }
        Value::Number(_) | Value::Boolean(_) if accepts.scalars() => as_text(value).into_iter().collect(),
        Value::Number(_) | Value::Boolean(_) => return Err(refuse(accepts)),
        Value::Json(spelled) => match (read(value, "references"), accepts) {
            (Ok(serde_json::Value::Array(items)), Accepts::Anything) => {
                items.iter().filter_map(text).map(Cow::Owned).collect()
            }
            (Ok(other), Accepts::Anything) => text(&other).map(Cow::Owned).into_iter().collect(),
            (Err(_), Accepts::Anything) => vec![Cow::Borrowed(spelled)],
            (json, Accepts::Texts | Accepts::Scalars) => {
                let mut texts = Vec::new();
                collect(json?, accepts, &mut texts)?;
                texts.into_iter().map(Cow::Owned).collect()
            }
        },
    }))
}

fn collect(json: serde_json::Value, accepts: Accepts, texts: &mut Vec<String>) -> Result<(), PluginError> {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};
    match json {
        Null => Ok(()),
        String(text) => {
            texts.push(text);
            Ok(())
        }
        Array(items) => items.into_iter().try_for_each(|item| collect(item, accepts, texts)),
        Object(mut object) => match KEYS.iter().find_map(|key| object.remove(*key)) {
            Some(member) => collect(member, accepts, texts),
            None => Err(refuse(accepts)),
        },
        Number(_) | Bool(_) if accepts.scalars() => {
            // Read again by the host's rules, in which 1.0 is 1.
            texts.extend(as_text(&scalar(&json)).map(Cow::into_owned));
            Ok(())
        }
        Number(_) | Bool(_) => Err(refuse(accepts)),
    }
}

fn scalar(json: &serde_json::Value) -> Value {
    /// Integers up to this value are exact in a float.
    const EXACT: u64 = 1 << 53;
    let is_exact = json.as_i64().is_none_or(|whole| whole.unsigned_abs() <= EXACT)
        && json.as_u64().is_none_or(|whole| whole <= EXACT);
    match (json.as_bool(), json.as_f64()) {
        (Some(boolean), _) => Value::Boolean(boolean),
        (None, Some(number)) if is_exact => Value::Number(number),
        _ => Value::Json(json.to_string()),
    }
}

fn refuse(accepts: Accepts) -> PluginError {
    let wanted = if accepts.scalars() { "texts, numbers or booleans" } else { "texts" };
    PluginError::invalid_input(format!(
        "references must be {wanted}, lists of them, or objects with 'text', 'answer' or 'value'; \
         set 'references_field' to the path of such"
    ))
}

/// Returns the texts of a reference of any type, like [`references`]. An empty text counts as missing, except in a
/// list, where it is an empty answer.
pub fn texts(reference: &Value) -> Vec<String> {
    if matches!(reference, Value::Text(text) if text.is_empty()) {
        return Vec::new();
    }
    let texts = references(reference, None, Accepts::Anything).ok().flatten().unwrap_or_default();
    texts.into_iter().map(Cow::into_owned).collect()
}

/// Returns the text of one item of any type; `None` for null. An item in the form of the Sample's references,
/// `{"answer": …}`, gives its answer. Any other item that is not a text gives its JSON spelling.
pub fn text(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Object(entry) => match entry.get("answer") {
            Some(serde_json::Value::Array(parts)) => Some(
                parts
                    .iter()
                    .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
                    .collect(),
            ),
            Some(answer) => text(answer),
            None => Some(value.to_string()),
        },
        _ => Some(value.to_string()),
    }
}

/// Returns a reference in the form that is compared. In the form of the Sample's references,
/// `{"answer": [{"type": "text", "text": "…"}]}`, this is its text. The same applies to the list of parts itself. A list
/// of such references becomes a list of their texts. Anything else stays as it is.
pub fn plain(reference: &Value) -> Cow<'_, Value> {
    match reference {
        // Hardly any reference has either form.
        Value::Json(spelled) if spelled.contains(r#""text""#) => match serde_json::from_str(spelled) {
            Ok(json) => match plain_json(&json) {
                Cow::Borrowed(_) => Cow::Borrowed(reference),
                Cow::Owned(plain) => Cow::Owned(value_of(plain)),
            },
            Err(_) => Cow::Borrowed(reference),
        },
        _ => Cow::Borrowed(reference),
    }
}

/// Returns a JSON reference in the form that is compared.
pub fn plain_json(reference: &serde_json::Value) -> Cow<'_, serde_json::Value> {
    if let Some(said) = said(reference) {
        return Cow::Owned(said.into());
    }
    match reference.as_array() {
        Some(items) if items.iter().any(|item| said(item).is_some()) => {
            Cow::Owned(items.iter().map(|item| said(item).map_or_else(|| item.clone(), Into::into)).collect())
        }
        _ => Cow::Borrowed(reference),
    }
}

/// Returns the text of a reference in the Sample's form, or of its parts; `None` for anything else, and for media.
fn said(reference: &serde_json::Value) -> Option<String> {
    let parts = reference.get("answer").unwrap_or(reference).as_array().filter(|parts| !parts.is_empty())?;
    let text = |part: &serde_json::Value| match (part.get("type")?.as_str()?, part.get("text")?) {
        ("text", serde_json::Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    parts.iter().map(text).collect()
}

/// Returns the parameter that makes a reference a list of correct answers.
pub fn any_reference_schema() -> (String, serde_json::Value) {
    let description = "Treat the reference as a list of correct answers, any of which is accepted";
    ("any_reference".to_owned(), flag_schema(false, description))
}

/// Returns the correct answers of a reference: its items if it is a list of them (`any`), otherwise the reference
/// itself.
pub fn each(any: bool, reference: &Value) -> Cow<'_, [Value]> {
    let single = Cow::Borrowed(std::slice::from_ref(reference));
    match reference {
        Value::Texts(texts) if any => texts.iter().cloned().map(Value::Text).collect(),
        Value::Json(_) if any => match reference.to_json() {
            serde_json::Value::Array(items) => items.into_iter().map(value_of).collect(),
            _ => single,
        },
        _ => single,
    }
}

/// Returns the correct answers of a reference with a list of `aliases`: its `value`, which may be a list, and the
/// aliases. Empty for any other reference. The aliases of a list are an object, and do not count here.
pub fn aliased(reference: &Value) -> Vec<serde_json::Value> {
    use serde_json::Value::{Array, Object, String};
    let Value::Json(spelled) = reference else { return Vec::new() };
    // Hardly any reference has aliases.
    if !spelled.contains(r#""aliases""#) {
        return Vec::new();
    }
    let Ok(Object(mut fields)) = serde_json::from_str(spelled) else { return Vec::new() };
    let Some(aliases @ (Array(_) | String(_))) = fields.remove("aliases") else { return Vec::new() };
    let members = |json: serde_json::Value| match json {
        Array(items) => items,
        single => vec![single],
    };
    let value = fields.remove("value").unwrap_or_default();
    [value, aliases].into_iter().flat_map(members).filter(|answer| !answer.is_null()).collect()
}

/// Returns the correct answers of a reference like [`each`], and those that its `aliases` add.
pub fn each_accepted(any: bool, reference: &Value) -> Cow<'_, [Value]> {
    let answers = each(any, reference);
    let added: Vec<Value> = answers.iter().flat_map(aliased).map(value_of).collect();
    if added.is_empty() {
        return answers;
    }
    let mut answers = answers.into_owned();
    answers.extend(added);
    Cow::Owned(answers)
}

/// Returns a reference if at least one of its correct answers exists, otherwise an absent value. `right` are those
/// answers, as [`each`] gives them.
pub fn present<'value>(right: &[Value], reference: &'value Value) -> &'value Value {
    if right.iter().all(|right| *right == Value::Absent) { &Value::Absent } else { reference }
}

/// Returns whether a reference that names options has none: there is no value, or an empty list.
pub fn is_empty(reference: &Value) -> bool {
    match reference {
        Value::Absent => true,
        Value::Texts(texts) => texts.is_empty(),
        Value::Json(json) => {
            let inside = json.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            inside.is_some_and(|inside| inside.trim().is_empty())
        }
        _ => false,
    }
}

/// Returns the correct answers of a Sample: those of the label, or all references if the label is the first of several.
/// `references` is the Sample's list of them; any other value counts as none.
pub fn of_label(label: Vec<String>, references: &Value) -> Vec<String> {
    let all = match references {
        Value::Json(_) | Value::Texts(_) => texts(references),
        _ => Vec::new(),
    };
    match label.as_slice() {
        [only] if all.len() > 1 && all.first() == Some(only) => all,
        _ => label,
    }
}

/// Splits a single-text reference at a separator, and drops blank parts.
pub fn split(texts: Vec<String>, separator: Option<&str>) -> Vec<String> {
    match (texts.as_slice(), separator) {
        ([text], Some(separator)) if !separator.is_empty() => {
            text.split(separator).filter(|part| !strip(part).is_empty()).map(str::to_owned).collect()
        }
        _ => texts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn references_have_many_shapes() {
        let spelled = |json: &str| Value::Json(json.to_owned());
        for (reference, expected) in [
            (Value::Absent, vec![]),
            (Value::Text(String::new()), vec![]),
            (Value::Text("a".to_owned()), vec!["a"]),
            (Value::Number(5.0), vec!["5"]),
            (Value::Boolean(true), vec!["true"]),
            (spelled(r#"["a",null,1,1.5,true,""]"#), vec!["a", "1", "1.5", "true", ""]),
            (spelled(r#"[{"answer":[{"type":"text","text":"a"}]},{"answer":"b"}]"#), vec!["a", "b"]),
            (spelled(r#"[{"text":"x"},["y"]]"#), vec![r#"{"text":"x"}"#, r#"["y"]"#]),
            (spelled("not json"), vec!["not json"]),
        ] {
            assert_eq!(texts(&reference), expected);
        }
    }

    #[test]
    fn references_without_answers_are_found() {
        let json = |json: &str| Value::Json(json.to_owned());
        for (reference, is_absent, is_without_options) in [
            (Value::Absent, true, true),
            (Value::Texts(Vec::new()), true, true),
            (json(" [ ] "), true, true),
            (json("[null]"), true, false),
            (json(r#"["a"]"#), false, false),
            (json("{}"), false, false),
            (Value::from(""), false, false),
        ] {
            let right = each(true, &reference);
            assert_eq!(*present(&right, &reference) == Value::Absent, is_absent, "{reference:?}");
            assert_eq!(is_empty(&reference), is_without_options, "{reference:?}");
        }
    }

    #[test]
    fn each_of_several_references_is_correct() {
        let label = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let several =
            || Value::from(json!([{ "answer": [{ "type": "text", "text": "a" }] }, { "answer": "b" }]));
        for (given, references, expected) in [
            (label(&["a"]), several(), label(&["a", "b"])),
            (label(&["b"]), several(), label(&["b"])),
            (label(&["a", "c"]), several(), label(&["a", "c"])),
            (label(&["a"]), Value::from(json!(["a"])), label(&["a"])),
            (label(&["a"]), Value::from("the id"), label(&["a"])),
            (label(&["a"]), Value::Absent, label(&["a"])),
            (label(&[]), several(), label(&[])),
        ] {
            assert_eq!(of_label(given.clone(), &references), expected, "{given:?} {references:?}");
        }
    }

    #[test]
    fn references_of_the_sample_are_their_texts() {
        let part = |text: &str| json!({ "type": "text", "text": text });
        let image = json!({ "type": "image_url", "image_url": { "url": "text" }, "text": "a" });
        for (reference, expected) in [
            (json!({ "answer": [part("a")], "meta": { "k": 1 } }), Some(json!("a"))),
            (json!({ "answer": [part("a"), part("b")] }), Some(json!("ab"))),
            (json!([part("a")]), Some(json!("a"))),
            (json!([{ "answer": [part("a")] }, "b", 3]), Some(json!(["a", "b", 3]))),
            (json!({ "answer": "a", "text": "b" }), None),
            (json!({ "answer": [part("a"), image] }), None),
            (json!({ "answer": [] }), None),
            (json!(["text"]), None),
            (json!("text"), None),
        ] {
            let found = plain_json(&reference).into_owned();
            let expected = expected.unwrap_or_else(|| reference.clone());
            assert_eq!(found, expected, "{reference}");
            let value = Value::Json(reference.to_string());
            let as_value = if expected == reference { value.clone() } else { value_of(expected) };
            assert_eq!(plain(&value).into_owned(), as_value, "{reference}");
        }
    }

    #[test]
    fn each_of_several_is_a_value_of_its_own_kind() {
        let list = Value::Json(r#"["a",2,true,null]"#.to_owned());
        let items = [Value::from("a"), Value::Number(2.0), Value::Boolean(true), Value::Absent];
        assert_eq!(each(true, &list).into_owned(), items);
        assert_eq!(each(false, &list).into_owned(), [list]);
        assert_eq!(each(true, &Value::from("a")).into_owned(), [Value::from("a")]);
        assert_eq!(each(true, &Value::Json("[]".to_owned())).len(), 0);
    }

    #[test]
    fn aliases_are_correct_answers_too() {
        for (reference, expected) in [
            (
                json!({ "value": "B", "aliases": ["option_b", "b"] }),
                vec![json!("B"), json!("option_b"), json!("b")],
            ),
            (json!({ "value": ["B", 2], "aliases": "b" }), vec![json!("B"), json!(2), json!("b")]),
            (json!({ "aliases": [null, "b"] }), vec![json!("b")]),
            (json!({ "value": ["ai"], "aliases": { "ai": ["AI"] } }), vec![]),
            (json!({ "value": "B" }), vec![]),
            (json!(["aliases"]), vec![]),
        ] {
            let value = Value::Json(reference.to_string());
            assert_eq!(aliased(&value), expected, "{reference}");
            let accepted = each_accepted(false, &value);
            assert_eq!(accepted.first(), Some(&value), "{reference}");
            assert_eq!(accepted.len(), 1 + expected.len(), "{reference}");
        }
        assert!(aliased(&Value::from("aliases")).is_empty());
        let several = Value::Json(r#"["A",{"value":"B","aliases":["b"]}]"#.to_owned());
        assert_eq!(each_accepted(true, &several).len(), 4);
    }

    #[test]
    fn one_text_is_split() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        assert_eq!(split(owned(&["||a|| "]), Some("||")), ["a"]);
        assert_eq!(split(owned(&["a|b", "c"]), Some("|")), ["a|b", "c"]);
        assert_eq!(split(owned(&["a|b"]), Some("")), ["a|b"]);
        assert_eq!(split(owned(&["a|b"]), None), ["a|b"]);
    }

    #[test]
    fn strict_references_have_many_shapes() {
        for (value, expected) in [
            (json!("a|b"), vec!["a|b"]),
            (json!(["a", null, ""]), vec!["a", ""]),
            (json!([{ "text": "a" }, { "answer": ["b", { "value": "c" }] }]), vec!["a", "b", "c"]),
            (json!({ "text": ["a", "b"], "answer_start": [1, 2] }), vec!["a", "b"]),
            (json!([]), vec![]),
        ] {
            let json = Value::Json(value.to_string());
            let found = references(&json, None, Accepts::Texts);
            assert_eq!(found, Ok(Some(expected.into_iter().map(Cow::from).collect())), "{value}");
        }
        let text = Value::from("a|b");
        assert_eq!(references(&text, Some("|"), Accepts::Texts), Ok(Some(vec!["a".into(), "b".into()])));
        assert_eq!(references(&Value::Absent, None, Accepts::Texts), Ok(None));
    }

    #[test]
    fn numbers_are_texts_only_where_they_may_be() {
        for value in [json!(2), json!([2.0]), json!({ "value": 2 })] {
            let value = Value::Json(value.to_string());
            assert_eq!(references(&value, None, Accepts::Scalars), Ok(Some(vec!["2".into()])));
            assert!(references(&value, None, Accepts::Texts).is_err());
        }
        let large = Value::Json("[9007199254740993]".to_owned());
        assert_eq!(references(&large, None, Accepts::Scalars), Ok(Some(vec!["9007199254740993".into()])));
        assert_eq!(prediction(&Value::Number(2.0), Accepts::Scalars), Ok(Some("2".into())));
        for value in
            [Value::Number(2.0), Value::Boolean(true), Value::Json("12345678901234567890".to_owned())]
        {
            assert!(prediction(&value, Accepts::Texts).is_err());
            assert!(prediction(&value, Accepts::Scalars).is_ok());
        }
    }

    #[test]
    fn anything_is_no_error() {
        for (value, expected) in [
            (Value::Number(f64::NAN), "NaN"),
            (Value::Json("[1e400]".to_owned()), "[1e400]"),
            (Value::Json(r#"{"other":1}"#.to_owned()), r#"{"other":1}"#),
        ] {
            assert_eq!(references(&value, None, Accepts::Anything), Ok(Some(vec![expected.into()])));
            assert_eq!(prediction(&value, Accepts::Anything), Ok(as_text(&value)));
        }
    }

    #[test]
    fn other_values_are_refused() {
        for accepts in [Accepts::Texts, Accepts::Scalars] {
            for value in [
                Value::Json(r#"["a",{"other":1}]"#.to_owned()),
                Value::Json("[1e400]".to_owned()),
                Value::Number(f64::NAN),
                Value::Number(f64::INFINITY),
            ] {
                assert!(references(&value, None, accepts).is_err(), "{value:?}");
            }
            for value in [
                Value::Json(r#"{"text":"a"}"#.to_owned()),
                Value::Texts(vec!["a".to_owned()]),
                Value::Number(f64::NAN),
            ] {
                assert!(prediction(&value, accepts).is_err(), "{value:?}");
            }
        }
    }
}
