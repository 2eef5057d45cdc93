//! The published schema and the parser agree.

use crate::generated;
use gage_core::{FieldError, Sample, sample_schema};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&sample_schema()).expect("the schema is a schema"));

/// All schema violations of a value, for the message of a failing test.
pub fn violations(value: &Value) -> Vec<String> {
    SCHEMA.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Returns whether a problem cannot be expressed in a schema.
fn is_beyond_a_schema(problem: &FieldError) -> bool {
    [
        "differs from references[0]",
        "occurs twice",
        "the example has no answer",
        "bytes long",
        "expected a string that is not empty",
        "needs `tools`",
        "names no function",
        "there is no tool",
        "is defined twice",
        "is not a type of tool",
        "unknown field; did you mean",
        "the arguments are not JSON",
        "no earlier message of the trajectory",
    ]
    .iter()
    .any(|words| problem.message.contains(words))
}

proptest! {
    #[test]
    fn what_is_read_is_valid(value in prop_oneof![generated::sample(), generated::damaged()]) {
        if let Ok(sample) = Sample::from_value(value.clone()) {
            prop_assert_eq!(violations(&value), Vec::<String>::new());
            prop_assert_eq!(violations(&sample.to_value()), Vec::<String>::new());
        }
    }

    #[test]
    fn what_is_valid_is_read_but_for_rules_between_fields(
        value in prop_oneof![generated::sample(), generated::damaged()],
    ) {
        if SCHEMA.is_valid(&value) {
            let problems = Sample::from_value(value).err().unwrap_or_default();
            let other: Vec<&FieldError> = problems.iter().filter(|problem| !is_beyond_a_schema(problem)).collect();
            prop_assert_eq!(other, Vec::<&FieldError>::new());
        }
    }
}

#[test]
fn schema_is_of_draft_2020_12_and_describes_every_field() {
    let schema = sample_schema();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    for (name, field) in schema["properties"].as_object().expect("an object") {
        assert!(field["description"].is_string(), "{name}");
    }
    for name in ["message", "part", "reference", "few_shot_example", "sandbox"] {
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
}

/// A Sample with some fields changed.
fn changed(change: &Value) -> Value {
    let mut sample = json!({"schema_version": "v1", "id": "a", "messages": [], "references": []});
    if let (Value::Object(sample), Value::Object(change)) = (&mut sample, change) {
        sample.extend(change.clone());
    }
    sample
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_refused_is_invalid() {
    let message = |message: Value| json!({"messages": [message]});
    let few_shot = |key: &str| {
        let mut example = json!({"messages": [], "references": ["a"]});
        example[key] = json!({});
        json!({"few_shot_examples": [example]})
    };
    let refused = [
        json!({"schema_version": "v2"}),
        json!({"schema_version": 1}),
        json!({"id": ""}),
        json!({"id": "  "}),
        json!({"id": "a\u{85}"}),
        json!({"id": "x".repeat(513)}),
        json!({"id": true}),
        json!({"task_type": ["agent"]}),
        json!({"messages": null}),
        json!({"messages": {}}),
        message(json!("hi")),
        message(json!({"content": "hi"})),
        message(json!({"role": "robot", "content": "hi"})),
        message(json!({"role": "user"})),
        message(json!({"role": "user", "content": null})),
        message(json!({"role": "assistant", "tool_calls": []})),
        message(json!({"role": "assistant", "tool_calls": [{}]})),
        message(json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": []}}]})),
        message(json!({"role": "user", "content": 4})),
        message(json!({"role": "user", "content": [4]})),
        message(json!({"role": "user", "content": [{"text": "a"}]})),
        message(json!({"role": "user", "content": [{"type": "text", "text": null}]})),
        message(json!({"role": "user", "content": [{"type": "smell", "smell": "a"}]})),
        message(json!({"role": "user", "content": [{"type": "image_url", "image_url": {}}]})),
        message(json!({"role": "user", "content": [{"type": "image_url", "audio_url": "a"}]})),
        message(json!({"role": "user", "content": "a", "name": 1})),
        json!({"options": [{"id": "A"}]}),
        json!({"options": [{"id": 1, "content": "a"}]}),
        json!({"references": null}),
        json!({"references": [4]}),
        json!({"references": [{"answer": null}]}),
        json!({"references": [{"answer": "a", "meta": []}]}),
        json!({"label": ["a"]}),
        json!({"few_shot_examples": [{"messages": []}]}),
        few_shot("few_shot_examples"),
        few_shot("predict_result"),
        few_shot("eval_result"),
        few_shot("raw_assets"),
        few_shot("sandbox"),
        few_shot("golden_trajectories"),
        few_shot("eval_config"),
        few_shot("inputs"),
        few_shot("chat_template_mode"),
        few_shot("rendered_by"),
        few_shot("template_source"),
        few_shot("cache_suffix"),
        few_shot("_tokenizer_path"),
        few_shot("_media_meta"),
        json!({"golden_trajectories": [{"role": "user", "content": "a"}]}),
        json!({"sandbox": []}),
        json!({"sandbox": {"files": {"../a": "b"}}}),
        json!({"sandbox": {"files": {"a/..": "b"}}}),
        json!({"sandbox": {"files": {"a\\..\\b": "b"}}}),
        json!({"sandbox": {"files": {"/a": "b"}}}),
        json!({"sandbox": {"files": {"c:a": "b"}}}),
        json!({"sandbox": {"files": {"": "b"}}}),
        json!({"sandbox": {"files": {"a": 1}}}),
        json!({"sandbox": {"env": {"A": 1}}}),
        json!({"sandbox": {"env": {"A=": "1"}}}),
        json!({"sandbox": {"env": {"A": "\u{0}"}}}),
        json!({"metadata": []}),
        json!({"data_tag": {"a": {}}}),
        json!({"data_tag": {"a": [[]]}}),
        json!({"tools": [{"type": "function"}]}),
        json!({"tools": [{"function": {"name": ""}}]}),
        json!({"tools": [{"function": {"name": "f", "parameters": 1}}]}),
        json!({"tool_choice": []}),
        json!({"tool_choice": "sometimes"}),
        json!({"inputs": {"prompt": 5}}),
        json!({"unconditioned_input": {}}),
        json!({"predict_result": {}}),
        json!({"eval_result": []}),
        json!({"choices": {}}),
        json!({"inputs": "a"}),
        json!({"_dataset_id": 1}),
        json!({"_dataset_metadata": "a"}),
        json!({"chat_template_mode": true}),
        json!({"_media_meta": []}),
    ];
    for change in refused {
        let value = changed(&change);
        assert!(Sample::from_value(value.clone()).is_err(), "the reader accepts {change}");
        assert!(!SCHEMA.is_valid(&value), "the schema accepts {change}");
    }
    assert!(SCHEMA.is_valid(&changed(&json!({}))));
    assert!(!SCHEMA.is_valid(&json!([])));
}

#[test]
fn rules_between_fields_are_the_readers_alone() {
    let beyond = [
        json!({"references": ["a"], "label": "b"}),
        json!({"options": [{"id": "A", "content": "a"}, {"id": "A", "content": "b"}]}),
        json!({"few_shot_examples": [{"messages": [], "references": []}]}),
        json!({"id": "é".repeat(300)}),
        json!({"id": "\u{3000}"}),
    ];
    for change in beyond {
        let value = changed(&change);
        assert_eq!(violations(&value), Vec::<String>::new());
        let problems = Sample::from_value(value).expect_err("refused");
        assert!(problems.iter().all(is_beyond_a_schema), "{problems:?}");
    }
}
