use super::*;
use crate::test_support::convert;
use gage_sdk::serde_json;
use proptest::prelude::*;

#[test]
fn older_fields_find_their_place() {
    let row = json!({ "id": "x", "prompt": "2+2?\n", "answer": 4, "question_type": "qa", "level": 1 });
    let expected = json!({
        "schema_version": "v1",
        "id": "x",
        "task_type": "short-answer",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "2+2?" }] }],
        "references": [{ "answer": [{ "type": "text", "text": "4" }] }],
        "label": "4",
        "metadata": { "level": 1 },
    });
    assert_eq!(convert::<DefaultRows>(json!({}), row), Ok(expected));
}

#[test]
fn a_text_stays_as_it_is_and_a_question_is_trimmed() {
    for (params, field, expected) in [
        (json!({}), "text", " a\n b \n"),
        (json!({}), "question", "a\n b"),
        (json!({}), "prompt", "a\n b"),
        (json!({ "question_field": "page" }), "page", "a\n b"),
        (json!({ "question_field": "page", "trim": false }), "page", " a\n b \n"),
        (json!({ "trim": true }), "text", "a\n b"),
        (json!({ "trim": false }), "question", " a\n b \n"),
        (json!({ "instruction": "Go." }), "text", " a\n b \n\n\nGo."),
    ] {
        let mut row = json!({ "id": "x" });
        row[field] = json!(" a\n b \n");
        let sample = convert::<DefaultRows>(params.clone(), row).unwrap_or_default();
        assert_eq!(sample["messages"][0]["content"][0]["text"], expected, "{params} {field}");
    }
}

#[test]
fn samples_pass() {
    let sample = json!({
        "schema_version": "v1",
        "id": "mc_0001",
        "task_type": "multiple-choice",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Which one is a mammal?" }] }],
        "options": [{ "id": "A", "content": "Shark", "own": 1 }, { "id": "B", "content": "Dolphin" }],
        "references": [{ "answer": [{ "type": "text", "text": "B" }] }],
        "label": "B",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "B" } }],
        "tools": [],
        "inputs": { "multi_modal_data": {} },
        "_dataset_id": "d",
        "cache_suffix": "-x",
        "image": "own/field.png",
        "question": "of the author",
        "metadata": { "option_map": { "A": "a shark", "B": "a dolphin" }, "correct_choice": "B" },
    });
    assert_eq!(convert::<DefaultRows>(json!({}), sample.clone()), Ok(sample));
}

#[test]
fn examples_of_the_format_pass() {
    let examples = include_str!("examples.jsonl").lines();
    let mut count = 0;
    for example in examples {
        count += 1;
        let example: Value = serde_json::from_str(example).expect("the examples are JSON");
        let made = convert::<DefaultRows>(json!({}), example.clone()).expect("the example passes");
        let (example, made) = (example.as_object().expect("an object"), made.as_object().expect("an object"));
        for (name, value) in example.iter().filter(|(name, _)| *name != "metadata") {
            assert_eq!(made.get(name), Some(value), "{name}");
        }
        for (name, value) in example.get("metadata").and_then(Value::as_object).into_iter().flatten() {
            assert_eq!(made["metadata"].get(name), Some(value), "{name}");
        }
        for name in made.keys().filter(|name| !example.contains_key(*name)) {
            assert!(["label", "metadata"].contains(&name.as_str()), "{name}");
        }
    }
    assert_eq!(count, 13);
}

#[test]
fn unused_fields_are_kept() {
    let row = json!({
        "question": "q", "prompt": "p", "answer": "a", "answers": ["b"], "label": "class", "task_type": "agent",
        "question_type": "x", "predict_result": [1], "inputs": { "a": 1 }, "metadata": { "own": 1 },
    });
    let sample = convert::<DefaultRows>(json!({}), row).unwrap_or_default();
    assert_eq!(sample["label"], "a");
    assert_eq!(
        sample["metadata"],
        json!({
            "own": 1, "prompt": "p", "answers": ["b"], "label": "class", "question_type": "x",
            "predict_result": [1], "inputs": { "a": 1 },
        })
    );
}

