//! `choices` in the format of an OpenAI API response, `[{"index": 0, "message": {…}}]`. Older programs store either the
//! options of a question or its right answer in it.

use crate::sample::message;
use gage_row_kit::fields::object;
use gage_sdk::serde_json::Value;

/// Returns whether a value has that format.
pub(crate) fn is_openai(value: &Value) -> bool {
    value.as_array().is_some_and(|items| {
        !items.is_empty() && items.iter().all(|item| item.get("message").is_some_and(Value::is_object))
    })
}

/// Returns the texts of choices, and skips choices without one.
pub(crate) fn texts(choices: &Value) -> Vec<String> {
    let contents =
        choices.as_array().into_iter().flatten().filter_map(|item| item.get("message")?.get("content"));
    contents.map(content_text).filter(|text| !text.is_empty()).collect()
}

/// Returns the text of a message's content, joined over all parts.
pub(crate) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str())).collect()
        }
        _ => String::new(),
    }
}

/// Returns choices with these texts.
pub(crate) fn of_texts<'text>(texts: impl IntoIterator<Item = &'text str>) -> Value {
    texts.into_iter().enumerate().map(|(index, text)| choice(index, text)).collect()
}

fn choice(index: usize, text: &str) -> Value {
    object([("index", index.into()), ("message", message("assistant", text))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn choices_hold_texts() {
        let made = of_texts(["a"]);
        assert!(is_openai(&made));
        assert_eq!(texts(&made), ["a"]);
        assert_eq!(made.pointer("/0/message/content/0/text"), Some(&json!("a")));
        let mixed = json!([{ "message": { "content": "x" } }, { "message": {} }]);
        assert!(is_openai(&mixed));
        assert_eq!(texts(&mixed), ["x"]);
        for other in
            [json!([]), json!(["a"]), json!([{ "index": 0 }]), json!([{ "message": "a" }]), json!({})]
        {
            assert!(!is_openai(&other), "{other}");
        }
    }
}
