//! Shared parts of the extractors: the parameters `kind` and `which`, and answers of a kind.

use gage_choice_kit::{Choices, extract};
use gage_sdk::extractor::{Answer, AnswerKind, Value};
use gage_sdk::serde_json::Map;
use gage_sdk::{PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::json_text::{FoundJson, Shape, find_json};
use gage_text_kit::number_search::{FoundNumber, NumberSearch, only_number};
use gage_text_kit::text::{excerpt, strip};

/// Kind of answer that a part of the text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadAs {
    Text,
    Number,
    Choice,
}

impl ReadAs {
    /// Reads the parameter `kind`, `text` by default.
    pub(crate) fn from_params(params: &Params) -> Result<ReadAs, PluginError> {
        let kinds = [("text", ReadAs::Text), ("number", ReadAs::Number), ("choice", ReadAs::Choice)];
        params.one_of("kind", &kinds, ReadAs::Text)
    }

    pub(crate) fn schema() -> serde_json::Value {
        json!({
            "enum": ["text", "number", "choice"], "default": "text",
            "description": "Type of the answer; a value that cannot be read as this type gives no answer",
        })
    }

    /// Converts a part of the text to an answer. A text is stripped of white space; a number is the first one in the part,
    /// or the first after the last equals sign, and may be a fraction; a choice is a letter from A to Z. A part with two
    /// numbers between which it does not decide, as in `7 or 9`, has none.
    ///
    /// # Errors
    /// `invalid-input` for a number beyond the range of a float.
    pub(crate) fn answer(self, stretch: &str) -> Result<Option<Answer>, PluginError> {
        let text = strip(stretch);
        if text.is_empty() {
            return Ok(None);
        }
        Ok(match self {
            ReadAs::Text => Some(Answer::text(text)),
            ReadAs::Number => first_number(text)?.map(|found| number_answer(&found)),
            ReadAs::Choice => extract(text, &Choices::default(), false).map(|label| Answer::choice(&label)),
        })
    }
}

/// Search for numbers, with fractions as one number.
const SEARCH: NumberSearch = NumberSearch { fractions: true };

/// Words between two numbers of which the answer may be either.
const OR_WORDS: [&str; 11] = ["or", "oder", "ou", "soit", "o", "или", "либо", "或", "也可能是", "या", "أو"];

/// Returns the number that a part of a text gives as its answer.
///
/// # Errors
/// `invalid-input` for a number beyond the range of a float.
pub(crate) fn first_number(text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
    if let Some(only) = only_number(text)? {
        return Ok(Some(only));
    }
    let result = text.rsplit_once('=').map(|(_, result)| result);
    if let Some(found) = result.map(|result| SEARCH.first(result)).transpose()?.flatten() {
        return Ok(Some(found));
    }
    let Some(found) = SEARCH.first(text)? else { return Ok(None) };
    Ok((!is_undecided(text, &found)?).then_some(found))
}

/// Returns the last number of a text; `None` if it does not decide between the last two.
///
/// # Errors
/// `invalid-input` for a number beyond the range of a float.
pub(crate) fn last_number(text: &str) -> Result<Option<FoundNumber<'_>>, PluginError> {
    let Some(last) = SEARCH.last(text)? else { return Ok(None) };
    let before = text.rfind(last.spelled).and_then(|at| text.get(..at)).unwrap_or_default();
    let Some(other) = SEARCH.last(before)? else { return Ok(Some(last)) };
    let start = before.rfind(other.spelled).unwrap_or_default();
    let is_undecided = is_undecided(text.get(start..).unwrap_or_default(), &other)?;
    Ok((!is_undecided).then_some(last))
}

/// Returns whether a text offers another number in place of its first one: `7 or 9`.
fn is_undecided(text: &str, first: &FoundNumber<'_>) -> Result<bool, PluginError> {
    /// Maximum number of bytes between two such numbers.
    const MAX_BYTES: usize = 40;
    let Some(rest) = text.split_once(first.spelled).map(|(_, rest)| rest) else { return Ok(false) };
    let Some(second) = SEARCH.first(rest)? else { return Ok(false) };
    let between = rest.split_once(second.spelled).map(|(between, _)| between).unwrap_or_default();
    let is_offered = |between: &str| {
        let mut words = between.split(|one: char| !one.is_alphabetic()).filter(|word| !word.is_empty());
        words.any(|word| OR_WORDS.contains(&word))
            || between.contains('或') && between.chars().count() < 8
            || between.trim() == "か"
    };
    Ok(second.value.total_cmp(&first.value).is_ne() && between.len() <= MAX_BYTES && is_offered(between))
}

