//! Excerpts for the list of samples: the question, the reference and the answer of each, in one line.

use gage_core::{ContentPart, JsonView, Role, shortened};
use gage_record::RecordView;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

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
    let input = match record.sample {
        JsonView::Sample(sample) => {
            let last = sample.messages.iter().rev().find(|message| message.role == Role::User);
            last.map(|message| line_of_parts(&message.content))
        }
        other => {
            let messages = other.get("messages");
            let messages = messages.as_deref().and_then(Value::as_array);
            let last = messages.and_then(|list| list.iter().rev().find(|message| message["role"] == "user"));
            last.map(|message| line_of(&message["content"]))
        }
    };
    let other = || {
        let text_at = |key: &&str| {
            let member = record.sample.get(key)?;
            member.as_str().map(one_line)
        };
        let of_sample = ["text", "prompt"].iter().find_map(text_at);
        of_sample.unwrap_or_else(|| one_line(record.row.unwrap_or_default()))
    };
    input.filter(|input| !input.is_empty()).unwrap_or_else(other)
}

/// Returns the beginning of the first reference, and the number of the others.
fn target_of(record: &RecordView<'_>) -> String {
    let with_rest = |target: String, count: usize| match count {
        0 | 1 => target,
        _ => format!("{target} (+{})", count - 1),
    };
    if let JsonView::Sample(sample) = record.sample
        && let Some(first) = sample.references.first()
    {
        return with_rest(line_of_parts(&first.answer), sample.references.len());
    }
    let references = record.sample.get("references");
    match references.as_deref().and_then(Value::as_array).map(Vec::as_slice) {
        Some(references @ [first, ..]) => {
            with_rest(line_of(first.get("answer").unwrap_or(first)), references.len())
        }
        _ => record.sample.get("label").as_deref().map(line_of).unwrap_or_default(),
    }
}

/// Returns the beginning of a value: of a text, of the texts of content parts, or of the JSON.
fn line_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        Value::Array(parts) if parts.is_empty() => String::new(),
        Value::Array(parts) if parts.iter().any(|part| part.get("type").is_some()) => {
            joined(parts.iter().map(|part| shown_part(part["text"].as_str(), part["type"].as_str())))
        }
        other => one_line(&other.to_string()),
    }
}

/// Returns the beginning of the texts of content parts.
fn line_of_parts(parts: &[ContentPart]) -> String {
    joined(parts.iter().map(|part| match part {
        ContentPart::Text { text, .. } => shown_part(Some(text), None),
        ContentPart::Media { kind, extra, .. } => {
            shown_part(extra.get("text").and_then(Value::as_str), Some(kind.type_name()))
        }
    }))
}

/// Returns the beginning of the text of a part, or its kind.
fn shown_part<'a>(text: Option<&'a str>, kind: Option<&str>) -> Cow<'a, str> {
    match (text, kind) {
        (Some(text), _) => beginning(text).into(),
        (None, Some(kind)) => format!("[{}]", kind_name(kind)).into(),
        (None, None) => "".into(),
    }
}

/// Returns the beginning of texts, in one line.
fn joined<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> String {
    let texts: Vec<Cow<'a, str>> = texts.collect();
    match texts.as_slice() {
        [text] => one_line(text),
        texts => one_line(&texts.join(" ")),
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
    for word in beginning(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match shortened(&line, MAX_EXCERPT_CHARS) {
        Cow::Borrowed(_) => line,
        Cow::Owned(shortened) => shortened,
    }
}

/// Returns the first characters of a text: enough for an excerpt, unless much of them is white space.
fn beginning(text: &str) -> &str {
    match text.char_indices().nth(4 * MAX_EXCERPT_CHARS) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Sample;
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
    fn a_parsed_sample_has_the_excerpts_of_its_json() {
        let long = " word\t\n".repeat(200);
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        for mut of_sample in [
            json!({"messages": [{"role": "user", "content": long}], "references": [{"answer": long}, {"answer": "b"}, {"answer": "c"}]}),
            json!({"messages": [
                {"role": "user", "content": [{"type": "text", "text": " What\n\nis  it?"}, picture]},
                {"role": "assistant", "content": "A cat."},
            ], "references": [{"answer": [picture]}]}),
            json!({"messages": [{"role": "user", "content": []}], "references": [{"answer": []}], "text": "t"}),
            json!({"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "a.png"}, "text": "a caption"},
            ]}], "references": []}),
            json!({"messages": [{"role": "system", "content": "x"}], "references": [], "label": "7", "text": "a text"}),
            json!({"messages": [{"role": "user", "content": " "}], "references": [], "label": "7", "prompt": "p"}),
        ] {
            of_sample["schema_version"] = "v1".into();
            of_sample["id"] = "q".into();
            let parsed = Sample::from_value(of_sample).unwrap();
            let written = parsed.to_value();
            let record = sample("t", 0, 1.0, 1.0);
            let excerpts = [JsonView::Sample(&parsed), JsonView::Json(&written)].map(|sample| {
                let view = RecordView { sample, ..(&record).into() };
                (input_of(&view), target_of(&view))
            });
            assert_eq!(excerpts[0], excerpts[1]);
            assert!(!excerpts[0].0.is_empty());
        }
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
