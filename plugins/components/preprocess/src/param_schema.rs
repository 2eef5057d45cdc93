//! JSON Schemas of parameters shared by several preprocessors.

use gage_sdk::json;
use gage_sdk::serde_json::Value;

/// Parameters: names with the JSON Schema of each.
pub type Properties = Vec<(&'static str, Value)>;

/// Returns the JSON Schema of an optional text.
pub(crate) fn optional_schema(description: &str) -> Value {
    json!({ "type": ["string", "null"], "description": description })
}

/// Returns the JSON Schema of the solved rows that precede each question.
pub(crate) fn few_shot_schema(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "object" }, "description": description })
}

/// Returns the JSON Schema of a parameter that holds a path into the row.
pub(crate) fn field_schema(default: &str, description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "default": default, "description": description })
}

/// Returns the JSON Schema of the parameters that every question preprocessor has.
pub(crate) fn prompt_schema() -> [(&'static str, Value); 5] {
    let few_shot = "Solved rows, in the format of the dataset, shown before each question";
    [
        ("system_prompt", optional_schema("System message before all other messages")),
        ("instruction", optional_schema("Text appended to the question; empty for none")),
        (
            "style",
            json!({
                "enum": ["letters", "question_only"], "default": "letters",
                "description": "`letters` shows the options and asks for a letter; `question_only` shows \
                 only the question",
            }),
        ),
        option_format_schema(),
        ("few_shot", few_shot_schema(few_shot)),
    ]
}

/// Name of the parameter that formats options.
pub(crate) const OPTION_FORMAT: &str = "option_format";

/// Returns the name and the schema of the parameter that formats options.
pub(crate) fn option_format_schema() -> (&'static str, Value) {
    let schema = json!({
        "enum": ["dot", "parentheses"], "default": "dot",
        "description": "Marks of the options: `dot` as in `A. Shark`, `parentheses` as in `(A) Shark`",
    });
    (OPTION_FORMAT, schema)
}