/// Returns an answer that ends the chain without a number.
pub(crate) fn no_number() -> Answer {
    Answer::new(AnswerKind::Number, &json!({ "value": null }))
}

/// Converts a number to an answer, with its unit if it has one.
pub(crate) fn number_answer(found: &FoundNumber<'_>) -> Answer {
    match found.unit {
        None => Answer::number(found.value),
        Some(unit) => {
            let value = Value::Number(found.value).to_json();
            Answer::new(AnswerKind::Number, &json!({ "value": value, "unit": unit }))
        }
    }
}

/// Treatment of a JSON object that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokenObject {
    /// It is the answer, but unreadable, so there is no answer. No other object replaces it.
    NoAnswer,
    /// It does not count.
    Skip,
    /// The sample ends with an error.
    Error,
}

impl BrokenObject {
    const NAMES: [(&'static str, BrokenObject); 3] =
        [("no_answer", BrokenObject::NoAnswer), ("skip", BrokenObject::Skip), ("error", BrokenObject::Error)];

    /// Reads the parameter `broken`, `no_answer` by default.
    pub(crate) fn from_params(params: &Params) -> Result<BrokenObject, PluginError> {
        params.one_of("broken", &BrokenObject::NAMES, BrokenObject::NoAnswer)
    }

    pub(crate) fn schema() -> serde_json::Value {
        json!({
            "enum": BrokenObject::NAMES.map(|(name, _)| name), "default": "no_answer",
            "description": "Treatment of an object that is cut off or cannot be read: no answer is found \
             (`no_answer`), other objects count (`skip`), or the sample ends with an error (`error`)",
        })
    }
}

/// Returns the first JSON object of a text, or the last, in which `find` finds something. `None` also stands for an
/// object that cannot be read, if that gives no answer.
///
/// # Errors
/// `invalid-input` for an unreadable object, if that is an error, and errors of `find`.
pub(crate) fn find_object<T>(
    text: &str,
    last: bool,
    broken: BrokenObject,
    find: impl Fn(serde_json::Value, &FoundJson<'_>) -> Result<Option<T>, PluginError>,
) -> Result<Option<T>, PluginError> {
    let mut objects = find_json(text, Shape::Object);
    if last {
        objects.reverse();
    }
    for found in &objects {
        match (found.value(), broken) {
            (Ok(object), _) => {
                if let Some(answer) = find(object, found)? {
                    return Ok(Some(answer));
                }
            }
            (Err(_), BrokenObject::NoAnswer) => return Ok(None),
            (Err(_), BrokenObject::Skip) => {}
            (Err(error), BrokenObject::Error) => {
                let message = format!("the JSON object at byte {} cannot be read: {error}", found.start);
                return Err(PluginError::invalid_input(message));
            }
        }
    }
    Ok(None)
}

/// Returns the kind of answer that an object states: a list, a number, an argument with a final answer, or any other.
pub(crate) fn kind_of(object: &Map<String, serde_json::Value>) -> AnswerKind {
    let has = |key: &str| object.contains_key(key);
    match object.get("value") {
        _ if has("final_answer") || has("steps") || has("claims") => AnswerKind::Reasoning,
        _ if has("items") => AnswerKind::List,
        Some(serde_json::Value::Number(_)) => AnswerKind::Number,
        Some(_) if has("unit") => AnswerKind::Number,
        _ => AnswerKind::Text,
    }
}

/// Adds the text that an answer was read from, cut if it is very long.
pub(crate) fn with_evidence(answer: Answer, text: &str) -> Answer {
    answer.evidence(excerpt(text))
}

/// Reads the parameter `which`: the last of several counts by default, or the first.
pub(crate) fn takes_last(params: &Params) -> Result<bool, PluginError> {
    params.one_of("which", &[("last", true), ("first", false)], true)
}

pub(crate) fn which_schema() -> serde_json::Value {
    json!({ "enum": ["last", "first"], "default": "last", "description": "Match that is used if there are \
        several" })
}

/// Reads the parameter `name`: a list of texts, none of them empty, or a single text; the default if it is not given.
pub(crate) fn texts(params: &Params, name: &str, default: &[&str]) -> Result<Vec<String>, PluginError> {
    let owned = |text: &serde_json::Value| text.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let texts = match params.get(name) {
        None => return Ok(default.iter().map(|text| (*text).to_owned()).collect()),
        Some(serde_json::Value::Array(texts)) => texts.iter().map(owned).collect(),
        Some(text) => owned(text).map(|text| vec![text]),
    };
    texts.ok_or_else(|| {
        let message = format!("params: '{name}' must be a list of texts, none of them empty");
        PluginError::invalid_config(message).at(format!("/{name}"))
    })
}

#[cfg(test)]
pub(crate) mod test_support {
    //! Runs an extractor as the host does.

    use gage_sdk::extractor::{Answer, Extractor, Inputs, Value};
    use gage_sdk::{PluginError, serde_json};

    /// Returns the answer in a text; the parameters must be valid.
    pub(crate) fn answer<E: Extractor>(
        params: serde_json::Value,
        text: &str,
    ) -> Result<Option<Answer>, PluginError> {
        E::prepare(params)?.extract(Inputs::new(&[Value::Text(text.to_owned())]))
    }

    /// Returns the value of the answer as JSON; null if there is none.
    pub(crate) fn value<E: Extractor>(params: serde_json::Value, text: &str) -> serde_json::Value {
        match answer::<E>(params, text) {
            Ok(Some(answer)) => serde_json::from_str(&answer.value).unwrap_or_default(),
            Ok(None) => serde_json::Value::Null,
            Err(error) => panic!("{text}: {error:?}"),
        }
    }

    /// Returns the result for an absent text.
    pub(crate) fn absent<E: Extractor>(params: serde_json::Value) -> Result<Option<Answer>, PluginError> {
        E::prepare(params)?.extract(Inputs::new(&[Value::Absent]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_become_answers() {
        for (read_as, stretch, expected) in [
            (ReadAs::Text, " a b\n", Some(r#"{"value":"a b"}"#)),
            (ReadAs::Text, " \n", None),
            (ReadAs::Number, "x = 12.50 %", Some(r#"{"value":12.5,"unit":"%"}"#)),
            (ReadAs::Number, "3/4", Some(r#"{"value":0.75}"#)),
            (ReadAs::Number, "x = 1 1/2 kg", Some(r#"{"value":1.5,"unit":"kg"}"#)),
            (ReadAs::Number, "3 or 4", None),
            (ReadAs::Number, "8 because 3 + 4 is 7", Some(r#"{"value":8}"#)),
            (ReadAs::Number, "2 + 3 = 5", Some(r#"{"value":5}"#)),
            (ReadAs::Number, "many", None),
            (ReadAs::Choice, "(b)", Some(r#"{"value":"B"}"#)),
            (ReadAs::Choice, "42", None),
        ] {
            let value = read_as.answer(stretch).map(|answer| answer.map(|answer| answer.value));
            assert_eq!(value, Ok(expected.map(str::to_owned)), "{stretch}");
        }
        assert!(ReadAs::Number.answer("1e400").is_err());
    }

    #[test]
    fn kinds_follow_the_fields() {
        for (object, expected) in [
            (json!({ "final_answer": 1 }), AnswerKind::Reasoning),
            (json!({ "claims": [] }), AnswerKind::Reasoning),
            (json!({ "value": 12.5, "unit": "%" }), AnswerKind::Number),
            (json!({ "items": [] }), AnswerKind::List),
            (json!({ "value": "B" }), AnswerKind::Text),
        ] {
            let serde_json::Value::Object(object) = object else { panic!("an object") };
            assert_eq!(kind_of(&object), expected, "{object:?}");
        }
    }

    #[test]
    fn parameters_are_checked() {
        let params = |value| Params::new(value).unwrap_or_else(|error| panic!("{error:?}"));
        assert!(ReadAs::from_params(&params(json!({ "kind": "list" }))).is_err());
        assert!(takes_last(&params(json!({ "which": "any" }))).is_err());
        assert_eq!(texts(&params(json!({ "a": "b" })), "a", &[]), Ok(vec!["b".to_owned()]));
        assert_eq!(texts(&params(json!({})), "a", &["c"]), Ok(vec!["c".to_owned()]));
        for bad in [json!({ "a": [""] }), json!({ "a": [1] }), json!({ "a": "" }), json!({ "a": {} })] {
            assert!(texts(&params(bad.clone()), "a", &[]).is_err(), "{bad}");
        }
    }
}
