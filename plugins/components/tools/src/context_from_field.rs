//! `context_from_field`: the documents in a Sample.

use crate::text_of;
use gage_sdk::role_adapter::{Generation, Preparation, RoleAdapter};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::json::at_path;

/// Default path of the documents.
const DEFAULT_FIELD: &str = "metadata.documents";

/// Returns the documents at a path of the payload: a text, or a list of texts and of objects with `text` or `content`,
/// preceded by a `title` if there is one.
///
/// The output has `context`, a list of texts, and `count`. `field` is a path into the Sample (default
/// `metadata.documents`), or, with the prefix `support.`, into the result of an earlier support step. `most` limits the
/// number of documents. With `required: false` a Sample without documents has an empty context; otherwise this is an
/// error.
pub struct ContextFromField {
    field: String,
    most: usize,
    is_required: bool,
}

impl RoleAdapter for ContextFromField {
    fn name() -> &'static str {
        "context_from_field"
    }

    fn spec() -> MemberSpec {
        let properties = json!({
            "field": {"type": "string", "minLength": 1, "default": DEFAULT_FIELD, "description": "path of the documents in the Sample"},
            "most": {"type": "integer", "minimum": 1, "description": "largest number of documents"},
            "required": {"type": "boolean", "default": true, "description": "fail Samples without documents"},
        });
        MemberSpec::new("1", "Adds the documents of a Sample as context", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let field = params.text("field")?.unwrap_or(DEFAULT_FIELD).to_owned();
        if field.split('.').any(str::is_empty) {
            let message = format!("params: '{field}' is no path; write it like {DEFAULT_FIELD}");
            return Err(PluginError::invalid_config(message).at("/field"));
        }
        let most = params.get("most").and_then(Value::as_u64).map_or(usize::MAX, |most| most as usize);
        Ok(ContextFromField { field, most, is_required: params.flag("required", true)? })
    }

    fn request(&self, payload: &Value) -> Result<Preparation, PluginError> {
        let found = match self.field.strip_prefix("support.") {
            Some(_) => at_path(payload, self.field.split('.')),
            None => {
                let field = self.field.strip_prefix("sample.").unwrap_or(&self.field);
                payload.get("sample").and_then(|sample| at_path(sample, field.split('.')))
            }
        };
        let documents: Vec<&Value> = match found {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().take(self.most).collect(),
            Some(single) => vec![single],
        };
        if documents.is_empty() && self.is_required {
            return Err(PluginError::missing_field(format!("there are no documents at '{}'", self.field)));
        }
        let texts = documents.into_iter().enumerate().map(|(place, document)| {
            self.document(document).ok_or_else(|| {
                let message = format!("'{}': document {place} has no text", self.field);
                PluginError::invalid_input(message)
            })
        });
        let texts = texts.collect::<Result<Vec<String>, _>>()?;
        Ok(Preparation::Output(json!({ "count": texts.len(), "context": texts })))
    }

    fn parse(&self, _payload: &Value, _reply: &Generation) -> Result<Value, PluginError> {
        Err(PluginError::unsupported("context_from_field asks no model"))
    }
}

impl ContextFromField {
    fn document(&self, document: &Value) -> Option<String> {
        let text = text_of(document)?;
        Some(match document.get("title").and_then(Value::as_str) {
            Some(title) => format!("{title}\n{text}"),
            None => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(params: Value, payload: Value) -> Result<Value, String> {
        let adapter = ContextFromField::prepare(params).map_err(|error| error.message)?;
        match adapter.request(&payload).map_err(|error| error.message)? {
            Preparation::Output(output) => Ok(output),
            Preparation::Ask(_) => Err("it asks".to_owned()),
        }
    }

    #[test]
    fn documents_are_texts() {
        let sample = |documents: Value| json!({"sample": {"metadata": {"documents": documents}}});
        for (documents, expected) in [
            (json!("one"), json!(["one"])),
            (
                json!(["one", {"text": "two"}, {"title": "T", "content": "three"}]),
                json!(["one", "two", "T\nthree"]),
            ),
            (json!([{"content": [{"type": "text", "text": "part"}]}]), json!(["part"])),
        ] {
            let found = output(json!({}), sample(documents)).expect("found");
            assert_eq!(found["context"], expected);
        }
        let two = sample(json!(["one", "two"]));
        assert_eq!(output(json!({"most": 1}), two), Ok(json!({"count": 1, "context": ["one"]})));
        let none = json!({"sample": {}});
        assert!(output(json!({}), none.clone()).is_err_and(|error| error.contains("metadata.documents")));
        assert_eq!(output(json!({"required": false}), none), Ok(json!({"count": 0, "context": []})));
        assert!(output(json!({}), sample(json!([7]))).is_err_and(|error| error.contains("document 0")));
        assert!(output(json!({"field": "a..b"}), json!({})).is_err_and(|error| error.contains("no path")));
    }

    #[test]
    fn a_step_reads_what_one_before_it_found() {
        let payload = json!({"sample": {"context": "own"}, "support": {"a": {"context": ["x", "y"]}}});
        let found = |field: &str| {
            output(json!({ "field": field }), payload.clone()).map(|found| found["context"].clone())
        };
        assert_eq!(found("support.a.context"), Ok(json!(["x", "y"])));
        assert_eq!(found("sample.context"), Ok(json!(["own"])));
        assert_eq!(found("context"), Ok(json!(["own"])));
    }
}
