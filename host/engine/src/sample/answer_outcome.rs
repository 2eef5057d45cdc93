//! The outcome of a sample, according to its model's reply.

use gage_core::{FinishReason, ModelOutput, Outcome, OutputView};
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

/// Returns the name of the tool that a reply calls, if the reply is no answer: it has no text, or it ended to wait for the
/// results of its calls.
pub(crate) fn awaited_tool(output: &ModelOutput) -> Option<&str> {
    let calls = output.extra.get("tool_calls").and_then(Value::as_array)?;
    let is_waiting = output.answer.trim().is_empty() || output.finish_reason == FinishReason::ToolCalls;
    let name = calls.first()?.pointer("/function/name").and_then(Value::as_str);
    is_waiting.then_some(name.unwrap_or_default())
}

/// As [`awaited_tool`], for an output that may be recorded.
pub(crate) fn awaited_tool_of(output: &OutputView) -> Option<String> {
    let document = match output {
        OutputView::Read(output) => return awaited_tool(output).map(str::to_owned),
        OutputView::Json(document) => document,
    };
    let name = document.pointer("/tool_calls/0")?.pointer("/function/name").and_then(Value::as_str);
    let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_waiting = text("answer").trim().is_empty() || text("finish_reason") == "tool_calls";
    is_waiting.then(|| name.unwrap_or_default().to_owned())
}

/// Returns a duration in milliseconds, rounded to microseconds: records would only be longer with more digits.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
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

    #[test]
    fn reply_that_waits_for_tools_is_no_answer() {
        let call = json!([{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        for (answer, finish, calls, expected) in [
            ("", FinishReason::ToolCalls, &call, Some("f")),
            ("", FinishReason::Stop, &call, Some("f")),
            ("Let me search.", FinishReason::ToolCalls, &call, Some("f")),
            ("It is 4.", FinishReason::Stop, &call, None),
            ("It is 4.", FinishReason::ToolCalls, &json!([]), None),
        ] {
            let mut output = ModelOutput::generated(answer.to_owned(), finish, None);
            output.extra.insert("tool_calls".to_owned(), calls.clone());
            assert_eq!(awaited_tool(&output), expected, "{answer:?} {finish:?}");
            let recorded = OutputView::Json(output.to_value());
            assert_eq!(awaited_tool_of(&recorded).as_deref(), expected, "{answer:?} {finish:?}");
        }
    }
}
