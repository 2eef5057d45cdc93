//! Parser of replies, whole or assembled from a stream.

use crate::conversation::{checked_token_count, put_known};
use crate::http::{AnswerId, BYTE_ORDER_MARK, HttpFailure, MAX_JSON_DEPTH, json_of};
use crate::reply_media::{base64_part, media_parts_of};
use gage_core::{FinishReason, ModelOutput, Usage, is_nested_deeper, last_member};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use serde_json_borrow::Value as BorrowedValue;
use std::fmt;
use std::marker::PhantomData;

/// An answer in the server's format. Fields that are not read, such as `created`, take no memory.
#[derive(Deserialize)]
struct Completion<'b> {
    #[serde(borrow, default, deserialize_with = "borrowed")]
    error: BorrowedValue<'b>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    id: BorrowedValue<'b>,
    #[serde(borrow, default)]
    choices: Vec<JsonObject<Choice<'b>>>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    usage: BorrowedValue<'b>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    model: BorrowedValue<'b>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    system_fingerprint: BorrowedValue<'b>,
}

/// One of the answers of a completion.
#[derive(Deserialize)]
struct Choice<'b> {
    /// Answer to a conversation.
    #[serde(borrow, default, deserialize_with = "present")]
    message: Option<BorrowedValue<'b>>,
    /// Answer to a rendered prompt.
    #[serde(borrow, default, deserialize_with = "present")]
    text: Option<BorrowedValue<'b>>,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    finish_reason: BorrowedValue<'b>,
    #[serde(default)]
    logprobs: Value,
    #[serde(borrow, default, deserialize_with = "borrowed")]
    index: BorrowedValue<'b>,
}

/// Answer of a model, in the server's terms.
pub(super) struct Reply {
    pub(super) content: String,
    /// Reasoning text, or another value that the server writes; `None` if empty.
    pub(super) reasoning: Option<Value>,
    /// Refusal; not empty.
    pub(super) refusal: Option<String>,
    /// Tool calls; not empty.
    pub(super) tool_calls: Option<Value>,
    /// Media, as content parts with `data:` URLs or URLs of the server.
    pub(super) media: Vec<Value>,
    pub(super) finish: FinishReason,
    pub(super) logprobs: Option<Value>,
    pub(super) usage: Option<Usage>,
}

/// Deserializes a struct from an object only. serde alone would also accept a list of its fields, in order.
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

fn borrowed<'de: 'b, 'b, D: Deserializer<'de>>(deserializer: D) -> Result<BorrowedValue<'b>, D::Error> {
    BorrowedValue::deserialize(deserializer)
}

/// Distinguishes null from a missing field.
fn present<'de: 'b, 'b, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BorrowedValue<'b>>, D::Error> {
    borrowed(deserializer).map(Some)
}

/// Parses an answer that arrived as a whole.
///
/// If several answers were requested, the one with the index 0 counts.
pub(super) fn read_body(
    body: &[u8],
    think_tags: bool,
    id: &mut Option<AnswerId>,
) -> Result<ModelOutput, HttpFailure> {
    let text = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    if !is_nested_deeper(text, MAX_JSON_DEPTH)
        && let Ok(text) = std::str::from_utf8(text)
        && let Ok(JsonObject(completion)) = serde_json::from_str::<JsonObject<Completion<'_>>>(text)
        && completion.error.is_null()
        && let Some(choice) = first_choice(completion.choices)
    {
        *id = completion.id.as_str().and_then(AnswerId::of);
        let mut output = Reply::read(choice, &completion.usage)?.into_output(think_tags);
        add_served(&mut output, completion.model.as_str(), completion.system_fingerprint.as_str());
        return Ok(output);
    }
    // Parse the answer again as a value tree to get the error message.
    let reply = json_of(body)?;
    HttpFailure::check("the answer is an error", &reply)?;
    Err(HttpFailure::protocol(format!("the answer has no choices: {}", shown(&reply))))
}

