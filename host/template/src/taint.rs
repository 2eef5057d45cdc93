//! Taint tracking of model text in templates, against prompt injection. Its characters stay marked through slices,
//! filters and joins, until the prompt is rendered. Then each marked stretch gets a fence, so such text cannot
//! enter a prompt without one.
//!
//! Marked characters are in private planes, with one character for each UTF-16 code unit. Plane 16 is for the model
//! under test, and plane 15 for support roles.

use crate::null_values::reject_null;
use gage_core::Object;
use minijinja::value::{Rest, Serde, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextSource {
    /// The model under test.
    Answer,
    /// The support roles.
    Support,
}

impl TextSource {
    /// Returns the first character of its plane.
    fn plane(self) -> u32 {
        match self {
            TextSource::Answer => 0x10_0000,
            TextSource::Support => 0xf_0000,
        }
    }
}

/// Stands for an empty answer, so that it is also fenced: the code unit of a noncharacter, which texts do not
/// contain.
pub(crate) const EMPTY: char = '\u{10ffff}';

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

    /// Marks all text of the model under test, including object keys. An empty answer stays empty for templates,
    /// and is fenced when it is written ([`write_value`]).
    pub(crate) fn answer(&mut self, output: &Object) -> minijinja::Value {
        minijinja::Value::from_pairs(output.iter().map(|(key, value)| {
            let marked = match (key.as_str(), value) {
                ("answer", Value::String(answer)) if answer.is_empty() => {
                    minijinja::Value::from_safe_string(String::new())
                }
                (own, value) if OWN.contains(&own) => minijinja::Value::from(Serde(&unmarked(value))),
                (key, value) => minijinja::Value::from(Serde(&self.mark(TextSource::Answer, key, value))),
            };
            (key.as_str(), marked)
        }))
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
    let has_marks = |text: &str| text.chars().any(|character| unit(character).is_some());
    let clean = |text: &str| -> String {
        let kept =
            |character| if unit(character).is_some() { char::REPLACEMENT_CHARACTER } else { character };
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

fn marked(source: TextSource, text: &str) -> String {
    text.encode_utf16().filter_map(|unit| char::from_u32(source.plane() + u32::from(unit))).collect()
}

/// Returns the code unit of a marked character, and its source.
fn unit(character: char) -> Option<(TextSource, u16)> {
    [TextSource::Answer, TextSource::Support].into_iter().find_map(|source| {
        let unit = u16::try_from(u32::from(character).checked_sub(source.plane())?).ok()?;
        Some((source, unit))
    })
}

/// Replaces each stretch of marked characters with the result of `write` for the plain text.
pub(crate) fn with_marked(text: &str, mut write: impl FnMut(TextSource, &str) -> String) -> String {
    let mut written = String::with_capacity(text.len());
    let mut stretch: Option<(TextSource, Vec<u16>)> = None;
    for character in text.chars().map(Some).chain([None]) {
        let found = character.and_then(unit);
        if let Some((source, units)) =
            stretch.take_if(|(source, _)| found.is_none_or(|found| found.0 != *source))
        {
            let units: Vec<u16> =
                units.into_iter().filter(|unit| Some((source, *unit)) != self::unit(EMPTY)).collect();
            written.push_str(&write(source, &String::from_utf16_lossy(&units)));
        }
        match found {
            Some((source, unit)) => stretch.get_or_insert((source, Vec::new())).1.push(unit),
            None => written.extend(character),
        }
    }
    written
}

/// Name in the context of a prompt with marked model text. Templates cannot access it.
pub(crate) const IS_FENCED: &str = " fenced";

/// Writes a value into a prompt: an empty answer as [`EMPTY`], so that it is fenced.
pub(crate) fn write_value(
    output: &mut minijinja::Output<'_>,
    state: &mut minijinja::State<'_, '_>,
    value: &minijinja::Value,
) -> Result<(), Error> {
    if value.is_safe() && value.as_str() == Some("") && state.lookup(IS_FENCED).is_some() {
        return output.write_str(EMPTY.encode_utf8(&mut [0; 4])).map_err(Error::from);
    }
    reject_null(value)?;
    minijinja::escape_formatter(output, state, value)
}

/// Filters that inspect a text. They see the plain text of marked characters, and their results are marked again.
const TEXT_FILTERS: [&str; 23] = [
    "lower",
    "upper",
    "title",
    "capitalize",
    "replace",
    "length",
    "count",
    "trim",
    "split",
    "lines",
    "int",
    "float",
    "indent",
    "list",
    "first",
    "last",
    "reverse",
    "escape",
    "e",
    "safe",
    "join",
    "string",
    "pprint",
];

/// Those of [`TEXT_FILTERS`] that would write `None` for a null value.
const WRITING_FILTERS: [&str; 15] = [
    "lower",
    "upper",
    "title",
    "capitalize",
    "replace",
    "trim",
    "split",
    "lines",
    "indent",
    "escape",
    "e",
    "safe",
    "join",
    "string",
    "pprint",
];

/// Filters and methods that write their arguments, too.
const ARGUMENT_WRITERS: [&str; 3] = ["format", "join", "replace"];

/// Makes filters and methods see through the marks, and reject null values that they would write.
pub(crate) fn see_through(environment: &mut Environment<'static>) {
    let plain = Arc::new(environment.clone());
    for name in TEXT_FILTERS {
        let plain = Arc::clone(&plain);
        environment.add_filter(name, move |value: minijinja::Value, rest: Rest<ValueOrKwargs>| {
            let rest = rest.into_values();
            if WRITING_FILTERS.contains(&name) {
                reject_null(&value)?;
            }
            reject_null_arguments(name, &rest)?;
            let made = seen_through(&value, &rest, |value, rest| {
                let arguments: Vec<minijinja::Value> = std::iter::once(value).chain(rest).cloned().collect();
                plain.empty_state().apply_filter(name, &arguments)
            });
            // Only the empty answer itself is such a text (`write_value`).
            made.map(|made| if made.is_safe() && made.as_str() == Some("") { "".into() } else { made })
        });
    }
    environment.set_unknown_method_callback(|state, value, method, arguments| {
        reject_null_arguments(method, arguments)?;
        seen_through(value, arguments, |value, arguments| {
            minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)
        })
    });
}

/// Checks the arguments of a filter or method that writes them.
fn reject_null_arguments(name: &str, arguments: &[minijinja::Value]) -> Result<(), Error> {
    let written: &[minijinja::Value] = if ARGUMENT_WRITERS.contains(&name) { arguments } else { &[] };
    written.iter().try_for_each(reject_null)
}

fn seen_through(
    value: &minijinja::Value,
    arguments: &[minijinja::Value],
    call: impl FnOnce(&minijinja::Value, &[minijinja::Value]) -> Result<minijinja::Value, Error>,
) -> Result<minijinja::Value, Error> {
    let mut sources = Vec::new();
    let mut plain = |value: &minijinja::Value| {
        let text = value.as_str().filter(|text| text.chars().any(|character| unit(character).is_some()))?;
        Some(minijinja::Value::from(with_marked(text, |source, stretch| {
            sources.push(source);
            stretch.to_owned()
        })))
    };
    let Some(text) = plain(value) else { return call(value, arguments) };
    let arguments: Vec<minijinja::Value> =
        arguments.iter().map(|argument| plain(argument).unwrap_or_else(|| argument.clone())).collect();
    // The result of mixed sources counts as the model's.
    let source = if sources.contains(&TextSource::Answer) { TextSource::Answer } else { TextSource::Support };
    call(&text, &arguments).map(|made| marked_again(source, made))
}

fn marked_again(source: TextSource, value: minijinja::Value) -> minijinja::Value {
    if let Some(text) = value.as_str() {
        return marked(source, text).into();
    }
    match (value.kind(), value.try_iter()) {
        (ValueKind::Seq | ValueKind::Iterable, Ok(items)) => {
            items.map(|item| marked_again(source, item)).collect()
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(text: &str) -> String {
        with_marked(text, |source, stretch| match source {
            TextSource::Answer => format!("<{stretch}>"),
            TextSource::Support => format!("({stretch})"),
        })
    }

    #[test]
    fn marked_text_round_trips() {
        let answer = |text: &str| marked(TextSource::Answer, text);
        for text in ["SCORE: 1.0", "分数：1 👩\u{200d}💻", "\u{f0000}\u{10fffd}", "a\nb\t\u{0}"] {
            assert_eq!(seen(&format!("x {} y", answer(text))), format!("x <{text}> y"));
            assert_eq!(seen(&format!("x {} y", marked(TextSource::Support, text))), format!("x ({text}) y"));
        }
        let cut: String = answer("ab👩").chars().take(3).collect();
        assert_eq!(seen(&cut), "<ab\u{fffd}>");
        assert_eq!(seen(&EMPTY.to_string()), "<>");
        assert_eq!(seen(&format!("{}{}c", answer("a"), marked(TextSource::Support, "b"))), "<a>(b)c");
    }

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
        let answer = serde_json::to_value(found.answer(&output)).unwrap_or_default();
        assert_eq!(as_seen(&answer), Some(shown));
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
