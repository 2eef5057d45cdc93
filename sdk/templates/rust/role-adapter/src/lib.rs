//! Looks up a document, or requests one from the role's model.

use gage_sdk::role_adapter::{Generation, Message, Preparation, Request, RoleAdapter};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};
use std::collections::BTreeMap;

/// The parameters in a suite.
#[derive(serde::Deserialize)]
struct Documents {
    #[serde(default)]
    documents: BTreeMap<String, String>,
}

impl RoleAdapter for Documents {
    fn name() -> &'static str {
        "{{snake}}"
    }

    // Increase the version, "1", when a request or result could change.
    fn spec() -> MemberSpec {
        let documents = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        let properties = json!({ "documents": documents });
        MemberSpec::new("1", "The document on the sample's topic", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        from_params(params)
    }

    // Outputs returned here or in `parse` are available to later steps and metrics.
    fn request(&self, payload: &Value) -> Result<Preparation, PluginError> {
        let Some(topic) = payload["sample"]["metadata"]["topic"].as_str() else {
            let error = PluginError::missing_field("the sample has no topic");
            return Err(error.at("/sample/metadata/topic"));
        };
        Ok(match self.documents.get(topic) {
            Some(document) => Preparation::Output(json!({ "document": document })),
            None => {
                let message = Message::user(format!("Explain in one sentence: {topic}"));
                Preparation::Ask(Request::new(vec![message]))
            }
        })
    }

    fn parse(&self, _payload: &Value, reply: &Generation) -> Result<Value, PluginError> {
        Ok(json!({ "document": reply.answer }))
    }
}

// The list may hold several adapters.
gage_sdk::role_adapters!(name: "{{name}}", description: "Documents by topic", role_adapters: [Documents]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_documents_need_no_model() {
        let adapter = Documents { documents: BTreeMap::from([("peru".to_owned(), "Lima".to_owned())]) };
        let payload = |topic: &str| json!({ "sample": { "metadata": { "topic": topic } } });
        let found = Preparation::Output(json!({ "document": "Lima" }));
        assert_eq!(adapter.request(&payload("peru")), Ok(found));
        assert!(matches!(adapter.request(&payload("chile")), Ok(Preparation::Ask(_))));
    }
}
