//! Media from hooks, and `inputs.multi_modal_data`.

use super::*;

fn fixture() -> MediaFixture {
    let fixture = MediaFixture::plain();
    for (name, width) in [("a.png", 1), ("b.png", 2), ("c.png", 3)] {
        fixture.write(name, png(width, 1));
    }
    fixture.write("copy.png", png(1, 1));
    fixture.write("a.wav", b"RIFF\x04\0\0\0WAVE");
    fixture
}

fn with_inputs(content: Value, multi_modal: Value) -> Value {
    let mut sample = user(content);
    sample["inputs"] = json!({"multi_modal_data": multi_modal});
    sample
}

fn hooked(source: &str) -> MediaSource {
    MediaSource { kind: MediaKind::Image, source: source.to_owned(), extra: Object::new() }
}

/// Returns the images of a Sample's first message, in order, and the text as `T`.
fn content(sample: &Value) -> Vec<String> {
    let parts = sample["messages"][0]["content"].as_array().expect("parts");
    let name = |part: &Value| {
        let url = ["image_url", "audio_url"].into_iter().find_map(|key| part[key]["url"].as_str());
        url.map_or("T".to_owned(), str::to_owned)
    };
    parts.iter().map(name).collect()
}

#[test]
fn hooked_media_stand_in_front_of_the_question_once() {
    let fixture = fixture();
    let question = json!([image_part("a.png"), text_part("?")]);
    let extra = Object::from_iter([("page".to_owned(), json!(2))]);
    let with_extra = MediaSource { extra, ..hooked("c.png") };
    let sample = fixture
        .settle_with(user(question.clone()), vec![hooked("b.png"), hooked("data/a.png"), with_extra.clone()])
        .expect("settled");
    assert_eq!(content(&sample), ["data/b.png", "data/c.png", "data/a.png", "T"]);
    assert_eq!(sample["messages"][0]["content"][1]["page"], 2);
    let images = &sample["inputs"]["multi_modal_data"]["image"];
    assert_eq!(images, &json!(["data/a.png", "data/b.png", "data/c.png"]));
    let references: Vec<&Value> = sample["_media_meta"]["images"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|image| &image["references"])
        .collect();
    assert_eq!(references, [1, 1, 1]);

    // Media that a row lists replace the hook's.
    let listed = with_inputs(question.clone(), json!({"image": ["a.png"]}));
    let sample = fixture.settle_with(listed, vec![hooked("b.png")]).expect("settled");
    assert_eq!(content(&sample), ["data/a.png", "T"]);

    let mut silent = user(question);
    silent["messages"][0]["role"] = json!("assistant");
    let sample = fixture.settle_with(silent, vec![hooked("b.png")]).expect("settled");
    assert_eq!((&sample["messages"][1]["role"], url_of(&sample, 1, 0)), (&json!("user"), "data/b.png"));

    let error = fixture.settle_with(user(json!("?")), vec![hooked("none.png")]).expect_err("missing");
    assert_eq!((error.kind.name(), error.pointer), ("media_missing", None));
    let extra = Object::from_iter([("type".to_owned(), json!("text"))]);
    let error = fixture.settle_with(user(json!("?")), vec![MediaSource { extra, ..with_extra }]);
    assert_eq!(error.expect_err("refused").kind, MediaErrorKind::Url);
}

#[test]
fn lists_of_older_rows_become_parts() {
    let fixture = fixture();
    let listed =
        json!({"image": ["b.png", {"url": "a.png", "detail": "low"}], "audio": "a.wav", "image_sizes": [1]});
    let sample = fixture.settle(with_inputs(json!("?"), listed)).expect("settled");
    assert_eq!(content(&sample), ["data/b.png", "data/a.png", "data/a.wav", "T"]);
    assert_eq!(sample["messages"][0]["content"][1]["image_url"]["detail"], "low");
    assert_eq!(
        sample["inputs"]["multi_modal_data"],
        json!({"image": ["data/b.png", "data/a.png"], "audio": ["data/a.wav"], "image_sizes": [1]})
    );
    assert_eq!(sample["_media_meta"]["audios"][0]["media_type"], "audio/wav");
    assert!(sample["_media_meta"].get("unreferenced").is_none());
}

