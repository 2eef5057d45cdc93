//! Role adapters that need no model: documents that a Sample holds, and results of tools from a table.

mod context_from_field;
mod table;
mod tool_table;

pub use context_from_field::ContextFromField;
pub use tool_table::ToolTable;

gage_sdk::role_adapters!(
    name: "tools",
    description: "Role adapters without a model: documents of a Sample, results of tools from a table",
    role_adapters: [ContextFromField, ToolTable],
);

/// Returns the text of a message or a document: a text, parts of text, or an object with `text` or `content`.
fn text_of(value: &gage_sdk::serde_json::Value) -> Option<String> {
    use gage_sdk::serde_json::Value;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        Value::Object(object) => object.get("text").or_else(|| object.get("content")).and_then(text_of),
        _ => None,
    }
}
