//! Conversion of components' messages to the host's type.

use crate::bindings::types::{Message as GuestMessage, Role as GuestRole};
use gage_core::{DEFAULT_MAX_JSON_VALUES, Message, Object, Role, parse_json};
use serde_json::Value;

impl From<GuestRole> for Role {
    fn from(role: GuestRole) -> Role {
        match role {
            GuestRole::System => Role::System,
            GuestRole::User => Role::User,
            GuestRole::Assistant => Role::Assistant,
            GuestRole::Tool => Role::Tool,
        }
    }
}

/// Converts a message of a component to the host's type.
///
/// # Errors
/// If it does not have the shape of a message.
pub fn message_from_guest(message: GuestMessage) -> Result<Message, String> {
    let role = Role::from(message.role);
    let mut fields = match parse_json(message.extra.as_bytes(), DEFAULT_MAX_JSON_VALUES) {
        _ if message.extra.is_empty() => Object::new(),
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => return Err("`extra` of a message must be a JSON object".to_owned()),
    };
    let content = fields.shift_remove("parts").unwrap_or_else(|| Value::String(message.content));
    fields.insert("role".to_owned(), role.name().into());
    fields.insert("content".to_owned(), content);
    Message::from_value(Value::Object(fields))
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}