#[test]
fn conversations_keep_runtime_fields() {
    let row = json!({
        "messages": [{ "role": "user", "content": "q" }], "inputs": {}, "_tokenizer_path": "t", "other": 1,
        "question": "same",
    });
    let sample = convert::<DefaultRows>(json!({}), row.clone()).unwrap_or_default();
    assert_eq!(sample["_tokenizer_path"], "t");
    assert_eq!(sample["inputs"], json!({}));
    assert_eq!(sample["metadata"], json!({ "other": 1, "question": "same" }));
    let sample = convert::<DefaultRows>(json!({}), json!({ "messages": row["messages"], "inputs": "text" }));
    assert_eq!(sample.unwrap_or_default()["metadata"]["inputs"], "text");
}

#[test]
fn answers_become_choices() {
    for options in [
        json!({ "choices": ["x", "y"] }),
        json!({ "choices": "['x', 'y']" }),
        json!({ "options": { "A": "x", "B": "y" } }),
        json!({ "options": [{ "label": "A", "text": "x" }, { "label": "B", "text": "y" }] }),
    ] {
        for answer in ["y", "B", "1"] {
            let mut row = options.clone();
            row["question"] = json!("q");
            row["answer"] = json!(answer);
            let sample = convert::<DefaultRows>(json!({}), row).unwrap_or_default();
            assert_eq!(sample["label"], "B", "{options} {answer}");
            assert_eq!(sample["references"], json!([{ "answer": [{ "type": "text", "text": "B" }] }]));
            assert_eq!(
                sample["metadata"],
                json!({ "option_map": { "A": "x", "B": "y" }, "correct_choice": "B" })
            );
        }
    }
}

#[test]
fn options_that_cannot_be_read_are_errors() {
    let too_many: Vec<String> = (0..703).map(|number| format!("o{number}")).collect();
    for choices in [json!(too_many), json!(["x", null]), json!(["x", ["y"]]), json!("['x' 'y']")] {
        let row = json!({ "question": "q", "choices": choices, "answer": "x" });
        let error = convert::<DefaultRows>(json!({}), row).err();
        assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/choices"), "{choices}");
    }
    for choices in [json!([]), json!({}), json!("x")] {
        let row = json!({ "question": "q", "choices": choices });
        let sample = convert::<DefaultRows>(json!({}), row).unwrap_or_default();
        assert_eq!(sample["metadata"]["choices"], choices);
    }
}

#[test]
fn an_answer_that_may_be_two_options_is_an_error() {
    let row = |answer: Value| json!({ "question": "2*1?", "choices": ["1", "2", "3"], "answer": answer });
    let error = convert::<DefaultRows>(json!({}), row(json!("2"))).err();
    assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/answer"));
    for (answer, expected) in [(json!(2), "C"), (json!("B"), "B"), (json!("b) 2"), "B")] {
        let sample = convert::<DefaultRows>(json!({}), row(answer)).unwrap_or_default();
        assert_eq!(sample["label"], expected);
    }
}

#[test]
fn metadata_of_a_sample_is_an_object() {
    let row = json!({ "schema_version": "v1", "messages": [], "references": [], "metadata": [] });
    let error = convert::<DefaultRows>(json!({}), row).err();
    assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/metadata"));
}

#[test]
fn choices_of_older_programs_stay() {
    let choices = json!([{ "index": 0, "message": { "role": "assistant", "content": "a" } }]);
    let row = json!({ "question": "q", "choices": choices });
    let sample = convert::<DefaultRows>(json!({}), row).unwrap_or_default();
    assert_eq!((&sample["choices"], &sample["label"]), (&choices, &json!("a")));
    let row = json!({ "question": "q", "choices": 4, "answer": ["a", "b"] });
    let sample = convert::<DefaultRows>(json!({}), row).unwrap_or_default();
    assert_eq!(sample["references"][1]["answer"][0]["text"], "b");
    assert_eq!(sample["metadata"], json!({ "choices": 4 }));
}

