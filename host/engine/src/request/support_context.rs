//! The output of support steps, as it appears in payloads and prompts.

use gage_core::Object;
use serde_json::Value;

/// Payload keys with a fixed meaning. The output of an adapter with such a name is found only under `support`.
const RESERVED: [&str; 6] = ["sample", "support", "history", "tool_call", "model_output", "judge_output"];

/// Returns the output of support steps as payloads hold it: each under its adapter's name, and all under `support`.
pub(crate) fn payload_of(support_output: &Value) -> Object {
    let Value::Object(found) = support_output else { return Object::new() };
    let named = found.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str()));
    let mut payload: Object = named.map(|(name, output)| (name.clone(), output.clone())).collect();
    payload.insert("support".to_owned(), support_output.clone());
    payload
}

/// Joins the texts that support steps found under `context`. `None` if there are none.
pub(crate) fn context_of(support_output: &Value) -> Option<String> {
    let outputs = support_output.as_object().into_iter().flat_map(Object::values);
    let texts: Vec<String> = outputs.filter_map(|output| output.get("context")).flat_map(texts_of).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the texts of a context: a text itself, the texts of a list's items, or an object's `text` or `content`. Any
/// other value is shown as JSON.
fn texts_of(context: &Value) -> Vec<String> {
    match context {
        Value::Null => Vec::new(),
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts_of).collect(),
        Value::Object(object) => {
            match object.get("text").or_else(|| object.get("content")).and_then(Value::as_str) {
                Some(text) => vec![text.to_owned()],
                None => vec![context.to_string()],
            }
        }
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_context_is_one_text() {
        for (support, expected) in [
            (json!(null), None),
            (json!({"a": {"other": 1}}), None),
            (json!({"a": {"context": [" ", null]}}), None),
            (
                json!({"a": {"context": "one"}, "b": {"context": ["two", {"text": "three"}]}}),
                Some("one\n\ntwo\n\nthree"),
            ),
            (
                json!({"a": {"context": [{"content": "c", "score": 1}, {"k": 2}, 3]}}),
                Some("c\n\n{\"k\":2}\n\n3"),
            ),
        ] {
            assert_eq!(context_of(&support).as_deref(), expected, "{support}");
        }
    }

    #[test]
    fn payload_holds_support_output_except_under_taken_names() {
        let found = json!({"retriever": {"context": "c"}, "sample": {"x": 1}});
        let payload = payload_of(&found);
        assert_eq!(Value::Object(payload), json!({"retriever": {"context": "c"}, "support": found}));
        assert!(payload_of(&Value::Null).is_empty());
    }
}
