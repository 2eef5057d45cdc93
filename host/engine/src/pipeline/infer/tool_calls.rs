//! Tool calls as models write them, and their results as messages.

use gage_core::{
    ContentPart, DEFAULT_MAX_JSON_VALUES, LazyObject, Message, ModelOutput, Object, Role, parse_json,
};
use serde_json::{Value, json};

/// Maximum number of calls answered per reply.
pub(crate) const MAX_CALLS: usize = 128;

/// A tool call of a model.
pub(crate) struct ToolCall {
    /// The call in OpenAI format, as sent back to the model.
    pub(crate) value: Value,
    pub(crate) id: String,
    /// The call as a component sees it: `id`, `name` and `arguments`. Otherwise, the reason it is refused.
    pub(crate) named: Result<Value, &'static str>,
}

impl ToolCall {
    /// Returns the calls in a turn's reply. A call without an id gets one, so that its result can refer to it.
    pub(crate) fn all(reply: &ModelOutput, turn: u32) -> Vec<ToolCall> {
        let calls = reply.extra.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        calls.enumerate().map(|(place, call)| ToolCall::read(call, &format!("call_{turn}_{place}"))).collect()
    }

    fn read(call: &Value, usual_id: &str) -> ToolCall {
        let function = call.get("function").unwrap_or(call);
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).unwrap_or(usual_id);
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let written = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        // Invalid JSON, and JSON with too many values, is passed on for the tool to reject.
        let arguments = match written.trim() {
            "" => json!({}),
            text => parse_json(text.as_bytes(), DEFAULT_MAX_JSON_VALUES)
                .unwrap_or_else(|_| Value::String(written.clone())),
        };
        let named = match name {
            "" => Err("the call names no function"),
            name => Ok(json!({"id": id, "name": name, "arguments": arguments})),
        };
        let mut value =
            call.as_object().filter(|call| call.contains_key("function")).cloned().unwrap_or_default();
        value.insert("id".to_owned(), id.into());
        value.insert("type".to_owned(), "function".into());
        value.insert("function".to_owned(), json!({"name": name, "arguments": written}));
        ToolCall { value: Value::Object(value), id: id.to_owned(), named }
    }

    /// Returns the result message of a refused call.
    pub(crate) fn refused(&self) -> Message {
        let reason = self.named.as_ref().err().copied().unwrap_or_default();
        message(&self.id, json!({ "error": reason }).to_string())
    }
}

/// Returns a component's output as the result message of a call. Uses its `content` if present, else the whole output.
/// Anything but a string is serialized as JSON.
pub(crate) fn result_of(id: &str, output: Object) -> Message {
    let text = match output.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => Value::Object(output).to_string(),
    };
    message(id, text)
}

fn message(id: &str, text: String) -> Message {
    Message {
        role: Role::Tool,
        content: vec![ContentPart::text(text)],
        name: None,
        tool_calls: Vec::new(),
        tool_call_id: Some(id.to_owned()),
        extra: LazyObject::default(),
    }
}

/// Returns the tool choice after a turn with calls. A choice that forces a call becomes `auto`, or it would force one in
/// every turn.
pub(crate) fn choice_after(choice: Option<Value>) -> Option<Value> {
    choice.map(|choice| match choice.as_str() {
        Some("auto" | "none") => choice,
        _ => "auto".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::FinishReason;

    #[test]
    fn calls_of_every_shape_are_read() {
        let mut reply = ModelOutput::generated(String::new(), FinishReason::ToolCalls, None);
        assert!(ToolCall::all(&reply, 1).is_empty());
        let calls = json!([
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}, "further": 1},
            {"function": {"name": "f", "arguments": {"x": 1}}},
            {"name": "f"},
            {"id": "d", "function": {"name": "f", "arguments": "{not"}},
            {"id": "e", "function": {"arguments": ""}},
            7,
        ]);
        reply.extra.insert("tool_calls".to_owned(), calls);
        let calls = ToolCall::all(&reply, 2);
        let named: Vec<Value> = calls.iter().map(|call| call.named.clone().unwrap_or_default()).collect();
        let expected = json!([
            {"id": "a", "name": "f", "arguments": {"x": 1}},
            {"id": "call_2_1", "name": "f", "arguments": {"x": 1}},
            {"id": "call_2_2", "name": "f", "arguments": {}},
            {"id": "d", "name": "f", "arguments": "{not"},
            null,
            null,
        ]);
        assert_eq!(Value::Array(named), expected);
        assert_eq!(
            (&calls[0].value["further"], &calls[0].value["function"]["arguments"]),
            (&json!(1), &json!("{\"x\": 1}"))
        );
        assert_eq!(calls[1].value["function"]["arguments"], "{\"x\":1}");
        assert_eq!(calls[4].refused().tool_call_id.as_deref(), Some("e"));
        assert!(gage_core::text_of(&calls[5].refused().content).contains("names no function"));
    }

    #[test]
    fn a_result_is_a_text() {
        let text = |output: Value| {
            let output = output.as_object().cloned().unwrap_or_default();
            gage_core::text_of(&result_of("c", output).content)
        };
        assert_eq!(text(json!({"content": "Sunny", "found": true})), "Sunny");
        assert_eq!(text(json!({"content": [1, 2]})), "[1,2]");
        assert_eq!(text(json!({"error": "no such tool"})), r#"{"error":"no such tool"}"#);
    }

    #[test]
    fn a_call_is_forced_once() {
        let forced = json!({"type": "function", "function": {"name": "f"}});
        for (before, after) in [
            (None, None),
            (Some(json!("auto")), Some(json!("auto"))),
            (Some(json!("none")), Some(json!("none"))),
            (Some(json!("required")), Some(json!("auto"))),
            (Some(forced), Some(json!("auto"))),
        ] {
            assert_eq!(choice_after(before), after);
        }
    }
}