#[test]
fn media_come_before_the_question() {
    let image = json!({ "type": "image_url", "image_url": { "url": "a.png" } });
    let row = json!({ "question": "q", "image": "a.png", "document": "A text. It is long." });
    let sample = convert::<DefaultRows>(json!({}), row.clone()).unwrap_or_default();
    assert_eq!(sample["messages"][0]["content"], json!([image, { "type": "text", "text": "q" }]));
    assert_eq!(sample["metadata"], json!({ "document": "A text. It is long." }));
    let sample = convert::<DefaultRows>(json!({ "media": false }), row).unwrap_or_default();
    assert_eq!(sample["messages"][0]["content"], json!([{ "type": "text", "text": "q" }]));
    assert_eq!(sample["metadata"]["image"], "a.png");
    let row = json!({ "messages": [{ "role": "user", "content": [image] }], "image": "a.png", "images": ["b.png"] });
    let sample = convert::<DefaultRows>(json!({}), row).unwrap_or_default();
    assert_eq!(sample["messages"][0]["content"], json!([image]));
    assert_eq!(sample["raw_assets"], json!({ "images": ["b.png"] }));
}

#[test]
fn prompts_can_be_added_to() {
    let params = json!({
        "system_prompt": "Be brief.", "instruction": "Go.", "question_field": "a.0.b", "answer_field": "gold",
    });
    let row = json!({ "a": [{ "b": " q" }], "gold": "g", "answer": "other" });
    let sample = convert::<DefaultRows>(params, row).unwrap_or_default();
    assert_eq!(sample["messages"][0]["content"][0]["text"], "Be brief.");
    assert_eq!(sample["messages"][1]["content"][0]["text"], "q\n\nGo.");
    assert_eq!(sample["label"], "g");
    assert_eq!(sample["metadata"], json!({ "a": [{ "b": " q" }], "answer": "other" }));
    let row = json!({ "messages": [{ "role": "user", "content": "q" }] });
    let sample = convert::<DefaultRows>(json!({ "instruction": "Go." }), row).unwrap_or_default();
    assert_eq!(sample["messages"][0]["content"][0]["text"], "q\n\nGo.");
}

