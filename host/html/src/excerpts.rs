//! Excerpts for the list of samples: the question, the reference and the answer of each, in one line.

use gage_core::shortened;
use gage_record::RecordView;
use serde::Serialize;
use serde_json::Value;

/// Maximum number of characters of an excerpt.
const MAX_EXCERPT_CHARS: usize = 160;

/// Excerpts of the samples of one block of columns, in the same order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Excerpts {
    /// Beginnings of the last messages of users.
    input: Vec<String>,
    /// Beginnings of the first references.
    target: Vec<String>,
    /// Beginnings of the answers.
    answer: Vec<String>,
}

impl Excerpts {
    pub(super) fn add(&mut self, record: &RecordView<'_>) {
        self.input.push(input_of(record));
        self.target.push(target_of(record));
        let answer = record.model_output.get("answer");
        self.answer.push(answer.as_deref().map(line_of).unwrap_or_default());
    }

    /// Returns the number of samples.
    pub(super) fn len(&self) -> usize {
        self.input.len()
    }
}

/// Returns the beginning of the last message of a user, or of the invalid row.
fn input_of(record: &RecordView<'_>) -> String {
    let messages = record.sample.get("messages");
    let messages = messages.as_deref().and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.iter().rev().find(|message| message["role"] == "user"));
    let input = last.map(|message| line_of(&message["content"])).filter(|input| !input.is_empty());
    let other = || {
        let text_at = |key: &&str| {
            let member = record.sample.get(key)?;
            member.as_str().map(one_line)
        };
        let of_sample = ["text", "prompt"].iter().find_map(text_at);
        of_sample.unwrap_or_else(|| one_line(record.row.unwrap_or_default()))
    };
    input.unwrap_or_else(other)
}

/// Returns the beginning of the first reference, and the number of the others.
fn target_of(record: &RecordView<'_>) -> String {
    let references = record.sample.get("references");
    match references.as_deref().and_then(Value::as_array).map(Vec::as_slice) {
        Some([first, rest @ ..]) => {
            let target = line_of(first.get("answer").unwrap_or(first));
            if rest.is_empty() { target } else { format!("{target} (+{})", rest.len()) }
        }
        _ => record.sample.get("label").as_deref().map(line_of).unwrap_or_default(),
    }
}

/// Returns the beginning of a value: of a text, of the texts of content parts, or of the JSON.
fn line_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        Value::Array(parts) if parts.iter().any(|part| part.get("type").is_some()) => {
            one_line(&parts.iter().map(part_text).collect::<Vec<String>>().join(" "))
        }
        other => one_line(&other.to_string()),
    }
}

/// Returns the beginning of a part's text, or its kind.
fn part_text(part: &Value) -> String {
    match (part["text"].as_str(), part["type"].as_str()) {
        (Some(text), _) => text.chars().take(4 * MAX_EXCERPT_CHARS).collect(),
        (None, Some(kind)) => format!("[{}]", kind_name(kind)),
        (None, None) => String::new(),
    }
}

/// Returns a reader's word for the kind of a part, for example `picture` for `image_url`.
fn kind_name(kind: &str) -> &str {
    match kind {
        "image_url" => "picture",
        "audio_url" => "audio",
        "video_url" => "video",
        other => other,
    }
}

/// Returns the beginning of a text, with single spaces between its words.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    // Spaces do not count, but a text of spaces must end as well.
    for character in text.chars().take(4 * MAX_EXCERPT_CHARS) {
        match character.is_whitespace() {
            true if line.is_empty() || line.ends_with(' ') => {}
            true => line.push(' '),
            false => line.push(character),
        }
    }
    shortened(line.trim_end(), MAX_EXCERPT_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_figures::test_records::sample;
    use serde_json::json;

    fn excerpts_of(of_sample: Value, answer: Value) -> [String; 3] {
        let mut record = sample("t", 0, 1.0, 1.0);
        record.sample = of_sample.into();
        record.model_output = Some(json!({ "answer": answer }).into());
        let mut excerpts = Excerpts::default();
        excerpts.add(&(&record).into());
        [excerpts.input.remove(0), excerpts.target.remove(0), excerpts.answer.remove(0)]
    }

    #[test]
    fn excerpts_are_short_lines() {
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        let messages = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": " What\n\nis  it?"}, picture]},
            {"role": "assistant", "content": "A cat."},
        ]);
        let known = json!({"messages": messages, "references": ["a cat", "a tiger"]});
        assert_eq!(
            excerpts_of(known, json!("x".repeat(1 << 20))),
            ["What is it? [picture]".into(), "a cat (+1)".into(), "x".repeat(MAX_EXCERPT_CHARS - 1) + "…"]
        );
        assert_eq!(
            excerpts_of(json!({"label": 7}), json!({"value": 8})),
            [String::new(), "7".into(), "{\"value\":8}".into()]
        );
    }
}
