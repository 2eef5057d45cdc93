//! JSON Schemas of parameters that several preprocessors have.

use gage_sdk::json;
use gage_sdk::serde_json::Value;

/// Parameters: their names and the JSON Schema of each.
pub type Properties = Vec<(&'static str, Value)>;

/// The JSON Schema of a text that may be absent.
pub(crate) fn optional_schema(description: &str) -> Value {
    json!({ "type": ["string", "null"], "description": description })
}

/// The JSON Schema of solved rows, which stand before each question.
pub(crate) fn few_shot_schema(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "object" }, "description": description })
}

/// The JSON Schema of a parameter that holds a path into the row.
pub(crate) fn field_schema(default: &str, description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "default": default, "description": description })
}

/// The JSON Schema of the parameters that every preprocessor of questions has.
pub(crate) fn prompt_schema() -> [(&'static str, Value); 4] {
    let few_shot = "Solved rows, in the shape of the dataset, that stand before each question";
    [
        ("system_prompt", optional_schema("A system message before all others")),
        ("instruction", optional_schema("What stands behind the question; empty for nothing")),
        (
            "style",
            json!({
                "enum": ["letters", "question_only"], "default": "letters",
                "description": "`letters` shows the options and asks for a letter, `question_only` shows neither",
            }),
        ),
        ("few_shot", few_shot_schema(few_shot)),
    ]
}
