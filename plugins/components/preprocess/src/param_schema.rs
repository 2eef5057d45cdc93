//! JSON Schemas of parameters that several preprocessors have.

use gage_sdk::json;
use gage_sdk::serde_json::Value;

/// The JSON Schema of a parameter that holds a path into the row.
pub(crate) fn field_schema(default: &str, description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "default": default, "description": description })
}

/// The JSON Schema of the parameters that every preprocessor of questions has.
pub(crate) fn prompt_schema() -> [(&'static str, Value); 4] {
    [
        (
            "system_prompt",
            json!({ "type": ["string", "null"], "description": "A system message before all others" }),
        ),
        (
            "instruction",
            json!({
                "type": ["string", "null"],
                "description": "What stands behind the question; empty for nothing",
            }),
        ),
        (
            "style",
            json!({
                "enum": ["letters", "question_only"], "default": "letters",
                "description": "`letters` shows the options and asks for a letter, `question_only` shows neither",
            }),
        ),
        (
            "few_shot",
            json!({
                "type": "array", "items": { "type": "object" },
                "description": "Solved rows, in the shape of the dataset, that stand before each question",
            }),
        ),
    ]
}
