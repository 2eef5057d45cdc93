//! Answers in the forms of the dataset DROP, and in those of other rows.

use gage_sdk::PluginError;
use gage_sdk::metric::Value;
use gage_sdk::serde_json::{self, Map};
use gage_text_kit::text::strip;

/// Returns the spans of a prediction: a text or a list. `None` if there is none.
pub(super) fn predicted(prediction: &Value) -> Result<Option<Vec<String>>, PluginError> {
    let json = prediction.to_json();
    if json.is_null() {
        return Ok(None);
    }
    let found = match &json {
        serde_json::Value::Array(spans) => spans.iter().map(span).collect(),
        other => span(other).map(|span| vec![span]),
    };
    let message = "the prediction must be a text, a number or a list of spans";
    found.map(Some).ok_or_else(|| PluginError::invalid_input(message))
}

/// Returns the correct answers of a row, each a list of spans: those of the reference, and the validated ones. An answer
/// whose first span is blank is left out.
pub(super) fn answers(reference: &Value, validated: &Value) -> Result<Vec<Vec<String>>, PluginError> {
    let mut found = Vec::new();
    match &reference.to_json() {
        serde_json::Value::Null => {}
        serde_json::Value::Array(each) if each.is_empty() || !each.iter().all(is_part) => {
            for reference in each.iter().filter(|reference| !reference.is_null()) {
                found.push(answer(reference)?);
            }
        }
        single => found.push(answer(single)?),
    }
    for reference in listed(validated.to_json()) {
        found.push(answer(&reference)?);
    }
    found.retain(|spans| spans.first().is_some_and(|first| !strip(first).is_empty()));
    Ok(found)
}

/// Returns the validated answers: a list of them, or an object of lists as in the dataset on the hub.
fn listed(validated: serde_json::Value) -> Vec<serde_json::Value> {
    let lists = match validated {
        serde_json::Value::Array(answers) => return answers,
        serde_json::Value::Object(lists) => lists,
        _ => return Vec::new(),
    };
    let length = lists.get("number").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
    let answer = |place: usize| {
        let member =
            |(name, list): (&String, &serde_json::Value)| Some((name.clone(), list.get(place)?.clone()));
        serde_json::Value::Object(lists.iter().filter_map(member).collect())
    };
    (0..length).map(answer).collect()
}

/// Returns the spans of a correct answer.
fn answer(reference: &serde_json::Value) -> Result<Vec<String>, PluginError> {
    let spans = match reference {
        serde_json::Value::Array(spans) => spans.iter().map(span).collect(),
        part if is_part(part) => span(part).map(|span| vec![span]),
        serde_json::Value::Object(fields) => match fields.get("answer") {
            Some(inner) => return answer(inner),
            None => typed(fields),
        },
        other => span(other).map(|span| vec![span]),
    };
    spans.ok_or_else(|| PluginError::invalid_input("a span of the references must be a text or a number"))
}

/// Returns the spans of an answer with a type: its number, otherwise its spans, otherwise its date.
fn typed(fields: &Map<String, serde_json::Value>) -> Option<Vec<String>> {
    let number = fields.get("number").and_then(span).filter(|number| !number.is_empty());
    if let Some(number) = number {
        return Some(vec![number]);
    }
    let spans = fields.get("spans").and_then(serde_json::Value::as_array);
    if let Some(spans) = spans.filter(|spans| !spans.is_empty()) {
        return spans.iter().map(span).collect();
    }
    let part = |name: &&str| fields.get("date").and_then(|date| date.get(*name)).and_then(span);
    let date: Vec<String> =
        ["day", "month", "year"].iter().map(|name| part(name).unwrap_or_default()).collect();
    Some(vec![strip(&date.join(" ")).to_owned()])
}

/// Returns whether a value is a text in the Sample's form of a reference, `{"answer": [{"type": "text", …}]}`.
fn is_part(value: &serde_json::Value) -> bool {
    value.get("type").and_then(serde_json::Value::as_str) == Some("text")
}

/// Returns the text of a span; `None` for lists, other objects and null.
fn span(value: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Bool, Number, String};
    match value {
        String(text) => Some(text.clone()),
        Number(_) | Bool(_) => Some(value.to_string()),
        part if is_part(part) => part.get("text")?.as_str().map(str::to_owned),
        _ => None,
    }
}
