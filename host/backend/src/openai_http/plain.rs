//! Reads answers as nearly all of them are: one text, and what it took.

use super::reply::finish_of;
use crate::conversation::count_of_tokens;
use gage_core::{FinishReason, ModelOutput, Usage};
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// With fewer brackets an answer cannot be nested too deep.
const FEW: usize = 64;

/// The text of an answer in that shape, read without a value for each of its members; nothing where what is looked at is not
/// as usual. Such answers, and those that are none, are for the reader of all answers. What nobody looks at need only
/// be JSON by its grammar: a number that is too large does not matter there.
pub(super) fn read(body: &[u8]) -> Option<ModelOutput> {
    if body.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() > FEW {
        return None;
    }
    let JsonObject(reply): JsonObject<FastCompletion<'_>> =
        serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    let JsonObject(choice) = reply.choices.into_iter().next()?;
    let is_usual = reply.error.is_none() && choice.is_plain() && choice.message.0.is_plain();
    let finish = finish_of(Some(choice.finish_reason.as_ref()));
    // What calls tools is looked at more closely.
    if !is_usual || finish == FinishReason::ToolCalls {
        return None;
    }
    let usage = Usage {
        prompt_tokens: count_of_tokens(reply.usage.0.prompt_tokens)?,
        completion_tokens: count_of_tokens(reply.usage.0.completion_tokens)?,
    };
    Some(ModelOutput::generated(choice.message.0.content, finish, Some(usage)))
}

/// What is read of an object alone: fields would be read of a list, too, in their order.
struct JsonObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonObject<T>, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = JsonObject<T>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<JsonObject<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(JsonObject)
    }
}

#[derive(Deserialize)]
struct FastCompletion<'b> {
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    choices: Vec<JsonObject<FastChoice<'b>>>,
    usage: JsonObject<FastUsage>,
}

#[derive(Deserialize)]
struct FastChoice<'b> {
    message: JsonObject<FastMessage>,
    #[serde(borrow)]
    finish_reason: Cow<'b, str>,
    text: Option<IgnoredAny>,
    logprobs: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct FastMessage {
    content: String,
    refusal: Option<IgnoredAny>,
    reasoning: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct FastUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl FastChoice<'_> {
    fn is_plain(&self) -> bool {
        self.text.is_none() && self.logprobs.is_none()
    }
}

impl FastMessage {
    fn is_plain(&self) -> bool {
        let others = [&self.refusal, &self.reasoning, &self.reasoning_content, &self.tool_calls];
        others.into_iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json_of;

    #[test]
    fn what_is_read_at_once_is_what_the_reader_of_all_answers_reads() {
        let usual = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"four\n\"4\" 数","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"details":{"a":1}},"system_fingerprint":null}"#;
        let deep = format!("\"deep\":{}{}", "[".repeat(70), "]".repeat(70));
        let usage = r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"details":{"a":1}}"#;
        assert!(usual.contains(usage));
        for (from, to, is_usual) in [
            ("", "", true),
            ("\"stop\"", "\"length\"", true),
            ("\"stop\"", "\"content_filter\"", true),
            ("\"stop\"", "\"\\u0073top\"", true),
            ("\"stop\"", "\"else\"", true),
            ("\"model\":\"m\"", "\"error\":null", true),
            ("\"annotations\":[]", "\"tool_calls\":null", true),
            ("\"stop\"", "\"tool_calls\"", false),
            ("\"stop\"", "null", false),
            ("\"model\":\"m\"", "\"error\":{\"message\":\"no\"}", false),
            ("\"annotations\":[]", "\"tool_calls\":[]", false),
            ("\"annotations\":[]", "\"reasoning\":\"hm\"", false),
            ("\"refusal\":null", "\"refusal\":\"no\"", false),
            ("\"logprobs\":null", "\"logprobs\":{\"content\":[]}", false),
            ("\"four\\n\\\"4\\\" 数\"", "null", false),
            ("\"four\\n\\\"4\\\" 数\"", "[{\"type\":\"text\",\"text\":\"four\"}]", false),
            ("\"prompt_tokens\":9", "\"prompt_tokens\":9.5", false),
            ("\"prompt_tokens\":9", "\"prompt_tokens\":-9", false),
            ("\"prompt_tokens\":9", "\"prompt_tokens\":18446744073709551615", false),
            ("\"completion_tokens\":5,", "", false),
            ("\"id\":\"c1\"", "\"choices\":[]", false),
            ("\"id\":\"c1\"", deep.as_str(), false),
            (usage, "[9,5]", false),
            ("{\"index\"", "[],{\"index\"", false),
            ("}]", "}],", false),
        ] {
            let body = usual.replacen(from, to, 1);
            let found = read(body.as_bytes());
            assert_eq!(found.is_some(), is_usual, "{body}");
            if let Some(found) = found {
                let all = json_of(body.as_bytes()).and_then(|reply| super::super::reply::read(reply, false));
                assert_eq!(all.ok().as_ref(), Some(&found), "{body}");
            }
        }
        assert!(read(b"\xff").is_none());
    }
}
