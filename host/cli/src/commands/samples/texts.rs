//! The texts of a sample for people: the question, the references and the answer.

use gage_record::SampleRecord;
use serde_json::Value;

/// The texts of a sample.
#[derive(Debug, PartialEq)]
pub(super) struct SampleTexts {
    /// The last message of a user, or what an invalid row has instead.
    pub(super) question: String,
    /// The references, or else the label.
    pub(super) references: Vec<String>,
    /// The answer, if there is one.
    pub(super) answer: Option<String>,
}

impl SampleTexts {
    pub(super) fn of(record: &SampleRecord) -> SampleTexts {
        SampleTexts {
            question: question_of(record),
            references: references_of(record),
            answer: answer_of(record),
        }
    }
}

fn question_of(record: &SampleRecord) -> String {
    let messages = record.sample.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.iter().rev().find(|message| message["role"] == "user"));
    let question = last.map(|message| text_of(&message["content"])).filter(|question| !question.is_empty());
    let other = || {
        let of_sample = ["text", "prompt"].iter().find_map(|key| record.sample.get(key)?.as_str());
        of_sample.or(record.row.as_deref()).unwrap_or_default().to_owned()
    };
    question.unwrap_or_else(other)
}

fn references_of(record: &SampleRecord) -> Vec<String> {
    let references = record.sample.get("references").and_then(Value::as_array);
    let references = references.map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> = references
        .iter()
        .map(|reference| text_of(reference.get("answer").unwrap_or(reference)))
        .filter(|text| !text.is_empty())
        .collect();
    match texts.is_empty() {
        true => {
            record.sample.get("label").map(text_of).filter(|label| !label.is_empty()).into_iter().collect()
        }
        false => texts,
    }
}

fn answer_of(record: &SampleRecord) -> Option<String> {
    let output = record.model_output.as_ref()?;
    output.get("answer").filter(|answer| !answer.is_null()).map(text_of)
}

/// Returns a value as text: a text itself, the texts of content parts, or the JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.iter().any(|part| part.get("type").is_some()) => {
            parts.iter().map(part_text).collect::<Vec<String>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// Returns the text of a content part, or its kind.
fn part_text(part: &Value) -> String {
    match (part["text"].as_str(), part["type"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(kind)) => format!("[{}]", kind.trim_end_matches("_url")),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Outcome;
    use gage_record::SampleTiming;
    use serde_json::json;

    fn texts(sample: Value, answer: Value) -> SampleTexts {
        SampleTexts::of(&SampleRecord {
            task_id: "t".to_owned(),
            index: 0,
            sample_id: "a".to_owned(),
            row_digest: String::new(),
            outcome: Outcome::Scored,
            error: None,
            sample: sample.into(),
            row: Some("the row".to_owned()),
            support_output: None,
            model_output: Some(json!({ "answer": answer }).into()),
            judge_output: None,
            metrics: Vec::new(),
            timing: SampleTiming::default(),
            timing_metrics: Vec::new(),
        })
    }

    #[test]
    fn each_kind_of_sample_has_its_texts() {
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        let messages = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]},
            {"role": "assistant", "content": "A cat."},
        ]);
        let answers = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(
            texts(
                json!({"messages": messages, "references": [{"answer": "a cat"}, "a tiger"]}),
                json!("a dog")
            ),
            SampleTexts {
                question: "What is it?\n[image]".to_owned(),
                references: answers(&["a cat", "a tiger"]),
                answer: Some("a dog".to_owned()),
            }
        );
        assert_eq!(
            texts(json!({"label": 7}), json!(null)),
            SampleTexts { question: "the row".to_owned(), references: answers(&["7"]), answer: None }
        );
    }
}