#[test]
fn roles_are_removed_first() {
    let row = json!({ "messages": [
        { "role": "system", "content": "s" }, { "role": "user", "content": "q" }, { "role": "assistant", "content": "a" },
    ] });
    let params = json!({ "roles_to_remove": ["system", "assistant"], "system_prompt": "t" });
    let sample = convert::<DefaultRows>(params, row).unwrap_or_default();
    assert_eq!(sample["messages"][0]["content"][0]["text"], "t");
    assert_eq!(sample["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(sample["references"], json!([]));
}

#[test]
fn older_names_mark_their_samples() {
    let row = json!({ "question": "q", "answer": "a" });
    let mut plain = convert::<DefaultRows>(json!({}), row.clone()).unwrap_or_default();
    plain["cache_suffix"] = json!("-converted");
    assert_eq!(convert::<LegacyRows>(json!({}), row.clone()), Ok(plain.clone()));
    assert_eq!(convert::<SimpleRows>(json!({}), row), Ok(plain));
}

#[test]
fn samples_of_others_pass() {
    let row = json!({ "question": "q", "choices": ["x", "y"], "answer": 0 });
    let made = convert::<crate::StructOnly>(json!({}), row).unwrap_or_default();
    assert_eq!(convert::<DefaultRows>(json!({}), made.clone()), Ok(made));
}

#[test]
fn unusable_rows_are_errors() {
    for (params, row, expected) in [
        (json!({}), json!({ "answer": "a" }), "/question"),
        (json!({}), json!({ "question": ["q"] }), "/question"),
        (json!({}), json!({ "messages": [] }), "/question"),
        (json!({}), json!({ "messages": "q" }), "/messages"),
        (json!({}), json!({ "question": "q", "options": [] }), "/options"),
        (json!({}), json!({ "question": "q", "image": {} }), "/image"),
        (json!({ "answer_field": "a.b" }), json!({ "question": "q" }), "/a/b"),
        (json!({ "question_field": "a.b" }), json!({ "question": "q" }), "/a/b"),
    ] {
        let pointer = convert::<DefaultRows>(params, row).err().and_then(|error| error.pointer);
        assert_eq!(pointer.as_deref(), Some(expected));
    }
    assert!(convert::<DefaultRows>(json!({ "unknown": 1 }), json!({ "question": "q" })).is_err());
}

#[test]
fn a_row_without_a_question_says_which_parameters_to_set() {
    for (row, expected) in [
        (
            json!({ "input": "q", "gold": "a" }),
            "set preprocess_kwargs: {question_field: input, answer_field: gold} (the row has: input, gold)",
        ),
        (json!({ "Query": "q" }), "set preprocess_kwargs: {question_field: Query} (the row has: Query)"),
        (json!({ "a;b": "q" }), "name the field of the question by 'question_field' (the row has: a;b)"),
        (json!({}), "name the field of the question by 'question_field'"),
    ] {
        let error = convert::<DefaultRows>(json!({}), row).map(drop);
        let message = error.map_err(|error| error.message).err().unwrap_or_default();
        assert_eq!(message, format!("field 'question' is missing; {expected}"));
    }
}

#[test]
fn a_row_with_an_empty_question_is_an_error_unless_it_has_media() {
    let empty =
        |field: &str| Some(format!("field '{field}' is empty; write the question, or remove the row"));
    for (params, row, expected) in [
        (json!({}), json!({ "question": "", "answer": "a" }), empty("question")),
        (json!({}), json!({ "question": " \n", "answer": "a" }), empty("question")),
        (json!({}), json!({ "prompt": "" }), empty("prompt")),
        (json!({ "question_field": "q" }), json!({ "q": "" }), empty("q")),
        (json!({ "instruction": "Be brief." }), json!({ "question": "" }), empty("question")),
        (json!({}), json!({ "question": "", "image": "a.png" }), None),
        (json!({ "media": false }), json!({ "question": "", "image": "a.png" }), empty("question")),
        (json!({}), json!({ "text": "" }), None),
        (json!({}), json!({ "question": 0 }), None),
    ] {
        let error = convert::<DefaultRows>(params.clone(), row.clone()).err().map(|error| error.message);
        assert_eq!(error, expected, "{params} {row}");
    }
}

/// Rows with many of the recognized fields, in many forms.
fn rows() -> impl Strategy<Value = Value> {
    let text = || "[a-c]{0,3}".prop_map(Value::from);
    let options = prop_oneof![
        text(),
        proptest::collection::vec(text(), 0..4).prop_map(Value::from),
        Just(json!({ "A": "a", "B": "b" })),
        Just(json!([{ "id": "x", "content": "a" }, { "id": "y", "content": "b" }])),
        Just(json!([{ "index": 0, "message": { "content": "a" } }])),
    ];
    let answer = prop_oneof![
        text(),
        (0..3).prop_map(Value::from),
        proptest::collection::vec(text(), 0..3).prop_map(Value::from),
        Just(json!({ "answer": "a" })),
        Just(Value::Null),
    ];
    let media = prop_oneof![text(), Just(json!(["a.png", { "path": "b.png" }])), Just(json!(3))];
    let field = |names: &'static [&'static str], value: BoxedStrategy<Value>| {
        (proptest::sample::select(names), value).prop_map(|(name, value)| (name.to_owned(), value)).boxed()
    };
    let any = prop_oneof![
        field(&["options", "choices"], options.boxed()),
        field(&["answer", "answers", "label", "references"], answer.boxed()),
        field(&["image", "images", "audio_path", "file"], media.boxed()),
        field(&["prompt", "text", "question_type", "inputs", "own"], text().boxed()),
    ];
    proptest::collection::vec(any, 0..6).prop_map(|fields| {
        let mut row = Fields::from_iter(fields);
        row.insert("question".to_owned(), "q".into());
        row.into()
    })
}

proptest! {
    #[test]
    fn a_sample_comes_out_as_it_went_in(row in rows()) {
        if let Ok(sample) = convert::<DefaultRows>(json!({}), row) {
            prop_assert_eq!(convert::<DefaultRows>(json!({}), sample.clone()), Ok(sample));
        }
    }

    #[test]
    fn fields_do_not_vanish(row in rows(), name in "[a-z]{4}", number in 0..9) {
        let mut row = row;
        row[format!("own_{name}").as_str()] = json!(number);
        if let Ok(sample) = convert::<DefaultRows>(json!({}), row) {
            prop_assert_eq!(&sample["metadata"][format!("own_{name}").as_str()], &json!(number));
        }
    }

    #[test]
    fn a_label_says_the_first_reference(row in rows()) {
        let has_both = row.get("references").is_some() && row.get("label").is_some();
        if let (Ok(sample), false) = (convert::<DefaultRows>(json!({}), row), has_both) {
            let first = sample.pointer("/references/0/answer/0/text");
            prop_assert_eq!(sample.get("label"), first);
        }
    }
}
