//! The task type of a Sample, from the older `question_type`.

use gage_sdk::serde_json::Value;

/// Older names of question types, in small letters with `-` for blanks and `_`.
const OLDER: [(&str, &str); 11] = [
    ("multi-choice", "multiple-choice"),
    ("multichoice", "multiple-choice"),
    ("single-choice", "multiple-choice"),
    ("choice", "multiple-choice"),
    ("mcq", "multiple-choice"),
    ("multiple-choice", "multiple-choice"),
    ("short-answer", "short-answer"),
    ("open", "short-answer"),
    ("open-ended", "short-answer"),
    ("qa", "short-answer"),
    ("dialog", "dialogue"),
];

/// Returns the task type for the `question_type` of a row; an unknown one stays as it is.
pub(crate) fn from_question_type(question_type: Value) -> Value {
    question_type.as_str().and_then(known).map_or(question_type, Value::from)
}

/// Returns the task type with an older name.
pub(crate) fn known(question_type: &str) -> Option<&'static str> {
    let name = question_type.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    OLDER.iter().find(|(older, _)| *older == name).map(|(_, task_type)| *task_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn older_names() {
        for (question_type, expected) in [
            (json!("Multi_Choice"), json!("multiple-choice")),
            (json!("open"), json!("short-answer")),
            (json!("bridge"), json!("bridge")),
        ] {
            assert_eq!(from_question_type(question_type), expected);
        }
    }
}
