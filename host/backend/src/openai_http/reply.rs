//! What an answer says, whether it came as a whole or was put together from a stream.

use crate::conversation::{put_known, token_count_from_json};
use crate::http::HttpFailure;
use gage_core::{FinishReason, ModelOutput, Usage};
use serde_json::{Value, json};

/// Reads an answer.
pub(super) fn read(mut reply: Value, think_tags: bool) -> Result<ModelOutput, HttpFailure> {
    HttpFailure::check("the answer is an error", &reply)?;
    let usage = usage_of(&reply);
    let choice = reply.pointer_mut("/choices/0").map(Value::take);
    let Some(mut choice) = choice.filter(Value::is_object) else {
        return Err(HttpFailure::protocol(format!("the answer has no choices: {}", shown(&reply))));
    };
    // Completions of a rendered prompt are a `text`, those of a conversation a `message`.
    let text = choice.get_mut("text").map(Value::take);
    let message = match (choice.get_mut("message").map(Value::take), text) {
        (Some(message), _) => message,
        (None, Some(text)) => json!({"content": text}),
        (None, None) => {
            return Err(HttpFailure::protocol(format!("the answer has no message: {}", shown(&choice))));
        }
    };
    let finish = finish_of(choice.get("finish_reason").and_then(Value::as_str));
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    let finish = if refusal.is_some() { FinishReason::ContentFilter } else { finish };
    let answer = answer_of(&message)?;
    let (thought, answer) = if think_tags { split_thought(answer) } else { (None, answer) };
    let mut output = ModelOutput::generated(answer, finish, usage);
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
        ("logprobs", choice.get_mut("logprobs").and_then(logprobs_of)),
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

fn usage_of(reply: &Value) -> Option<Usage> {
    let count = |key: &str| reply.get("usage")?.get(key).and_then(token_count_from_json);
    count("prompt_tokens").map(|prompt_tokens| Usage {
        prompt_tokens,
        completion_tokens: count("completion_tokens").unwrap_or(0),
    })
}

fn answer_of(message: &Value) -> Result<String, HttpFailure> {
    match message.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
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
            let usage = usage_of(&json!({"usage": {"prompt_tokens": tokens}}));
            assert_eq!(usage.map(|usage| usage.prompt_tokens), expected, "{tokens}");
        }
    }
}
