//! What an answer says, whether it came as a whole or was put together from a stream.

use crate::conversation::{put_known, token_count_from_json};
use crate::http::{BYTE_ORDER_MARK, HttpFailure, MAX_JSON_DEPTH, json_of};
use gage_core::{FinishReason, ModelOutput, Usage, is_nested_deeper};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::fmt;
use std::marker::PhantomData;

/// An answer as a server writes it. Members that are not read, such as `id` and `created`, take no memory.
#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    error: Value,
    #[serde(default)]
    choices: Vec<JsonObject<Choice>>,
    #[serde(default)]
    usage: Value,
}

/// One of the answers of a completion.
#[derive(Deserialize)]
pub(super) struct Choice {
    /// Of a conversation.
    #[serde(default, deserialize_with = "present")]
    pub(super) message: Option<Value>,
    /// Of a rendered prompt.
    #[serde(default, deserialize_with = "present")]
    pub(super) text: Option<Value>,
    #[serde(default)]
    pub(super) finish_reason: Value,
    #[serde(default)]
    pub(super) logprobs: Value,
}

/// A struct that is read from an object only. serde alone would also read its fields from a list, in their order.
struct JsonObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonObject<T>, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = JsonObject<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<JsonObject<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(JsonObject)
    }
}

/// Keeps null apart from what is missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads an answer that came as a whole.
pub(super) fn read_body(body: &[u8], think_tags: bool) -> Result<ModelOutput, HttpFailure> {
    let text = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    if !is_nested_deeper(text, MAX_JSON_DEPTH)
        && let Ok(reply) = serde_json::from_slice::<JsonObject<Completion>>(text)
        && let JsonObject(reply) = reply
        && reply.error.is_null()
        && let Some(JsonObject(choice)) = reply.choices.into_iter().next()
    {
        return read(choice, &reply.usage, think_tags);
    }
    // The tree of the whole answer gives the error message.
    let reply = json_of(body)?;
    HttpFailure::check("the answer is an error", &reply)?;
    Err(HttpFailure::protocol(format!("the answer has no choices: {}", shown(&reply))))
}

/// Reads the first of the answers.
pub(super) fn read(choice: Choice, usage: &Value, think_tags: bool) -> Result<ModelOutput, HttpFailure> {
    let Choice { message, text, finish_reason, mut logprobs } = choice;
    // Completions of a rendered prompt are a `text`, those of a conversation a `message`.
    let mut message = match (message, text) {
        (Some(message), _) => message,
        (None, Some(text)) => json!({"content": text}),
        (None, None) => return Err(HttpFailure::protocol("the answer has neither a message nor a text")),
    };
    let finish = finish_of(finish_reason.as_str());
    let answer = answer_of(message.get_mut("content"))?;
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    let finish = if refusal.is_some() { FinishReason::ContentFilter } else { finish };
    let (thought, answer) = if think_tags { split_thought(answer) } else { (None, answer) };
    let mut output = ModelOutput::generated(answer, finish, usage_of(usage));
    let reasoning = ["reasoning_content", "reasoning"]
        .into_iter()
        .find_map(|key| message.get(key).filter(|value| value.as_str().is_none_or(|text| !text.is_empty())))
        .cloned();
    let reasoning = reasoning.filter(|value| !value.is_null()).or(thought.map(Value::from));
    let calls = message.get("tool_calls").filter(|calls| calls.as_array().is_some_and(|all| !all.is_empty()));
    let further = [
        ("reasoning", reasoning),
        ("tool_calls", calls.cloned()),
        ("refusal", refusal.map(Value::from)),
        ("logprobs", logprobs_of(&mut logprobs)),
    ];
    put_known(&mut output.extra, further);
    Ok(output)
}

pub(super) fn finish_of(reason: Option<&str>) -> FinishReason {
    match reason {
        Some("stop" | "eos" | "end_turn") | None => FinishReason::Stop,
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
        Some("content_filter") => FinishReason::ContentFilter,
        Some(_) => FinishReason::Other,
    }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(token_count_from_json);
    count("prompt_tokens").map(|prompt_tokens| Usage {
        prompt_tokens,
        completion_tokens: count("completion_tokens").unwrap_or(0),
    })
}

/// The text of a content, which is taken out of it.
fn answer_of(content: Option<&mut Value>) -> Result<String, HttpFailure> {
    match content {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(std::mem::take(text)),
        Some(Value::Array(parts)) => {
            Ok(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect())
        }
        Some(other) => Err(HttpFailure::protocol(format!(
            "the content of the answer is neither text nor parts: {}",
            shown(other)
        ))),
    }
}

