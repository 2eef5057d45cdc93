//! `text_from_field`: a text of the Sample in place of its messages.

use gage_row_kit::fields::{Fields, require_text};
use gage_row_kit::media::Kind;
use gage_sdk::doc_hook::{DocHook, HookKind, HookSpec, Message, Role};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;

/// Creates one message with the text at a path. Media of the messages that it replaces stay before the text.
pub struct TextFromField {
    field: String,
    role: Role,
}

impl DocHook for TextFromField {
    fn name() -> &'static str {
        "text_from_field"
    }

    fn spec() -> HookSpec {
        let properties = json!({
            "field": {
                "type": "string", "minLength": 1,
                "description": "Path of the text in the Sample, such as `metadata.question_text`",
            },
            "role": {
                "enum": ["system", "user", "assistant"], "default": "user", "description": "Role of the message",
            },
        });
        let description = "Replaces the messages of a Sample by one message with the text of a field";
        let member = MemberSpec::new("1", description, properties).required(&["field"]);
        HookSpec::new(HookKind::Text, member)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?.known(|| ["field", "role"])?;
        let Some(field) = params.parsed("field")? else {
            return Err(PluginError::invalid_config("params: 'field' is required").at("/field"));
        };
        let roles = [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant)];
        Ok(TextFromField { field, role: params.one_of("role", &roles, Role::User)? })
    }

    fn to_text(&self, sample: &Value) -> Result<Vec<Message>, PluginError> {
        let no_fields = Fields::new();
        let text = require_text(sample.as_object().unwrap_or(&no_fields), &self.field)?.into_owned();
        let mut parts: Vec<Value> = media_parts(sample).cloned().collect();
        let mut message = Message::new(self.role, text.as_str());
        if !parts.is_empty() {
            parts.push(json!({ "type": "text", "text": text }));
            message.extra = json!({ "parts": parts }).to_string();
        }
        Ok(vec![message])
    }
}

fn media_parts(sample: &Value) -> impl Iterator<Item = &Value> {
    let messages = sample["messages"].as_array().into_iter().flatten();
    let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
    parts.filter(|part| Kind::ALL.into_iter().any(|kind| part["type"] == kind.part_type()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::serde_json;

    fn messages(params: Value, sample: Value) -> Result<Vec<Message>, PluginError> {
        TextFromField::prepare(params)?.to_text(&sample)
    }

    #[test]
    fn texts_replace_messages() {
        let sample =
            json!({ "messages": [{ "role": "user", "content": "old" }], "metadata": { "q": ["new"] } });
        let made = messages(json!({ "field": "metadata.q.0" }), sample.clone());
        assert_eq!(made, Ok(vec![Message::user("new")]));
        let made = messages(json!({ "field": "metadata.q.0", "role": "system" }), sample);
        assert_eq!(made, Ok(vec![Message::system("new")]));
    }

    #[test]
    fn media_stay() {
        let image = json!({ "type": "image_url", "image_url": { "url": "a.png" } });
        let sample = json!({ "q": "new", "messages": [
            { "role": "user", "content": [image, { "type": "text", "text": "old" }] },
        ] });
        let made = messages(json!({ "field": "q" }), sample).unwrap_or_default();
        let extra: Value = serde_json::from_str(&made[0].extra).unwrap_or_default();
        assert_eq!(extra, json!({ "parts": [image, { "type": "text", "text": "new" }] }));
        assert_eq!(made[0].content, "new");
    }

    #[test]
    fn errors_name_the_field() {
        for (params, sample) in
            [(json!({ "field": "a.b" }), json!({})), (json!({ "field": "a.b" }), json!({ "a": { "b": [] } }))]
        {
            let pointer = messages(params, sample).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some("/a/b"));
        }
        assert!(messages(json!({}), json!({})).is_err());
        assert!(messages(json!({ "field": "a", "role": "judge" }), json!({ "a": "x" })).is_err());
    }
}
