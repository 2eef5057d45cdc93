//! A message of a conversation, as templates see it.

use minijinja::Value;
use minijinja::value::{Enumerator, Object};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::sync::Arc;

/// A message, an object of JSON. It has few fields, and templates read each of them many times: a search through a list is
/// faster than the hash map of other objects.
#[derive(Debug)]
pub struct ConversationMessage(Vec<(String, Value)>);

impl Object for ConversationMessage {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(name, _)| Value::from(name.as_str())).collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<'de> Deserialize<'de> for ConversationMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ConversationMessage, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = ConversationMessage;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message, an object")
    }

    /// Of fields with one name, the last counts.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConversationMessage, A::Error> {
        let mut fields: Vec<(String, Value)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            match fields.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = value,
                None => fields.push((name, value)),
            }
        }
        Ok(ConversationMessage(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::serde_json;
    use minijinja::{Environment, context};

    #[test]
    fn message_is_an_object_like_any_other() {
        let text = r#"{"role": "user", "content": [{"type": "text"}], "b": 1, "a": null, "b": 2}"#;
        let message: ConversationMessage = serde_json::from_str(text).expect("an object");
        let message = Value::from_object(message);
        let object: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(message, object);
        let mut environment = Environment::new();
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        for expression in [
            "m.role ~ m['content'][0].type ~ m.b",
            "m.a is none and m.c is undefined and m is mapping and m|length == 4",
            "m|tojson",
            "m|list",
            "m|items",
            "m.items()|list ~ m.keys() ~ m.get('c', 'none')",
            "'a' in m and 'c' not in m and 1 not in m",
            "m|string",
        ] {
            let compiled = environment.compile_expression(expression).expect(expression);
            let of = |m: &Value| compiled.eval(context! { m }).map(|found| found.to_string());
            let (found, expected) = (of(&message).expect(expression), of(&object).expect(expression));
            assert_eq!(found, expected, "{expression}");
        }
        assert!(serde_json::from_str::<ConversationMessage>("[1]").is_err());
    }
}