/// What stands in a `<think>` block at the beginning, and what follows it. Some templates write the first
/// tag themselves, so that the answer has the second one alone.
fn split_thought(answer: String) -> (Option<String>, String) {
    let opened = answer.trim_start().strip_prefix("<think>");
    match (opened, answer.split_once("</think>")) {
        (_, Some((thought, rest))) => {
            let thought = thought.trim_start();
            let thought = thought.strip_prefix("<think>").unwrap_or(thought).trim();
            (Some(thought.to_owned()), rest.trim_start().to_owned())
        }
        // It was cut off while it was thinking.
        (Some(thought), None) => (Some(thought.trim().to_owned()), String::new()),
        (None, None) => (None, answer),
    }
}

/// The log-probabilities of the tokens, in one shape for both APIs: `token`, `logprob`, and in
/// `top_logprobs` the alternatives.
fn logprobs_of(logprobs: &mut Value) -> Option<Value> {
    if let Some(Value::Array(mut tokens)) = logprobs.get_mut("content").map(Value::take) {
        let alternatives = |token: &mut Value| {
            if let Some(token) = token.as_object_mut() {
                token.shift_remove("bytes");
                let others = token.get_mut("top_logprobs").and_then(Value::as_array_mut);
                for other in others.into_iter().flatten().filter_map(Value::as_object_mut) {
                    other.shift_remove("bytes");
                }
            }
        };
        tokens.iter_mut().for_each(alternatives);
        return Some(Value::Array(tokens));
    }
    let tokens = logprobs.get("tokens")?.as_array()?;
    let values = logprobs.get("token_logprobs")?.as_array()?;
    let nothing = Vec::new();
    let others = logprobs.get("top_logprobs").and_then(Value::as_array).unwrap_or(&nothing);
    let others = others.iter().map(Some).chain(std::iter::repeat(None));
    let token = |((token, logprob), others): ((&Value, &Value), Option<&Value>)| {
        let top: Vec<Value> = others
            .and_then(Value::as_object)
            .map(|others| {
                others.iter().map(|(token, logprob)| json!({"token": token, "logprob": logprob})).collect()
            })
            .unwrap_or_default();
        json!({"token": token, "logprob": logprob, "top_logprobs": top})
    };
    Some(tokens.iter().zip(values).zip(others).map(token).collect())
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_an_answer_is_an_error_that_shows_it() {
        let deep = format!(
            r#"{{"choices":[{{"message":{{"content":"4"}}}}],"deep":{}1{}}}"#,
            "[".repeat(70),
            "]".repeat(70)
        );
        for (body, expected) in [
            (r#"{"choices":[{"message":{"content":"4"}}]}"#, Ok("4")),
            ("\u{feff}{\"choices\":[{\"text\":\"4\"}]}", Ok("4")),
            (r#"{"choices":[{"message":{"content":null}}],"usage":"none"}"#, Ok("")),
            (r#"{"choices":[{"message":null}]}"#, Ok("")),
            (r#"{"choices":[{"message":{"content":[{"type":"text","text":"4"}]}}],"error":null}"#, Ok("4")),
            (r#"{"choices":[{"message":{"content":"4"}}],"error":{"message":"no"}}"#, Err("no")),
            (r#"{"error":{"message":"no"},"choices":null}"#, Err("no")),
            (r#"{"choices":[]}"#, Err("no choices")),
            (r#"{"choices":[null]}"#, Err("no choices")),
            (r#"{"choices":[[{"content":"4"}]]}"#, Err("no choices")),
            (r#"[null,[{"message":{"content":"4"}}]]"#, Err("no choices")),
            (r#"{"choices":[{"index":0}]}"#, Err("neither a message nor a text")),
            (r#"{"choices":[{"message":{"content":4}}]}"#, Err("neither text nor parts: 4")),
            ("<html>", Err("a page in HTML")),
            (deep.as_str(), Err("nested deeper than 64 levels")),
        ] {
            let found = read_body(body.as_bytes(), false).map(|output| output.answer);
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
                (Err(failure), Err(expected)) => {
                    assert!(failure.message.contains(expected), "{body}: {}", failure.message)
                }
                (found, _) => panic!("{body}: {:?}", found.map_err(|failure| failure.message)),
            }
        }
    }

    #[test]
    fn thoughts_are_split_off_at_the_beginning_alone() {
        for (answer, thought, rest) in [
            ("<think>\nhm\n</think>\n\n4", Some("hm"), "4"),
            ("hm\n</think>4", Some("hm"), "4"),
            ("\n<think>never ends", Some("never ends"), ""),
            ("4 <think>", None, "4 <think>"),
            ("4", None, "4"),
        ] {
            let found = split_thought(answer.to_owned());
            assert_eq!((found.0.as_deref(), found.1.as_str()), (thought, rest), "{answer}");
        }
    }

    #[test]
    fn counts_that_cannot_be_are_unknown() {
        for (tokens, expected) in [
            (json!(3), Some(3)),
            (json!(0), Some(0)),
            (json!(u64::MAX), None),
            (json!(-1), None),
            (json!(1.5), None),
            (json!("3"), None),
        ] {
            let usage = usage_of(&json!({"prompt_tokens": tokens}));
            assert_eq!(usage.map(|usage| usage.prompt_tokens), expected, "{tokens}");
        }
    }
}