/// Returns the choice with the index 0; the first one if none has it.
fn first_choice(mut choices: Vec<JsonObject<Choice<'_>>>) -> Option<Choice<'_>> {
    let place = choices.iter().position(|JsonObject(choice)| choice.index.as_u64().unwrap_or(0) == 0);
    let place = place.unwrap_or(0);
    (place < choices.len()).then(|| choices.swap_remove(place).0)
}

/// Adds the names that the server gives to the model that answered, and to its configuration.
pub(super) fn add_served(output: &mut ModelOutput, model: Option<&str>, fingerprint: Option<&str>) {
    let named = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(Value::from);
    let served =
        [(ModelOutput::SERVED_MODEL_KEY, named(model)), (ModelOutput::FINGERPRINT_KEY, named(fingerprint))];
    put_known(&mut output.extra, served);
}

impl Reply {
    fn read(choice: Choice<'_>, usage: &BorrowedValue<'_>) -> Result<Reply, HttpFailure> {
        let Choice { message, text, finish_reason, logprobs, .. } = choice;
        let mut content = BorrowedValue::Null;
        let mut refusal = None;
        let mut tool_calls = None;
        let mut media = Vec::new();
        let mut transcript = None;
        let mut reasoning = [None, None];
        // Completions of a rendered prompt have a `text`, those of a conversation a `message`.
        match (message, text) {
            (Some(BorrowedValue::Object(members)), _) => {
                for (key, value) in members.into_vec() {
                    match &*key {
                        "content" => content = value,
                        "refusal" => {
                            refusal = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
                        }
                        "reasoning_content" => reasoning[0] = reasoning_of(value),
                        "reasoning" => reasoning[1] = reasoning_of(value),
                        "tool_calls" => tool_calls = calls_of(value),
                        "images" => media.extend(media_parts_of(&Value::from(value))),
                        "audio" => {
                            let audio = Value::from(value);
                            media.extend(
                                audio
                                    .get("data")
                                    .and_then(Value::as_str)
                                    .map(|data| base64_part("audio/*", data)),
                            );
                            transcript = audio.get("transcript").and_then(Value::as_str).map(str::to_owned);
                        }
                        _ => {}
                    }
                }
            }
            (Some(_), _) => {}
            (None, Some(text)) => content = text,
            (None, None) => return Err(HttpFailure::protocol("the answer has neither a message nor a text")),
        }
        if let BorrowedValue::Array(_) = &content {
            media.extend(media_parts_of(&Value::from(&content)));
        }
        let content = content_of(content)?;
        let content = if content.is_empty() { transcript.unwrap_or_default() } else { content };
        Ok(Reply {
            content,
            media,
            reasoning: reasoning.into_iter().flatten().next(),
            refusal,
            tool_calls,
            finish: finish_of(finish_reason.as_str()),
            logprobs: logprobs_of(logprobs),
            usage: usage_of(|key| last_member(usage, key)?.as_u64()),
        })
    }

    /// Converts the answer for use by metrics.
    pub(super) fn into_output(self, think_tags: bool) -> ModelOutput {
        let finish = if self.refusal.is_some() { FinishReason::ContentFilter } else { self.finish };
        let (thought, answer) = if think_tags { split_thought(self.content) } else { (None, self.content) };
        let mut output = ModelOutput::generated(answer, finish, self.usage);
        let further = [
            ("reasoning", self.reasoning.or(thought.map(Value::from))),
            ("tool_calls", self.tool_calls),
            ("refusal", self.refusal.map(Value::from)),
            ("logprobs", self.logprobs),
            (ModelOutput::MEDIA_KEY, (!self.media.is_empty()).then(|| self.media.into())),
        ];
        put_known(&mut output.extra, further);
        output
    }
}

fn reasoning_of(value: BorrowedValue<'_>) -> Option<Value> {
    let is_empty = value.is_null() || value.as_str().is_some_and(str::is_empty);
    (!is_empty).then(|| value.into())
}

fn calls_of(value: BorrowedValue<'_>) -> Option<Value> {
    value.as_array().is_some_and(|calls| !calls.is_empty()).then(|| value.into())
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

/// Returns the usage that a server reports. An implausible token count is treated as missing.
pub(super) fn usage_of(count: impl Fn(&str) -> Option<u64>) -> Option<Usage> {
    let count = |key: &str| count(key).and_then(checked_token_count);
    count("prompt_tokens").map(|prompt_tokens| Usage {
        prompt_tokens,
        completion_tokens: count("completion_tokens").unwrap_or(0),
    })
}

/// Returns the text of a content value.
fn content_of(content: BorrowedValue<'_>) -> Result<String, HttpFailure> {
    match content {
        BorrowedValue::Null => Ok(String::new()),
        BorrowedValue::Str(text) => Ok(text.into_owned()),
        BorrowedValue::Array(parts) => {
            Ok(parts.iter().filter_map(|part| last_member(part, "text")?.as_str()).collect())
        }
        other => Err(HttpFailure::protocol(format!(
            "the content of the answer is neither text nor parts: {}",
            shown(&other.into())
        ))),
    }
}

/// Splits an answer into the `<think>` block at its beginning and the rest.
///
/// Some templates write the opening tag themselves, so that the answer has only the closing one.
fn split_thought(answer: String) -> (Option<String>, String) {
    let opened = answer.trim_start().strip_prefix("<think>");
    match (opened, answer.split_once("</think>")) {
        (_, Some((thought, rest))) => {
            let thought = thought.trim_start();
            let thought = thought.strip_prefix("<think>").unwrap_or(thought).trim();
            (Some(thought.to_owned()), rest.trim_start().to_owned())
        }
        // It was cut off while thinking.
        (Some(thought), None) => (Some(thought.trim().to_owned()), String::new()),
        (None, None) => (None, answer),
    }
}

/// Returns the log-probabilities of the tokens, in one format for both APIs: `token`, `logprob`, and alternatives in
/// `top_logprobs`.
pub(super) fn logprobs_of(mut logprobs: Value) -> Option<Value> {
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
            let found = read_body(body.as_bytes(), false, &mut None).map(|output| output.answer);
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
    fn the_last_of_members_with_the_same_key_counts() {
        let content = r#"[{"type":"text","text":"3","text":"4"}]"#;
        let message = format!(
            r#"{{"content":"3","content":{content},"reasoning_content":null,"reasoning":"hm","refusal":"no","refusal":""}}"#
        );
        let usage = r#"{"prompt_tokens":1,"prompt_tokens":2}"#;
        let body = format!(r#"{{"choices":[{{"message":{message}}}],"usage":{usage}}}"#);
        let output = read_body(body.as_bytes(), false, &mut None)
            .map_err(|failure| failure.message)
            .expect("an answer");
        assert_eq!((output.answer.as_str(), output.finish_reason), ("4", FinishReason::Stop));
        assert_eq!(output.usage.map(|usage| usage.prompt_tokens), Some(2));
        assert_eq!(Value::from(output.extra), json!({"reasoning": "hm"}));
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
            ("3", Some(3)),
            ("0", Some(0)),
            ("18446744073709551615", None),
            ("-1", None),
            ("1.5", None),
            ("\"3\"", None),
        ] {
            let body = format!(r#"{{"choices":[{{"text":""}}],"usage":{{"prompt_tokens":{tokens}}}}}"#);
            let output = read_body(body.as_bytes(), false, &mut None).map_err(|failure| failure.message);
            let usage = output.expect("an answer").usage;
            assert_eq!(usage.map(|usage| usage.prompt_tokens), expected, "{tokens}");
        }
    }
}