#[test]
fn unreferenced_media_are_dropped_and_counted() {
    let fixture = fixture();
    let listed = json!({"image": ["a.png", "data/b.png", "secret.png", "../../etc/passwd", "c.png"]});
    let sample = fixture
        .settle(with_inputs(json!([image_part("b.png"), image_part("a.png")]), listed))
        .expect("settled");
    assert_eq!(sample["inputs"]["multi_modal_data"], json!({"image": ["data/b.png", "data/a.png"]}));
    assert_eq!(sample["_media_meta"]["unreferenced"], 3);
    let stats = fixture.store.stats();
    // Files without a reference from a message are not read.
    assert_eq!(stats.files_read, 2);
}

#[test]
fn the_same_content_has_one_record() {
    let fixture = fixture();
    let inline = data_url::encode("image/png", &png(1, 1));
    let parts: Vec<Value> =
        ["b.png", "a.png", "copy.png", "a.png", &inline].into_iter().map(image_part).collect();
    let sample = fixture.settle(user(json!(parts))).expect("settled");
    let urls = json!(["data/b.png", "data/a.png", "data/copy.png", inline]);
    assert_eq!(sample["inputs"]["multi_modal_data"]["image"], urls);
    let records: Vec<_> = sample["_media_meta"]["images"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|record| {
            (record["url"].as_str().expect("a URL"), record["index"].clone(), record["references"].clone())
        })
        .collect();
    assert_eq!(records, [("data/b.png", json!(0), json!(1)), ("data/a.png", json!(1), json!(4))]);
}

#[test]
fn a_file_in_several_spellings_is_listed_once() {
    let fixture = fixture();
    std::fs::create_dir(fixture.folder.path().join("content/x")).expect("made");
    let absolute = fixture.folder.path().join("content/a.png").display().to_string();
    let parts: Vec<Value> =
        ["a.png", "./a.png", "x/../a.png", &absolute, "b.png"].into_iter().map(image_part).collect();
    // The same applies to the list of a row.
    let listed = json!({"image": ["x/../b.png", "./c.png"]});
    let sample = fixture.settle(with_inputs(json!(parts), listed)).expect("settled");
    assert_eq!(sample["inputs"]["multi_modal_data"]["image"], json!(["data/a.png", "data/b.png"]));
    assert_eq!(content(&sample), ["data/a.png", "data/a.png", "data/a.png", "data/a.png", "data/b.png"]);
    let images = sample["_media_meta"]["images"].as_array().expect("a list");
    let references: Vec<&Value> = images.iter().map(|image| &image["references"]).collect();
    assert_eq!(references, [4, 1]);
    assert_eq!(sample["_media_meta"]["unreferenced"], 1, "c.png alone");
    // A hook uses yet another spelling.
    let sample =
        fixture.settle_with(user(json!([image_part("a.png")])), vec![hooked("x/../a.png")]).expect("settled");
    assert_eq!(content(&sample), ["data/a.png"]);
}

#[test]
fn lists_that_are_none() {
    let fixture = fixture();
    for (listed, pointer) in [
        (json!("a.png"), "/inputs/multi_modal_data"),
        (json!({"image": ["a.png", 5]}), "/inputs/multi_modal_data/image/1"),
        (json!({"image": {"path": "a.png"}}), "/inputs/multi_modal_data/image/0"),
        (json!({"audio": ["a.wav", "none.wav"]}), "/inputs/multi_modal_data/audio/1"),
    ] {
        let error = fixture.settle(with_inputs(json!("?"), listed)).expect_err("refused");
        assert_eq!(error.pointer.as_deref(), Some(pointer));
    }
    for empty in [json!({}), json!(null), json!({"image": []}), json!({"image": null})] {
        let sample = fixture.settle(with_inputs(json!("?"), empty)).expect("settled");
        assert_eq!((content(&sample), sample.get("inputs")), (vec!["T".to_owned()], None));
    }
}
