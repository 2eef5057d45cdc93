//! Answer types, and the rules that determine the type of an answer.

use crate::canonical::member;
use gage_choice_kit::Choices;
use gage_sdk::PluginError;
use gage_sdk::serde_json::{Map, Value};
use gage_text_kit::answer::value_of;

/// Type of an answer; each has its own strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerType {
    /// One of several options, or a short label.
    Choice,
    /// A number, with or without a unit.
    Number,
    /// A list of items.
    List,
    /// A text.
    Text,
    /// A final answer of one of the other types, with the argument for it.
    Reasoning,
}

impl AnswerType {
    /// Names of the types.
    pub(crate) const NAMES: [(&'static str, AnswerType); 5] = [
        ("choice", AnswerType::Choice),
        ("number", AnswerType::Number),
        ("list", AnswerType::List),
        ("text", AnswerType::Text),
        ("reasoning", AnswerType::Reasoning),
    ];

    /// Returns the name of the type.
    pub(crate) fn name(self) -> &'static str {
        AnswerType::NAMES.iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }

    /// Returns the type with a name.
    pub(crate) fn parse(name: &str) -> Option<AnswerType> {
        AnswerType::NAMES.iter().find(|(other, _)| *other == name).map(|(_, found)| *found)
    }

    /// Returns the type that an object names under `answer_type`.
    ///
    /// # Errors
    /// `invalid-input` for anything except one of the five words.
    pub(crate) fn named(fields: &Map<String, Value>) -> Result<Option<AnswerType>, PluginError> {
        let Some(name) = fields.get("answer_type").filter(|name| !name.is_null()) else { return Ok(None) };
        name.as_str().and_then(AnswerType::parse).map(Some).ok_or_else(|| {
            let message = "'answer_type' must be choice, number, list, text or reasoning";
            PluginError::invalid_input(format!("{message}, not {name}")).at("/answer_type")
        })
    }

    /// Returns the type of a reference. The first source that determines it wins: its own `answer_type`; members that
    /// only one type has; `kind`, the kind that the answer was extracted as; the value itself; the options, if a text
    /// may be one of them.
    ///
    /// A number or a list has its own type, unless the kind is a choice. The text of an option is a choice. So is an
    /// object with a list of `aliases`, even if another kind was extracted. The aliases of a list are an object.
    ///
    /// # Errors
    /// `invalid-input` for an invalid `answer_type`.
    pub(crate) fn of(
        reference: &Value,
        kind: Option<AnswerType>,
        choices: &Choices,
    ) -> Result<Option<AnswerType>, PluginError> {
        let Value::Object(fields) = reference else { return Ok(of_value(reference, kind, choices)) };
        if let Some(named) = AnswerType::named(fields)? {
            return Ok(Some(named));
        }
        let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
        Ok(if has(&["final_answer", "steps", "claims"]) {
            Some(AnswerType::Reasoning)
        } else if has(&["items"]) {
            Some(AnswerType::List)
        } else if has(&["keywords", "normalize"]) {
            Some(AnswerType::Text)
        } else if has(&["unit", "tolerance", "tolerance_abs", "tolerance_rel"]) {
            Some(AnswerType::Number)
        } else if has(&["aliases"]) && !member(reference, "aliases").is_object() {
            kind.filter(|kind| *kind == AnswerType::Reasoning).or(Some(AnswerType::Choice))
        } else {
            fields.get("value").map_or(kind, |value| of_value(value, kind, choices))
        })
    }
}

fn of_value(value: &Value, kind: Option<AnswerType>, choices: &Choices) -> Option<AnswerType> {
    use AnswerType::{Choice, List, Number, Reasoning, Text};
    match (value, kind) {
        (_, Some(Reasoning | Choice)) => kind,
        (Value::Number(_), _) => Some(Number),
        (Value::Bool(_), _) => Some(Choice),
        // A list of reference texts.
        (Value::Array(_), Some(Text)) => Some(Text),
        (Value::Array(_), _) => Some(List),
        (Value::String(text), _) if !choices.is_unknown() => {
            let is_option = choices.resolve(&value_of(text.as_str().into())).is_some();
            if is_option { Some(Choice) } else { kind.or(Some(Choice)) }
        }
        _ => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;
    use gage_sdk::metric::Value as Input;

    #[test]
    fn types() {
        use AnswerType::{Choice, List, Number, Reasoning, Text};
        let known = Choices::new(&Input::Json(r#"{"A":"Shark","B":"Dolphin"}"#.to_owned()));
        let unknown = Choices::default();
        for (reference, kind, choices, expected) in [
            (json!({ "value": "B", "aliases": ["b"] }), None, &unknown, Some(Choice)),
            (json!({ "value": "B", "aliases": ["b"] }), Some(Text), &unknown, Some(Choice)),
            (json!({ "value": "B", "aliases": ["b"] }), Some(Reasoning), &unknown, Some(Reasoning)),
            (json!({ "value": ["a"], "aliases": { "a": ["b"] } }), Some(Text), &unknown, Some(Text)),
            (json!({ "value": ["a"], "aliases": { "a": ["b"] } }), None, &unknown, Some(List)),
            (json!({ "value": "x", "normalize": "basic", "aliases": ["y"] }), None, &unknown, Some(Text)),
            (json!({ "value": 12.5, "unit": "%" }), None, &unknown, Some(Number)),
            (json!({ "value": "12.5", "tolerance_abs": 1 }), Some(Text), &unknown, Some(Number)),
            (json!({ "value": "x", "normalize": "basic" }), None, &unknown, Some(Text)),
            (json!({ "keywords": ["x"] }), None, &unknown, Some(Text)),
            (json!({ "items": [] }), Some(Text), &unknown, Some(List)),
            (json!({ "final_answer": { "value": 1 } }), None, &unknown, Some(Reasoning)),
            (json!({ "answer_type": "text", "items": [] }), None, &unknown, Some(Text)),
            (json!(5), None, &unknown, Some(Number)),
            (json!(5), Some(Text), &unknown, Some(Number)),
            (json!(5), Some(Choice), &unknown, Some(Choice)),
            (json!(5), Some(Reasoning), &unknown, Some(Reasoning)),
            (json!(true), None, &unknown, Some(Choice)),
            (json!(["a"]), None, &unknown, Some(List)),
            (json!(["a"]), Some(Text), &unknown, Some(Text)),
            (json!(["a"]), Some(Choice), &unknown, Some(Choice)),
            (json!("B"), None, &known, Some(Choice)),
            (json!("dolphin"), Some(Text), &known, Some(Choice)),
            (json!("whale"), Some(Text), &known, Some(Text)),
            (json!("whale"), None, &known, Some(Choice)),
            (json!("B"), None, &unknown, None),
            (json!("B"), Some(Number), &unknown, Some(Number)),
            (json!({}), None, &unknown, None),
            (json!(null), Some(List), &unknown, Some(List)),
        ] {
            let found = AnswerType::of(&reference, kind, choices);
            assert_eq!(found, Ok(expected), "{reference} {kind:?}");
        }
        for name in [json!("essay"), json!(1), json!("Choice")] {
            assert!(AnswerType::of(&json!({ "answer_type": name }), None, &unknown).is_err(), "{name}");
        }
    }

    #[test]
    fn each_type_has_one_name() {
        for (name, found) in AnswerType::NAMES {
            assert_eq!((AnswerType::parse(name), found.name()), (Some(found), name));
        }
        assert_eq!(AnswerType::parse("formula"), None);
    }
}
