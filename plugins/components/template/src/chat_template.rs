//! `chat_template`: conversations as the texts that a model reads.

use gage_sdk::role_adapter::{Generation, Preparation, RoleAdapter};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{MemberSpec, PluginError, from_params, json};
use gage_template_kit::{ChatTemplate, ConversationMessage, TemplateValue};
use std::cell::OnceCell;

/// Renders conversations with the `template` of a model. `bos_token` and `eos_token` are the texts of the tokens that
/// begin and end a sequence.
///
/// A payload is a conversation: `messages` and `tools`, in the form that templates expect. The output has `text`. The
/// payload `{"inspect": true}` asks for the names in the template that do not exist: the output has `unknown`.
///
/// An invalid template is an error of the kind `invalid-config`, and a refused conversation one of the kind
/// `invalid-input`.
pub struct ChatTemplateAdapter {
    params: Params,
    /// Compiled for the first payload, so that a template which needs too much is an error of the payload.
    template: OnceCell<Result<ChatTemplate, String>>,
}

#[derive(serde::Deserialize)]
struct Params {
    template: String,
    bos_token: String,
    eos_token: String,
}

/// A payload. It is read into the values of templates, since others would have to be converted.
#[derive(serde::Deserialize)]
struct Payload {
    #[serde(default)]
    inspect: bool,
    #[serde(default)]
    messages: Vec<ConversationMessage>,
    tools: Option<TemplateValue>,
}

impl RoleAdapter for ChatTemplateAdapter {
    fn name() -> &'static str {
        "chat_template"
    }

    fn spec() -> MemberSpec {
        let properties = json!({
            "template": {"type": "string"},
            "bos_token": {"type": "string"},
            "eos_token": {"type": "string"},
        });
        MemberSpec::new("1", "Renders conversations", properties).required(&[
            "template",
            "bos_token",
            "eos_token",
        ])
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Ok(ChatTemplateAdapter { params: from_params(params)?, template: OnceCell::new() })
    }

    fn request(&self, payload: &Value) -> Result<Preparation, PluginError> {
        self.request_text(&payload.to_string())
    }

    fn request_text(&self, payload: &str) -> Result<Preparation, PluginError> {
        let payload: Payload = serde_json::from_str(payload)
            .map_err(|error| PluginError::invalid_input(format!("the payload cannot be read: {error}")))?;
        let Params { template, bos_token, eos_token } = &self.params;
        let compiled = self.template.get_or_init(|| ChatTemplate::compile(template, bos_token, eos_token));
        let template = compiled.as_ref().map_err(|reason| PluginError::invalid_config(reason.as_str()))?;
        if payload.inspect {
            return Ok(Preparation::Output(json!({ "unknown": template.unknown_names() })));
        }
        let text = template.render(payload.messages, payload.tools.unwrap_or(TemplateValue::from(())));
        Ok(Preparation::Output(json!({ "text": text.map_err(PluginError::invalid_input)? })))
    }

    fn parse(&self, _payload: &Value, _reply: &Generation) -> Result<Value, PluginError> {
        Err(PluginError::unsupported("chat_template asks no model"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::ErrorKind;

    fn output(template: &str, payload: &Value) -> Result<Value, (ErrorKind, String)> {
        let params = json!({"template": template, "bos_token": "<s>", "eos_token": ""});
        let adapter = ChatTemplateAdapter::prepare(params).expect("parameters");
        match adapter.request(payload).map_err(|error| (error.kind, error.message))? {
            Preparation::Output(output) => Ok(output),
            Preparation::Ask(_) => panic!("it asks no model"),
        }
    }

    #[test]
    fn a_conversation_becomes_a_text() {
        let payload = json!({"messages": [{"role": "user", "content": "hi"}], "tools": null});
        let template = "{{ bos_token }}{{ messages[0].content }}{{ 'tools' if tools }}";
        assert_eq!(output(template, &payload), Ok(json!({"text": "<s>hi"})));
        let (kind, _) = output("{{ raise_exception('no') }}", &payload).expect_err("refused");
        assert_eq!(kind, ErrorKind::InvalidInput);
    }

    #[test]
    fn an_inspection_shows_whether_a_template_can_be_used() {
        let inspect = json!({"inspect": true});
        let found = output("{{ a|tojsn }}", &inspect).expect("it compiles");
        assert_eq!(found["unknown"][0]["names"], json!(["tojsn"]));
        let (kind, _) = output("{% if %}", &inspect).expect_err("invalid");
        assert_eq!(kind, ErrorKind::InvalidConfig);
    }
}
