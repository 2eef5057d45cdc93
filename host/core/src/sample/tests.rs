use super::*;
use proptest::prelude::*;

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

#[test]
fn the_thirteen_example_shapes_are_read_and_written_without_loss() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let media = |kind: &str, url: &str| json!([{"type": kind, (kind): {"url": url, "detail": "low"}}]);
    let cases = [
        json!({"task_type": "short-answer", "metadata": {"dataset": "demo"}, "label": "Paris"}),
        json!({"task_type": "multiple-choice", "options": [{"id": "A", "content": "x"}, {"id": "B", "content": "y"}],
            "references": [{"answer": text("B")}], "label": "B"}),
        json!({"task_type": "dialogue", "messages": [{"role": "user", "content": text("a")},
            {"role": "assistant", "content": text("b")}, {"role": "user", "content": text("c")}]}),
        json!({"task_type": "image-qa", "messages": [{"role": "user", "content": media("image_url", "a.png")}]}),
        json!({"task_type": "audio-translation", "messages": [{"role": "user", "content": media("audio_url", "a.wav")}]}),
        json!({"task_type": "video-qa", "messages": [{"role": "user", "content": media("video_url", "a.mp4")}]}),
        json!({"task_type": "doc-qa", "messages": [{"role": "user", "content": media("file_url", "a.pdf")}]}),
        json!({"task_type": "code-generation", "sandbox": {"image": "python:3.10", "setup": "python -V", "memory": 5}}),
        json!({"task_type": "text-to-image", "references": [{"answer": media("image_url", "r.png")}], "label": "r.png"}),
        json!({"task_type": "image-to-image", "references": [{"answer": media("image_url", "r.png"), "meta": {"k": 1}}], "label": "r.png"}),
        json!({"task_type": "text-to-audio", "references": [{"answer": media("audio_url", "r.wav")}], "label": "r.wav"}),
        json!({"task_type": "text-to-video", "references": [{"answer": media("video_url", "r.mp4")}], "label": "r.mp4"}),
        json!({"task_type": "agent", "tools": [{"type": "function"}], "tool_choice": "auto", "golden_trajectories": [[
            {"role": "assistant", "tool_calls": [{"id": "call_1"}]},
            {"role": "tool", "content": text("Sunny"), "tool_call_id": "call_1"}]]}),
        json!({"_dataset_id": "d", "_dataset_metadata": {"path": "/x"}, "choices": [{"index": 0}], "inputs": {"prompt": "p"},
            "chat_template_mode": "preprocess", "_tokenizer_path": "t", "a_field_of_tomorrow": [1, null]}),
    ];
    for case in cases {
        let sample = Sample::from_value(changed(case.clone()))
            .unwrap_or_else(|problems| panic!("{case}: {problems:?}"));
        let written = sample.clone().into_value();
        for (key, value) in case.as_object().into_iter().flatten() {
            assert_eq!(&written[key], value, "{key}");
        }
        assert_eq!(Sample::from_value(written), Ok(sample));
    }
}

#[test]
fn problems_name_their_place_and_all_are_reported() {
    let cases = [
        (json!({"schema_version": "v2"}), vec!["/schema_version: expected 'v1', found 'v2'"]),
        (json!({"messages": "hi"}), vec!["/messages: expected a list, found the string \"hi\""]),
        (json!({"messages": null}), vec!["/messages: this field is required; it may be an empty list"]),
        (
            json!({"messages": [{"role": "robot", "content": [{"type": "smell"}]}]}),
            vec![
                "/messages/0/role: found the role 'robot'; allowed: system, user, assistant, tool",
                "/messages/0/content/0/type: unknown type 'smell'; allowed: text, image_url, audio_url, video_url, file_url",
            ],
        ),
        (json!({"label": "Rome"}), vec!["/label: 'Rome' is not the text of references[0], 'Paris'"]),
        (
            json!({"options": [{"id": "A", "content": "x"}, {"id": "A", "content": "y"}]}),
            vec!["/options: the id 'A' occurs twice"],
        ),
        (
            json!({"few_shot_examples": [{"messages": [], "references": [], "few_shot_examples": [1]}]}),
            vec!["/few_shot_examples/0/few_shot_examples: a few-shot example may not hold this field"],
        ),
        (json!({"metadata": [1]}), vec!["/metadata: expected an object, found a list"]),
        (json!({"tool_choice": 3}), vec!["/tool_choice: expected a string or an object"]),
    ];
    for (change, expected) in cases {
        let problems = Sample::from_value(changed(change.clone())).expect_err(&change.to_string());
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, expected, "{change}");
    }
    assert!(Sample::from_value(json!([1])).is_err());
}

#[test]
fn a_missing_id_is_a_digest_of_the_content_and_a_missing_label_the_reference() {
    let read = |change| Sample::from_value(changed(change)).expect("valid");
    let one = read(json!({"id": null}));
    assert_eq!(one.id.len(), 16);
    assert_eq!(one.id, read(json!({"id": null})).id);
    assert_ne!(one.id, read(json!({"id": null, "metadata": {"a": 1}})).id);
    assert_eq!(one.label.as_deref(), Some("Paris"));
    assert_eq!(read(json!({"id": 7})).id, "7");
}

#[test]
fn few_shot_examples_stand_between_the_system_message_and_the_question() {
    let sample = Sample::from_value(changed(json!({
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}],
        "few_shot_examples": [{"messages": [{"role": "user", "content": "q1"}], "references": ["a1"]}],
    })));
    let said: Vec<String> = sample
        .expect("valid")
        .conversation()
        .iter()
        .map(|message| format!("{}:{}", message.role.name(), text_of(&message.content)))
        .collect();
    assert_eq!(said, ["system:S", "user:q1", "assistant:a1", "user:Q"]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zé ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_never_panics_and_what_was_read_comes_back(
        key in prop::sample::select(vec!["messages", "options", "references", "label", "few_shot_examples",
            "golden_trajectories", "sandbox", "metadata", "tools", "id", "choices", "inputs", "zzz"]),
        value in any_json(),
    ) {
        if let Ok(sample) = Sample::from_value(changed(json!({(key): value}))) {
            prop_assert_eq!(Sample::from_value(sample.clone().into_value()), Ok(sample));
        }
    }
}
