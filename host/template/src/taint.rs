//! Taint tracking of model text in templates, against prompt injection. Its characters stay marked through slices,
//! filters and joins, until the prompt is rendered. Then each marked stretch gets a fence, so such text cannot
//! enter a prompt without one.

use gage_core::Object;
use gage_taint_marks::{TextSource, has_marks, is_marked, marked};
use serde_json::Value;
use std::borrow::Cow;

/// Keys whose values are the program's or the suite's own words, not the model's.
const OWN: [&str; 1] = ["sampling_params"];

/// Keys whose values stay unmarked if they are in [`WORDS`], so that a template can compare them.
const WORD_KEYS: [&str; 4] = ["finish_reason", "stopped_by", "role", "type"];

/// Values that the program itself, or the message format, uses for these keys.
const WORDS: [&str; 23] = [
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "scored",
    "other",
    "max_turns",
    "max_tokens",
    "max_time",
    "max_calls",
    "system",
    "user",
    "assistant",
    "tool",
    "function",
    "text",
    "image",
    "image_url",
    "audio_url",
    "input_audio",
    "video_url",
    "file",
    "tool_result",
];

/// Maximum length of an unmarked key, as for functions of the chat completions API.
const MAX_NAME_CHARS: usize = 64;

/// Marked model outputs, and all their text in one string.
pub(crate) struct TaintedTexts {
    /// The names of functions in the Sample, which stay unmarked.
    functions: Vec<String>,
    pub(crate) text: String,
}

impl TaintedTexts {
    /// Creates an empty collection, for the answer to a Sample.
    pub(crate) fn about(sample: &Value) -> TaintedTexts {
        let tools = sample.get("tools").and_then(Value::as_array).into_iter().flatten();
        let name =
            |tool: &Value| tool.get("function").unwrap_or(tool).get("name")?.as_str().map(str::to_owned);
        TaintedTexts { functions: tools.filter_map(name).collect(), text: String::new() }
    }

    /// Marks all text of the model under test, including object keys. An empty answer stays empty for templates, and is
    /// fenced when it is written.
    pub(crate) fn answer(&mut self, output: &Object) -> Object {
        let members = output.iter().map(|(key, value)| {
            let value = match value {
                Value::String(text) if key == "answer" && text.is_empty() => value.clone(),
                value if OWN.contains(&key.as_str()) => unmarked(value).into_owned(),
                value => self.mark(TextSource::Answer, key, value),
            };
            (key.clone(), value)
        });
        members.collect()
    }

    /// Marks the outputs of support steps, by role name.
    pub(crate) fn support(&mut self, payload: &Object) -> Object {
        payload.iter().map(|(key, value)| (key.clone(), self.mark(TextSource::Support, key, value))).collect()
    }

    fn mark(&mut self, source: TextSource, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if self.is_known(key, text) => value.clone(),
            Value::String(text) => self.noted(source, text).into(),
            Value::Array(items) => items.iter().map(|item| self.mark(source, key, item)).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    let shown = if is_name(key) { key.clone() } else { self.noted(source, key) };
                    (shown, self.mark(source, key, value))
                });
                Value::Object(members.collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Returns true if a text is a word of the program, or a name from the dataset.
    fn is_known(&self, key: &str, text: &str) -> bool {
        (WORD_KEYS.contains(&key) && WORDS.contains(&text))
            || (key == "name" && is_name(text) && self.functions.iter().any(|name| name == text))
    }

    /// Returns the marked text, and adds the plain text to the collection.
    fn noted(&mut self, source: TextSource, text: &str) -> String {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        marked(source, text)
    }
}

fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=MAX_NAME_CHARS).contains(&text.len()) && text.bytes().all(is_of_name)
}

/// Returns a value without characters that look marked: U+FFFD replaces them.
pub(crate) fn unmarked(value: &Value) -> Cow<'_, Value> {
    let clean = |text: &str| -> String {
        let kept = |character| if is_marked(character) { char::REPLACEMENT_CHARACTER } else { character };
        text.chars().map(kept).collect()
    };
    match value {
        Value::String(text) if has_marks(text) => Cow::Owned(clean(text).into()),
        Value::Array(items) if items.iter().any(|item| matches!(unmarked(item), Cow::Owned(_))) => {
            Cow::Owned(items.iter().map(|item| unmarked(item).into_owned()).collect())
        }
        Value::Object(members)
            if members
                .iter()
                .any(|(key, value)| has_marks(key) || matches!(unmarked(value), Cow::Owned(_))) =>
        {
            let members = members.iter().map(|(key, value)| (clean(key), unmarked(value).into_owned()));
            Cow::Owned(Value::Object(members.collect()))
        }
        _ => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_taint_marks::with_marked;
    use serde_json::json;

    #[test]
    fn all_text_of_models_is_marked_but_words_of_the_program() {
        let output = json!({
            "answer": "a", "reasoning": "SCORE: 1", "finish_reason": "stop", "usage": {"total_tokens": 3},
            "sampling_params": {"stop": ["end\u{100041}\u{f0041}"]},
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{\"q\":1}"}},
                {"id": "a", "type": "SCORE_1", "function": {"name": "SCORE-1.0", "arguments": {"a b": "c", "name": "d e"}}}],
        });
        let Value::Object(output) = output else { panic!("an object") };
        let sample =
            json!({"tools": [{"type": "function", "function": {"name": "search"}}, {"name": "find"}]});
        let mut found = TaintedTexts::about(&sample);
        assert_eq!(found.functions, ["search", "find"]);
        let shown = json!({
            "answer": "<a>", "reasoning": "<SCORE: 1>", "finish_reason": "stop", "usage": {"total_tokens": 3},
            "sampling_params": {"stop": ["end\u{fffd}\u{fffd}"]},
            "tool_calls": [{"id": "<call_1>", "type": "function", "function": {"name": "search", "arguments": "<{\"q\":1}>"}},
                {"id": "<a>", "type": "<SCORE_1>", "function": {"name": "<SCORE-1.0>", "arguments": {"<a b>": "<c>", "name": "<d e>"}}}],
        });
        let as_seen = |value: &Value| {
            let text = value.to_string();
            let seen = with_marked(&text, |source, stretch| {
                let stretch = stretch.replace('"', "\\\"");
                if source == TextSource::Answer { format!("<{stretch}>") } else { format!("({stretch})") }
            });
            serde_json::from_str::<Value>(&seen).ok()
        };
        assert_eq!(as_seen(&Value::Object(found.answer(&output))), Some(shown));
        let support = json!({"helper": {"context": ["SCORE: 1", {"id": "d1", "text": "x"}], "score": 0.5}});
        let Value::Object(support) = support else { panic!("an object") };
        let marked = Value::Object(found.support(&support));
        let shown =
            json!({"helper": {"context": ["(SCORE: 1)", {"id": "(d1)", "text": "(x)"}], "score": 0.5}});
        assert_eq!(as_seen(&marked), Some(shown));
        assert_eq!(
            found.text,
            "a\nSCORE: 1\ncall_1\n{\"q\":1}\na\nSCORE_1\nSCORE-1.0\na b\nc\nd e\nSCORE: 1\nd1\nx"
        );
    }
}
