//! Descriptions of members, and the JSON Schemas of their parameters.

use crate::MemberSpec;
use serde_json::{Value, json};

impl MemberSpec {
    /// Creates the spec of a member whose parameters have the given JSON Schema properties; other keys are
    /// rejected. Its name comes from `name()`.
    pub fn new(version: &str, description: &str, properties: Value) -> MemberSpec {
        MemberSpec {
            name: String::new(),
            version: version.to_owned(),
            description: description.to_owned(),
            params_schema: schema_of(properties),
        }
    }

    /// Sets the required parameters.
    #[must_use]
    pub fn required(mut self, names: &[&str]) -> MemberSpec {
        require(&mut self.params_schema, names);
        self
    }
}

/// Returns the schema of an object with exactly these properties.
pub(crate) fn schema_of(properties: Value) -> String {
    json!({ "type": "object", "additionalProperties": false, "properties": properties }).to_string()
}

/// Sets the required properties of a schema.
pub(crate) fn require(schema: &mut String, names: &[&str]) {
    edit(schema, |object| object["required"] = names.into());
}

/// Adds a property to a schema.
pub(crate) fn add_property(schema: &mut String, name: &str, property: Value) {
    edit(schema, |object| object["properties"][name] = property);
}

fn edit(schema: &mut String, change: impl FnOnce(&mut Value)) {
    // Anything but an object is left unchanged: the host rejects it with a better message.
    if let Ok(mut object @ Value::Object(_)) = serde_json::from_str(schema) {
        change(&mut object);
        *schema = object.to_string();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_grow() {
        let mut spec = MemberSpec::new("1", "A", json!({ "b": { "type": "string" } })).required(&["b"]);
        add_property(&mut spec.params_schema, "c", json!({ "type": "number" }));
        let schema: Value = serde_json::from_str(&spec.params_schema).unwrap();
        assert_eq!(schema["properties"], json!({ "b": { "type": "string" }, "c": { "type": "number" } }));
        assert_eq!(schema["required"], json!(["b"]));
        assert_eq!(schema["additionalProperties"], false);
    }
}
