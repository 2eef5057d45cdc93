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

/// Returns the text of messages if they are a single text message, or else the messages as JSON.
pub(super) fn of_messages(messages: &[Value]) -> String {
    let only = if let [only] = messages { Some(only) } else { None };
    let text = only.filter(|only| only["role"] == "user").and_then(|only| plain(&only["content"]));
    text.unwrap_or_else(|| Value::from(messages).to_string())
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
