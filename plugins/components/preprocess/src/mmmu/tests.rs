use super::*;
use crate::test_support::convert;
use gage_sdk::json;

fn row(question: &str, options: Value, answer: Value) -> Value {
    json!({
        "id": "validation_1", "question": question, "options": options, "answer": answer,
        "question_type": "multiple-choice", "subfield": "Optics", "topic_difficulty": "Hard", "explanation": "",
        "image_1": { "bytes": "data:image/png;base64,AA==", "path": null },
        "image_2": "b.png", "image_3": null,
    })
}

/// Returns the parts of a message: texts as they are, media by their URLs.
fn shown(sample: &Value) -> Vec<&str> {
    let parts = sample["messages"][0]["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str().or_else(|| part["image_url"]["url"].as_str())).collect()
}

#[test]
fn images_stand_in_their_places() {
    let question = "Given <image 1>, which is it?";
    let sample = convert::<Mmmu>(json!({}), row(question, json!("['a', \"b's <image 2>\"]"), json!("B")));
    let sample = sample.unwrap_or_default();
    assert_eq!(
        shown(&sample),
        [
            "Given",
            "data:image/png;base64,AA==",
            ", which is it?\n\nA. a\nB. b's",
            "b.png",
            "Answer with the letter of the correct option only.",
        ]
    );
    assert_eq!(sample["task_type"], "multiple-choice");
    assert_eq!(sample["options"][0], json!({ "id": "A", "content": "a" }));
    assert_eq!(sample["label"], "B");
    assert_eq!(sample.pointer("/choices/0/message/content/0/text"), Some(&json!("B")));
    assert_eq!(sample["data_tag"], json!({ "subject": "Optics", "difficulty": "Hard" }));
    assert!(sample.get("raw_assets").is_none());
}

#[test]
fn options_and_blanks_are_as_they_are_asked_for() {
    let params = json!({ "option_format": "parentheses", "trim": false });
    let row = row("Given <image 1> <image 2>, which?", json!(["a", "b"]), json!("B"));
    let sample = convert::<Mmmu>(params, row).unwrap_or_default();
    assert_eq!(
        shown(&sample),
        [
            "Given ",
            "data:image/png;base64,AA==",
            " ",
            "b.png",
            ", which?\n\n(A) a\n(B) b\n\nAnswer with the letter of the correct option only.",
        ]
    );
}

#[test]
fn images_without_places() {
    let sample = convert::<Mmmu>(json!({}), row("Which?", json!(["a", "b"]), json!("a"))).unwrap_or_default();
    assert_eq!(shown(&sample)[..2], ["data:image/png;base64,AA==", "b.png"]);
    let sample = convert::<Mmmu>(json!({}), row("Which <image 1>?", json!(["a", "b"]), json!("a")));
    let sample = sample.unwrap_or_default();
    assert_eq!(sample["raw_assets"], json!({ "image_2": "b.png" }));
    let plain =
        json!({ "question": "Which?", "options": ["a", "b"], "answer": "A", "images": ["x.png", "y.png"] });
    let sample = convert::<Mmmu>(json!({ "instruction": "" }), plain).unwrap_or_default();
    assert_eq!(shown(&sample), ["x.png", "y.png", "Which?\n\nA. a\nB. b"]);
}

#[test]
fn open_questions() {
    let row = json!({
        "question": "How many? <image 1>", "options": "[]", "answer": "['24/7', '3.429']",
        "question_type": "open", "image_1": "a.png",
    });
    let sample = convert::<Mmmu>(json!({ "open_instruction": "Count." }), row).unwrap_or_default();
    assert_eq!(shown(&sample), ["How many?", "a.png", "Count."]);
    assert_eq!(sample["task_type"], "image-qa");
    assert_eq!(sample["label"], "24/7");
    assert_eq!(sample["references"][1]["answer"][0]["text"], "3.429");
    assert!(sample.get("options").is_none());
}

#[test]
fn conversations_pass() {
    let row = json!({
        "messages": [{ "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": "a.png" } }, { "type": "text", "text": "q" },
        ] }],
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": [{ "type": "text", "text": "B" }] } }],
        "inputs": { "multi_modal_data": { "image": ["a.png"] } },
        "_dataset_id": "d",
    });
    let sample = convert::<Mmmu>(json!({ "system_prompt": "Look." }), row.clone()).unwrap_or_default();
    assert_eq!(sample["messages"][1], row["messages"][0]);
    for name in ["choices", "inputs", "_dataset_id"] {
        assert_eq!(sample[name], row[name], "{name}");
    }
    assert_eq!(sample["label"], "B");
}

#[test]
fn unusable_rows_are_errors() {
    for (row, expected) in [
        (row("Which <image 3>?", json!(["a"]), json!("A")), "/image_3"),
        (row("Which?", json!([]), json!("A")), "/options"),
        (row("Which?", json!(["a"]), json!("?")), "/answer"),
        (json!({ "options": ["a"], "answer": "A" }), "/question"),
        (json!({ "question": "q", "image_1": "a.png" }), "/answer"),
        (json!({ "question": "q", "answer": "a", "image_1": 7 }), "/image_1"),
    ] {
        let pointer = convert::<Mmmu>(json!({}), row).err().and_then(|error| error.pointer);
        assert_eq!(pointer.as_deref(), Some(expected));
    }
}
