use super::*;
use crate::text_of;
use serde_json::json;

fn minimal() -> Value {
    json!({
        "schema_version": "v1", "id": "q1",
        "messages": [{"role": "user", "content": "What?"}],
        "references": [{"answer": "Paris"}],
    })
}

fn changed(change: Value) -> Value {
    let mut sample = minimal();
    if let (Value::Object(sample), Value::Object(change)) = (&mut sample, change) {
        sample.extend(change);
    }
    sample
}

/// The problems of a rejected Sample, as displayed.
fn problems(change: Value) -> Vec<String> {
    match Sample::from_value(changed(change.clone())) {
        Ok(_) => panic!("{change} was accepted"),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn fields_of_the_wrong_type_are_refused_at_their_place() {
    let cases = [
        (json!({"schema_version": "v2"}), "/schema_version: expected 'v1', found 'v2'"),
        (json!({"schema_version": null}), "/schema_version: expected 'v1', found nothing"),
        (json!({"messages": "hi"}), "/messages: expected a list, found the string \"hi\""),
        (json!({"messages": null}), "/messages: this field is required; it may be an empty list"),
        (json!({"metadata": [1]}), "/metadata: expected an object, found a list"),
        (json!({"tool_choice": 3}), "/tool_choice: expected a string or an object, found the number 3"),
        (
            json!({"tool_choice": "sometimes"}),
            "/tool_choice: 'sometimes' is not a tool choice; allowed: 'auto', 'none', 'required', 'any', or an object that names a function",
        ),
        (json!({"inputs": {"prompt": 5}}), "/inputs/prompt: expected a string, found the number 5"),
        (
            json!({"unconditioned_input": {}}),
            "/unconditioned_input: expected a string or a list, found an object",
        ),
        (
            json!({"golden_trajectories": [{}]}),
            "/golden_trajectories/0: expected a list of messages, found an object",
        ),
        (
            json!({"golden_trajectories": [[{"role": "tool", "content": 22}]]}),
            "/golden_trajectories/0/0/content: expected a string or a list of parts, found the number 22",
        ),
        (
            json!({"golden_trajectories": [[{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{bad"}}]}]]}),
            "/golden_trajectories/0/0/tool_calls/0/function/arguments: the arguments are not JSON",
        ),
        (
            json!({"golden_trajectories": [[
                {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "2", "content": "r"},
            ]]}),
            "/golden_trajectories/0/1/tool_call_id: no earlier message of the trajectory calls a tool with the id '2'",
        ),
        (
            json!({"references": [{"meta": {}}]}),
            "/references/0/answer: this field is required: a string or a list of parts",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": 1}}]}]}),
            "/messages/0/content/0/image_url/url: expected a string, found the number 1",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
            "/messages/0/content/0/text: this field is required, and is a string",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(problems(change.clone()), [expected], "{change}");
    }
    assert!(Sample::from_value(json!([1])).is_err());
}

#[test]
fn templates_of_the_older_program_are_dropped() {
    let sample = Sample::from_value(json!({
        "schema_version": "v1", "id": "a", "messages": [], "references": [],
        "model_prompt_tmpl": "x", "model_prompt_placeholder": ["y"], "own": 1,
    }));
    let written = sample.map(|sample| sample.to_value()).expect("a Sample");
    assert_eq!(written["own"], 1);
    assert!(!written.to_string().contains("model_prompt"), "{written}");
}

#[test]
fn all_problems_are_reported() {
    let found =
        problems(json!({"messages": [{"role": "robot", "content": [{"type": "smell"}]}], "inputs": 1}));
    assert_eq!(
        found,
        [
            "/messages/0/content/0/type: unknown type 'smell'; allowed: text, image_url, audio_url, video_url, file_url",
            "/messages/0/role: found the role 'robot'; allowed: system, user, assistant, tool",
            "/inputs: expected an object, found the number 1",
        ]
    );
}

#[test]
fn ids_are_short_and_printable() {
    let long = "é".repeat(300);
    let cases = [
        (json!({"id": " "}), "/id: expected a string that is not empty"),
        (
            json!({"id": "a\nb"}),
            "/id: the id contains the control character U+000A; allowed: text without line breaks, tabs and the like",
        ),
        (json!({"id": long}), "/id: the id is 600 bytes long; allowed: 512 at most"),
        (json!({"id": [1]}), "/id: expected a string or a number, found a list"),
        (
            json!({"options": [{"id": "", "content": "x"}]}),
            "/options/0/id: expected a string that is not empty",
        ),
        (
            json!({"options": [{"id": "A", "content": "x"}, {"id": "A", "content": "y"}]}),
            "/options/1/id: the id 'A' occurs twice; each option needs an id of its own",
        ),
        (
            json!({"options": [{"id": "A"}]}),
            "/options/0/content: expected a string, as every option needs it, found null",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(problems(change.clone()), [expected], "{change}");
    }
}

#[test]
fn tools_and_calls_name_a_function() {
    let call = |call: Value| json!({"messages": [{"role": "assistant", "tool_calls": [call]}]});
    let cases = [
        (json!({"tools": ["f"]}), "/tools/0: expected an object with a 'function', found the string \"f\""),
        (
            json!({"tools": [{"name": "f"}]}),
            "/tools/0/function: this field is required: an object with a 'name' and the 'parameters'",
        ),
        (
            json!({"tools": [{"function": {"name": ""}}]}),
            "/tools/0/function/name: the function needs a 'name': a string that is not empty",
        ),
        (
            json!({"tools": [{"function": {"name": "f", "parameters": "none"}}]}),
            "/tools/0/function/parameters: expected an object: the JSON Schema of the arguments, found the string \"none\"",
        ),
        (
            call(json!({"id": "call_1"})),
            "/messages/0/tool_calls/0/function: this field is required: an object with a 'name' and the 'arguments'",
        ),
        (
            call(json!({"function": {"name": "f", "arguments": 3}})),
            "/messages/0/tool_calls/0/function/arguments: expected a string of JSON, or an object, found the number 3",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(problems(change.clone()), [expected], "{change}");
    }
}

#[test]
fn few_shot_examples_hold_no_examples_and_nothing_of_a_run() {
    let example = |change: Value| {
        let mut example = json!({"messages": [], "references": ["a"]});
        if let (Value::Object(example), Value::Object(change)) = (&mut example, change) {
            example.extend(change);
        }
        json!({"few_shot_examples": [example]})
    };
    let refusal = "a few-shot example must not have this field; allowed: messages, options, references, label, \
                   tools, tool_choice, and fields of your own";
    for key in [
        "few_shot_examples",
        "predict_result",
        "eval_result",
        "raw_assets",
        "sandbox",
        "inputs",
        "rendered_by",
        "model_output",
        "_dataset_id",
    ] {
        assert_eq!(
            problems(example(json!({(key): [1]}))),
            [format!("/few_shot_examples/0/{key}: {refusal}")]
        );
        let read = Sample::from_value(changed(example(json!({(key): null})))).expect("null is nothing");
        assert_eq!(read.few_shot_examples[0].extra, LazyObject::default());
    }
    assert_eq!(
        problems(example(json!({"references": null, "tool_choice": 1, "label": "a"}))),
        [
            "/few_shot_examples/0/references: this field is required; it may be an empty list",
            "/few_shot_examples/0/tool_choice: expected a string or an object, found the number 1",
        ]
    );
    assert_eq!(
        problems(example(json!({"references": []}))),
        [
            "/few_shot_examples/0/references: the example has no answer; allowed: a reference, a label, or messages \
          that end with one of the assistant"
        ]
    );
    assert_eq!(
        problems(example(json!({"label": "b"})))[0].split(':').next(),
        Some("/few_shot_examples/0/label")
    );
}

#[test]
fn sandboxes_and_tags_hold_what_their_readers_can_use() {
    let paths = ["/etc/passwd", "../x", "a/../../x", "a\\..\\x", "C:\\x", "", "a\nb"];
    for path in paths {
        let found = problems(json!({"sandbox": {"files": {(path): "data/x"}}}));
        assert!(found[0].contains("the key is not a path inside the sandbox"), "{path}: {found:?}");
    }
    let files = json!({"sandbox": {"files": {"data/a.txt": "x", "..a/b..": "y", "a b/c:d": "z"}}});
    assert!(Sample::from_value(changed(files)).is_ok());
    let cases = [
        (
            json!({"sandbox": {"files": {"a/b": 1}}}),
            "/sandbox/files/a~1b: expected a string: a URI or a local path, found the number 1",
        ),
        (
            json!({"sandbox": {"env": {"PORT": 80}}}),
            "/sandbox/env/PORT: expected a string, found the number 80",
        ),
        (
            json!({"sandbox": {"env": {"A=B": "c"}}}),
            "/sandbox/env/A=B: the key is not the name of a variable; allowed: names that are not empty, without '=' and \
             control characters",
        ),
        (
            json!({"data_tag": {"domain": {"a": 1}}}),
            "/data_tag/domain: expected a string, a number, a boolean, or a list of them, found an object",
        ),
        (
            json!({"data_tag": {"domain": ["a", ["b"]]}}),
            "/data_tag/domain/1: expected a string, a number or a boolean, found a list",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(problems(change.clone()), [expected], "{change}");
    }
}

#[test]
fn a_label_says_what_the_first_reference_says() {
    assert_eq!(
        problems(json!({"label": "Rome"})),
        ["/label: 'Rome' differs from references[0], 'Paris'; allowed: its text, its number, the id or \
          content of that option, or no label"]
    );
    let label = |change| Sample::from_value(changed(change)).expect("valid").label;
    assert_eq!(label(json!({"label": null})).as_deref(), Some("Paris"));
    assert_eq!(label(json!({"references": [], "label": 4})).as_deref(), Some("4"));
    assert_eq!(label(json!({"references": []})), None);
    let image = json!([{"answer": [{"type": "image_url", "image_url": "refs/a.png"}]}]);
    assert_eq!(label(json!({"references": image})).as_deref(), Some("refs/a.png"));
    assert_eq!(label(json!({"references": image, "label": "apple_1"})).as_deref(), Some("apple_1"));
}

/// A text with a duplicate key gives the same Sample as its parsed value.
#[test]
fn the_last_of_members_with_the_same_key_counts() {
    let start = r#"{"schema_version":"v1","id":"1","messages":[],"references":[],"options":"#;
    for options in [
        r#"[{"id":"A","id":"B","content":"x"},{"id":"A","content":"y"}]"#,
        r#"[{"id":"A","id":"B","content":"x"},{"id":"B","content":"y"}]"#,
        r#"[],"id":null,"id":"2""#,
        r#"[],"id":"2","id":null"#,
        r#"[],"label":[],"label":"x""#,
        r#"[],"metadata":{"a":1,"a":2}"#,
    ] {
        let text = format!("{start}{options}}}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            Sample::from_text(&text).map(|sample| Sample::clone(&sample)),
            Sample::from_value(value),
            "{text}"
        );
    }
}

#[test]
fn a_missing_id_is_a_digest_of_the_content() {
    let read = |change| Sample::from_value(changed(change)).expect("valid");
    let one = read(json!({"id": null}));
    assert_eq!(one.id.len(), 16);
    assert_eq!(one.id, read(json!({"id": null})).id);
    assert_ne!(one.id, read(json!({"id": null, "metadata": {"a": 1}})).id);
    let mut without = minimal();
    without.as_object_mut().expect("an object").shift_remove("id");
    assert_eq!(Sample::from_value(without).expect("valid").id, one.id);
    assert_eq!(read(json!({"id": 7})).id, "7");
}

#[test]
fn few_shot_examples_precede_the_question() {
    let sample = Sample::from_value(changed(json!({
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}],
        "few_shot_examples": [
            {"messages": [{"role": "user", "content": "q1"}], "references": ["a1"]},
            {"messages": [{"role": "user", "content": "q2"}], "references": [], "label": "a2"},
            {"messages": [{"role": "user", "content": "q3"}, {"role": "assistant", "content": "a3"}], "references": []},
        ],
    })));
    let said: Vec<String> = sample
        .expect("valid")
        .conversation(OptionDisplay::AsWritten)
        .iter()
        .map(|message| format!("{}:{}", message.role.name(), text_of(&message.content)))
        .collect();
    assert_eq!(
        said,
        [
            "system:S",
            "user:q1",
            "assistant:a1",
            "user:q2",
            "assistant:a2",
            "user:q3",
            "assistant:a3",
            "user:Q"
        ]
    );
}
