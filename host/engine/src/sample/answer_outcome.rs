//! The outcome of a sample, according to its model's reply.

use gage_core::{FinishReason, ModelOutput, Outcome};
use serde_json::Value;
use std::time::Duration;

/// Returns the outcome that a reply gives its sample. `Scored` if the task scores such replies anyway.
pub(crate) fn outcome_of(output: &ModelOutput, scored: &[Outcome]) -> Outcome {
    let is_empty = || output.answer.trim().is_empty() && !output.has_media();
    let has_calls =
        || output.extra.get("tool_calls").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let outcome = match output.finish_reason {
        FinishReason::ContentFilter => Outcome::Refused,
        FinishReason::Length => Outcome::Truncated,
        FinishReason::Stop | FinishReason::Other if is_empty() => Outcome::EmptyOutput,
        // The reply claims tool calls but contains none.
        FinishReason::ToolCalls if is_empty() && !has_calls() => Outcome::EmptyOutput,
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Scored | FinishReason::Other => {
            Outcome::Scored
        }
    };
    if scored.contains(&outcome) { Outcome::Scored } else { outcome }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_without_text_is_empty_unless_it_calls_tools() {
        let call = json!([{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        for (answer, finish, calls, expected) in [
            ("", FinishReason::ToolCalls, Some(&call), Outcome::Scored),
            ("", FinishReason::ToolCalls, Some(&json!([])), Outcome::EmptyOutput),
            (" \n", FinishReason::ToolCalls, None, Outcome::EmptyOutput),
            ("4", FinishReason::ToolCalls, None, Outcome::Scored),
            ("", FinishReason::Stop, None, Outcome::EmptyOutput),
            ("", FinishReason::Length, None, Outcome::Truncated),
            ("", FinishReason::Scored, None, Outcome::Scored),
        ] {
            let mut output = ModelOutput::generated(answer.to_owned(), finish, None);
            output.extra.extend(calls.map(|calls| ("tool_calls".to_owned(), calls.clone())));
            assert_eq!(outcome_of(&output, &[]), expected, "{answer:?} {finish:?} {calls:?}");
            assert_eq!(outcome_of(&output, &[expected]), Outcome::Scored);
        }
    }
}
