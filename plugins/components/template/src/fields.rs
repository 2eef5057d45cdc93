//! `fields`: computed fields of the rows of a dataset.

use gage_sdk::role_adapter::{Generation, Preparation, RoleAdapter};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};
use gage_template_kit::{RowFields, TemplateFault};
use std::cell::OnceCell;

/// Computes `fields`, each with `name` and `expression`.
///
/// A payload has the `row`. The output has the computed `fields`, as JSON values. The payload `{"inspect": true}` asks for
/// what is known without a row.
///
/// The pointer of an error has the number of the field, and the line if it is known: `/0/3`.
pub struct FieldsAdapter {
    params: FieldParams,
    /// Compiled for the first payload, so that expressions which need too much are an error of the payload.
    fields: OnceCell<RowFields>,
}

#[derive(serde::Deserialize)]
struct FieldParams {
    fields: Vec<Field>,
}

#[derive(serde::Deserialize)]
struct Field {
    name: String,
    expression: String,
}

impl FieldParams {
    fn compiled(&self) -> RowFields {
        let fields = self.fields.iter().map(|field| (field.name.clone(), field.expression.clone()));
        RowFields::compile(fields.collect())
    }
}

impl RoleAdapter for FieldsAdapter {
    fn name() -> &'static str {
        "fields"
    }

    fn spec() -> MemberSpec {
        let field = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "expression": {"type": "string"}},
            "required": ["name", "expression"],
        });
        let properties = json!({ "fields": {"type": "array", "items": field} });
        MemberSpec::new("1", "Computes fields of rows", properties).required(&["fields"])
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Ok(FieldsAdapter { params: from_params(params)?, fields: OnceCell::new() })
    }

    fn request(&self, payload: &Value) -> Result<Preparation, PluginError> {
        let fields = self.fields.get_or_init(|| self.params.compiled());
        if payload["inspect"] == true {
            return Ok(Preparation::Output(json!(fields.inspect())));
        }
        let Some(row) = payload["row"].as_object() else {
            return Err(PluginError::invalid_input("the payload has no `row`"));
        };
        Ok(Preparation::Output(json!({ "fields": fields.compute(row).map_err(error_of)? })))
    }

    fn parse(&self, _payload: &Value, _reply: &Generation) -> Result<Value, PluginError> {
        Err(PluginError::unsupported("fields asks no model"))
    }
}

fn error_of(fault: TemplateFault) -> PluginError {
    let line = fault.line.map(|line| format!("/{line}")).unwrap_or_default();
    PluginError::invalid_input(fault.text).at(format!("/{}{line}", fault.template))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(fields: &[(&str, &str)], payload: &Value) -> Result<Value, PluginError> {
        let fields = fields.iter().map(|(name, text)| json!({"name": name, "expression": text}));
        let params = json!({ "fields": fields.collect::<Vec<_>>() });
        match FieldsAdapter::prepare(params)?.request(payload)? {
            Preparation::Output(output) => Ok(output),
            Preparation::Ask(_) => panic!("it asks no model"),
        }
    }

    #[test]
    fn every_expression_gives_a_value() {
        let found = output(&[("b", "a + 1"), ("c", "[b, none]")], &json!({"row": {"a": 1}}));
        assert_eq!(found, Ok(json!({"fields": {"b": 2, "c": [2, null]}})));
    }

    #[test]
    fn an_error_points_to_its_field_and_line() {
        let error = output(&[("a", "1"), ("b", "missing")], &json!({"row": {}})).expect_err("undefined");
        assert_eq!(error.pointer.as_deref(), Some("/1/1"));
        assert!(output(&[("a", "1")], &json!({})).is_err());
    }

    #[test]
    fn an_inspection_is_an_output() {
        let found = output(&[("a", "x | uper")], &json!({"inspect": true})).expect("it compiles");
        assert_eq!((&found["unknown"][0][0], &found["unknown"][0][1]["kind"]), (&json!(0), &json!("filter")));
    }
}
