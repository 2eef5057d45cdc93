//! Texts of a record, in the form that other formats require.

use gage_core::MetricResult;
use gage_record::SampleRecord;
use serde_json::Value;

/// Returns the question of a Sample, as [`of_messages`] shows its messages.
pub(super) fn prompt(sample: &Value) -> String {
    match messages(sample) {
        [] => sample["inputs"]["prompt"].as_str().unwrap_or_default().to_owned(),
        messages => of_messages(messages),
    }
}

/// Returns the text of messages if they are a single text message. Otherwise returns the messages as JSON, as request
/// bodies have them.
pub(super) fn of_messages(messages: &[Value]) -> String {
    let only = if let [only] = messages { Some(only) } else { None };
    let text = only.filter(|only| only["role"] == "user").and_then(|only| plain(&only["content"]));
    text.unwrap_or_else(|| messages.iter().map(with_joined_texts).collect::<Value>().to_string())
}

/// Returns a message whose content is one text, if all its parts are texts without further keys.
fn with_joined_texts(message: &Value) -> Value {
    let is_bare =
        |part: &Value| part["type"] == "text" && part.as_object().is_some_and(|keys| keys.len() == 2);
    let parts = message["content"].as_array().filter(|parts| !parts.is_empty());
    let joined: Option<String> = parts
        .and_then(|parts| parts.iter().map(|part| part["text"].as_str().filter(|_| is_bare(part))).collect());
    let mut message = message.clone();
    if let Some(text) = joined {
        message["content"] = text.into();
    }
    message
}

/// Returns the messages of a Sample.
pub(super) fn messages(sample: &Value) -> &[Value] {
    sample["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the text, if a content is text only.
pub(super) fn plain(content: &Value) -> Option<String> {
    match content {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            parts.iter().map(|part| part["text"].as_str().filter(|_| part["type"] == "text")).collect()
        }
        _ => None,
    }
}

/// Returns the reference answers as text. An answer that begins with media is represented by its URL.
pub(super) fn references(sample: &Value) -> Vec<String> {
    let references = sample["references"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> =
        references.iter().map(|reference| reference_text(&reference["answer"])).collect();
    match (texts.is_empty(), sample["label"].as_str()) {
        (true, Some(label)) => vec![label.to_owned()],
        _ => texts,
    }
}

/// Returns the label, or else the first reference answer.
pub(super) fn target(sample: &Value) -> String {
    let label = sample["label"].as_str().map(str::to_owned);
    label.or_else(|| references(sample).into_iter().next()).unwrap_or_default()
}

fn reference_text(answer: &Value) -> String {
    let parts = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    let url = parts.first().and_then(|part| part[part["type"].as_str()?]["url"].as_str());
    match url {
        Some(url) => url.to_owned(),
        None => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// Returns the options of a multiple-choice question, in display order.
pub(super) fn options(sample: &Value) -> Vec<(&str, &str)> {
    let options = sample["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    options
        .iter()
        .map(|option| {
            (option["id"].as_str().unwrap_or_default(), option["content"].as_str().unwrap_or_default())
        })
        .collect()
}

/// Returns the value of a key in the model's output.
pub(super) fn output<'r>(record: &'r SampleRecord, key: &str) -> &'r Value {
    record.model_output.as_ref().and_then(|output| output.get(key)).unwrap_or(&Value::Null)
}

/// Returns the answer that was scored.
pub(super) fn answer(record: &SampleRecord) -> Option<&str> {
    output(record, "answer").as_str()
}

/// Returns the model's output before answer extraction.
pub(super) fn written(record: &SampleRecord) -> Option<&str> {
    output(record, "written").as_str().or_else(|| answer(record))
}

/// Returns the numbers of prompt and completion tokens, if the backend counts them.
pub(super) fn tokens(record: &SampleRecord) -> Option<(u64, u64)> {
    let usage = output(record, "usage");
    Some((usage["prompt_tokens"].as_u64()?, usage["completion_tokens"].as_u64()?))
}

/// Returns the metrics that have a score for the record, including timing metrics.
pub(super) fn scores(record: &SampleRecord) -> impl Iterator<Item = (&MetricResult, f64)> {
    results(record).filter_map(|result| Some((result, result.score()?)))
}

/// Returns all metric results of the record.
pub(super) fn results(record: &SampleRecord) -> impl Iterator<Item = &MetricResult> {
    record.metrics.iter().chain(&record.timing_metrics)
}

/// Returns the reason why the record was not scored.
pub(super) fn failure(record: &SampleRecord) -> Option<String> {
    let said = || results(record).find_map(|result| result.error.clone());
    record.error.as_ref().map(|error| error.message.clone()).or_else(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_shown_as_request_bodies_have_them() {
        let part = |text: &str| json!({"type": "text", "text": text});
        let cached = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
        let picture = json!({"type": "image_url", "image_url": {"url": "a.png"}});
        for (content, shown) in [
            (json!([part("be "), part("brief")]), json!("be brief")),
            (json!("be brief"), json!("be brief")),
            (json!([part("a"), picture]), json!([part("a"), picture])),
            (json!([cached]), json!([cached])),
            (json!([]), json!([])),
            (json!(null), json!(null)),
        ] {
            let messages = |content: &Value| {
                vec![json!({"role": "system", "content": content}), json!({"role": "user", "content": "q"})]
            };
            assert_eq!(of_messages(&messages(&content)), Value::from(messages(&shown)).to_string());
        }
        assert_eq!(of_messages(&[json!({"role": "user", "content": [part("a"), part("b")]})]), "ab");
    }
}
