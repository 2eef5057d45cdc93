//! Texts of a record, in the form that other formats ask for.

use gage_core::MetricResult;
use gage_record::SampleRecord;
use serde_json::Value;

/// What was asked: the text where it is one message of text, else the messages as JSON.
pub(super) fn prompt(sample: &Value) -> String {
    let messages = messages(sample);
    match messages {
        [] => sample["inputs"]["prompt"].as_str().unwrap_or_default().to_owned(),
        [only] if only["role"] == "user" => {
            plain(&only["content"]).unwrap_or_else(|| sample["messages"].to_string())
        }
        _ => sample["messages"].to_string(),
    }
}

/// The messages of a Sample.
pub(super) fn messages(sample: &Value) -> &[Value] {
    sample["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a content that holds nothing else.
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

/// The right answers as texts; of one that begins with a picture or a sound its URL.
pub(super) fn references(sample: &Value) -> Vec<String> {
    let references = sample["references"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> =
        references.iter().map(|reference| reference_text(&reference["answer"])).collect();
    match (texts.is_empty(), sample["label"].as_str()) {
        (true, Some(label)) => vec![label.to_owned()],
        _ => texts,
    }
}

/// The first right answer.
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

/// The candidates of a multiple-choice question, in the order of display.
pub(super) fn options(sample: &Value) -> Vec<(&str, &str)> {
    let options = sample["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    options
        .iter()
        .map(|option| {
            (option["id"].as_str().unwrap_or_default(), option["content"].as_str().unwrap_or_default())
        })
        .collect()
}

/// What the model said, one key of it.
pub(super) fn output<'r>(record: &'r SampleRecord, key: &str) -> &'r Value {
    record.model_output.as_ref().and_then(|output| output.get(key)).unwrap_or(&Value::Null)
}

/// The answer that was scored.
pub(super) fn answer(record: &SampleRecord) -> Option<&str> {
    output(record, "answer").as_str()
}

/// What the model wrote, before an answer was extracted from it.
pub(super) fn written(record: &SampleRecord) -> Option<&str> {
    output(record, "written").as_str().or_else(|| answer(record))
}

/// Tokens of the prompt and of the completion, where the backend counts them.
pub(super) fn tokens(record: &SampleRecord) -> Option<(u64, u64)> {
    let usage = output(record, "usage");
    Some((usage["prompt_tokens"].as_u64()?, usage["completion_tokens"].as_u64()?))
}

/// The metrics that have a score for the record, those that read a clock too.
pub(super) fn scores(record: &SampleRecord) -> impl Iterator<Item = (&MetricResult, f64)> {
    results(record).filter_map(|result| Some((result, result.score()?)))
}

/// What every metric said of the record.
pub(super) fn results(record: &SampleRecord) -> impl Iterator<Item = &MetricResult> {
    record.metrics.iter().chain(&record.timing_metrics)
}

/// Why the record was not scored, in words.
pub(super) fn failure(record: &SampleRecord) -> Option<String> {
    let said = || results(record).find_map(|result| result.error.clone());
    record.error.as_ref().map(|error| error.message.clone()).or_else(said)
}
