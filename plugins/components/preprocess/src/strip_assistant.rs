//! `strip_assistant`: conversations that end with the expected reply of the model.

use crate::default::{DefaultParams, convert, properties};
use crate::messages::last_said;
use crate::param_schema::Properties;
use crate::roles::Conversion;
use gage_row_kit::fields::Fields;
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;

/// Like `default`, after the messages of the model are removed. The last of them is the right answer of a row that has
/// no other.
pub struct StripAssistant(DefaultParams);

impl Conversion for StripAssistant {
    const NAME: &'static str = "strip_assistant";
    const VERSION: &'static str = "3";
    const DESCRIPTION: &'static str = "Conversations without the model's messages";
    const REMOVED_ROLES: &'static [&'static str] = &["assistant"];
    fn properties() -> Properties {
        properties()
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        DefaultParams::read(params).map(StripAssistant)
    }

    fn sample(&self, row: Fields, removed: Vec<Value>) -> Result<Value, PluginError> {
        convert(row, &self.0, last_said(&removed), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;
    use gage_sdk::json;

    fn roles(sample: &Value) -> Vec<&str> {
        sample["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|message| message["role"].as_str())
            .collect()
    }

    #[test]
    fn the_last_answer_is_kept() {
        let messages = json!([
            { "role": "system", "content": "s" },
            { "role": "user", "content": "q" },
            { "role": "assistant", "content": "first" },
            { "role": "user", "content": "r" },
            { "role": "assistant", "content": [{ "type": "text", "text": "last" }] },
        ]);
        for (params, row, expected_roles, label) in [
            (json!({}), json!({ "messages": messages }), vec!["system", "user", "user"], Some("last")),
            (
                json!({}),
                json!({ "messages": messages, "answer": "a" }),
                vec!["system", "user", "user"],
                Some("a"),
            ),
            (
                json!({ "roles_to_remove": ["system"] }),
                json!({ "messages": messages }),
                vec!["user", "assistant", "user", "assistant"],
                None,
            ),
            (json!({}), json!({ "question": "q" }), vec!["user"], None),
        ] {
            let sample = convert::<StripAssistant>(params, row).unwrap_or_default();
            assert_eq!(roles(&sample), expected_roles);
            assert_eq!(sample["label"].as_str(), label);
        }
    }

    #[test]
    fn samples_are_taken_too() {
        let sample = json!({
            "schema_version": "v1", "id": "a",
            "messages": [{ "role": "user", "content": "q" }, { "role": "assistant", "content": "a" }],
            "references": [{ "answer": [{ "type": "text", "text": "b" }] }], "label": "b",
            "own": 1,
        });
        let stripped = convert::<StripAssistant>(json!({}), sample).unwrap_or_default();
        assert_eq!(roles(&stripped), ["user"]);
        assert_eq!(stripped["label"], "b");
        assert_eq!(stripped["own"], 1);
    }

    #[test]
    fn something_must_be_left() {
        let row = json!({ "messages": [{ "role": "assistant", "content": "a" }] });
        let error = convert::<StripAssistant>(json!({}), row).err();
        assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/messages"));
        for roles in [json!(["asistant"]), json!("assistant"), json!([1])] {
            let error = convert::<StripAssistant>(json!({ "roles_to_remove": roles }), json!({})).err();
            assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/roles_to_remove"));
        }
    }
}
