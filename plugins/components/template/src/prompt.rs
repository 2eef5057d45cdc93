//! `prompt`: the messages of a suite's prompt.

use gage_sdk::role_adapter::{Generation, Preparation, RoleAdapter};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};
use gage_template_kit::{PromptTemplates, TemplateFault};
use std::cell::OnceCell;

/// Renders the `templates` of a prompt, each with `name` and `text`.
///
/// A payload has the variables in `values`, and in `model_output` the output of a model with marked text, if a judge
/// sees it. The output has `texts`, one for each template. The payload `{"inspect": true}` asks for what is known
/// without rendering.
///
/// The pointer of an error has the number of the template, and the line if it is known: `/0/3`.
pub struct PromptAdapter {
    params: Params,
    /// Compiled for the first payload, so that templates which need too much are an error of the payload.
    templates: OnceCell<PromptTemplates>,
}

#[derive(serde::Deserialize)]
struct Params {
    templates: Vec<Template>,
}

#[derive(serde::Deserialize)]
struct Template {
    name: String,
    text: String,
}

impl Params {
    fn compiled(&self) -> PromptTemplates {
        let templates = self.templates.iter().map(|template| (template.name.clone(), template.text.clone()));
        PromptTemplates::compile(templates.collect())
    }
}

impl RoleAdapter for PromptAdapter {
    fn name() -> &'static str {
        "prompt"
    }

    fn spec() -> MemberSpec {
        let template = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "text": {"type": "string"}},
            "required": ["name", "text"],
        });
        let properties = json!({ "templates": {"type": "array", "items": template} });
        MemberSpec::new("1", "Renders the messages of a prompt", properties).required(&["templates"])
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Ok(PromptAdapter { params: from_params(params)?, templates: OnceCell::new() })
    }

    fn request(&self, payload: &Value) -> Result<Preparation, PluginError> {
        let templates = self.templates.get_or_init(|| self.params.compiled());
        if payload["inspect"] == true {
            return Ok(Preparation::Output(json!(templates.inspect())));
        }
        let Some(values) = payload["values"].as_object() else {
            return Err(PluginError::invalid_input("the payload has no `values`"));
        };
        let texts = templates.render(values, payload["model_output"].as_object());
        Ok(Preparation::Output(json!({ "texts": texts.map_err(error_of)? })))
    }

    fn parse(&self, _payload: &Value, _reply: &Generation) -> Result<Value, PluginError> {
        Err(PluginError::unsupported("prompt asks no model"))
    }
}

fn error_of(fault: TemplateFault) -> PluginError {
    let line = fault.line.map(|line| format!("/{line}")).unwrap_or_default();
    PluginError::invalid_input(fault.text).at(format!("/{}{line}", fault.template))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(templates: &[&str], payload: &Value) -> Result<Value, PluginError> {
        let templates = templates.iter().map(|text| json!({"name": text, "text": text}));
        let params = json!({ "templates": templates.collect::<Vec<_>>() });
        match PromptAdapter::prepare(params)?.request(payload)? {
            Preparation::Output(output) => Ok(output),
            Preparation::Ask(_) => panic!("it asks no model"),
        }
    }

    #[test]
    fn every_template_gives_a_text() {
        let payload = json!({"values": {"sample": {"a": 1}, "payload": {"b": 2}}});
        let found = output(&["{{ sample.a }}", "{{ payload.b }}"], &payload);
        assert_eq!(found, Ok(json!({"texts": ["1", "2"]})));
    }

    #[test]
    fn an_error_points_to_its_template_and_line() {
        let error = output(&["a", "\n{{ b }}"], &json!({"values": {}})).expect_err("undefined");
        assert_eq!(error.pointer.as_deref(), Some("/1/2"));
        assert!(output(&["a"], &json!({})).is_err());
    }

    #[test]
    fn an_inspection_is_an_output() {
        let found = output(&["{{ row.a }}"], &json!({"inspect": true})).expect("it compiles");
        assert_eq!(found["reads"], json!(["row"]));
        assert_eq!(found["uses"][0][1]["need"], "always");
    }
}
