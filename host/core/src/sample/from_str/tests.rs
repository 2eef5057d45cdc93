use super::*;
use std::path::Path;

/// A sound Sample with further members, which begin with a comma.
fn with(members: &str) -> String {
    format!(r#"{{"schema_version":"v1","id":"a","messages":[],"references":["b"]{members}}}"#)
}

/// What `read` reads, in which the order of members shows.
fn by_way_of_a_value(text: &str) -> String {
    let value = serde_json::from_str(text).expect("JSON");
    format!("{:?}", Sample::from_value(value).expect("a Sample"))
}

fn is_read_directly(text: &str) {
    let read = sample(text).unwrap_or_else(|| panic!("given up: {text}"));
    assert_eq!(format!("{read:?}"), by_way_of_a_value(text), "{text}");
}

#[test]
fn usual_shapes_are_read_directly() {
    let shapes = [
        "",
        r#","task_type":"short-answer","label":"b","metadata":{"dataset":"demo","level":[1,{"a":null}]}"#,
        r#","task_type":"of-a-team","label":null,"options":null,"sandbox":null,"metadata":null"#,
        r#","options":[{"id":"A","content":"b"},{"content":"c","id":"B","x":1}],"label":"A""#,
        r#","few_shot_examples":[{"messages":[{"role":"user","content":"q"}],"references":["r"],
            "options":[{"id":"A","content":"r"}],"label":"A","tools":[],"tool_choice":"auto","x":1,"sandbox":null}]"#,
        r#","golden_trajectories":[[{"role":"assistant","content":null,"tool_calls":[
            {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c","name":"f","content":"22","x":1}],[]]"#,
        r#","sandbox":{"image":"i","files":{"a/b":"c"},"setup":"s","env":{"A":"b"},"x":1}"#,
        r#","data_tag":{"a":"b","c":[1,true]},"tools":[{"function":{"name":"f","parameters":{}}}],"tool_choice":{}"#,
        r#","raw_assets":{"a":1},"sampling_params":{"a":1},"generation_params":{"a":1},"eval_config":{"a":1},
            "unconditioned_input":["a"],"predict_result":[1],"eval_result":{"a":1},"choices":[1],"inputs":{"a":1}"#,
        r#","_dataset_id":"a","_dataset_metadata":{"a":1},"chat_template_mode":"a","rendered_by":"b",
            "template_source":"c","cache_suffix":"d","_tokenizer_path":"e","_media_meta":{"a":1}"#,
        r#","z":1,"y":{"b":1,"a":2},"\u00e9":"\ud83d\ude00\n","z":2"#,
        // Of a key that occurs twice the last value counts.
        r#","task_type":"a","task_type":"b","metadata":{"a":1},"metadata":null,"id":"b","references":["c"],
            "label":"b","label":"c","options":[{"id":"A","content":"a","content":"c"}]"#,
        r#","x":1,"y":1,"golden_trajectories":[[{"role":"user","role":"tool","content":null,"content":"a"}]],"x":2"#,
    ];
    for shape in shapes {
        is_read_directly(&with(shape));
    }
    is_read_directly(&with("").replace(r#""id":"a""#, r#""id" : 17"#));
}

#[test]
fn usual_parts_are_read_directly() {
    let parts = [
        r#""a""#,
        r#""say \"é\" \u00e9""#,
        r#"["a",{"type":"text","text":"b","x":1},{"text":"c","type":"text"}]"#,
        r#"[{"type":"image_url","image_url":{"detail":"low","url":"a.png","x":1}}]"#,
        r#"[{"audio_url":"a.wav","type":"audio_url"},{"type":"video_url","video_url":{"url":"a.mp4"},"y":2}]"#,
        r#"[{"type":"file_url","file_url":{"url":"a.pdf"}}]"#,
        "[]",
    ];
    for part in parts {
        let text = format!(
            r#"{{"schema_version":"v1","id":"a","messages":[{{"role":"user","content":{part}}}],
                "references":[{{"answer":{part},"meta":{{"a":1}},"x":1}}]}}"#
        );
        is_read_directly(&text);
    }
}

#[test]
fn the_datasets_of_the_repository_are_read_directly() {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/datasets");
    let mut read = 0;
    for folder in std::fs::read_dir(datasets).expect("the folder of datasets") {
        let file = folder.expect("an entry").path().join("samples.jsonl");
        let Ok(rows) = std::fs::read_to_string(file) else { continue };
        for row in rows.lines().filter(|row| row.contains("schema_version")) {
            is_read_directly(row);
            read += 1;
        }
    }
    assert!(read > 20, "only {read} rows of the datasets are standard");
}

#[test]
fn the_rest_is_given_up() {
    let given_up = [
        r#","metadata":[]"#,
        r#","label":"c""#,
        r#","data_tag":{"a":{}}"#,
        r#","tools":[{}]"#,
        r#","options":[{"id":"A","content":"a"},{"id":"A","content":"b"}]"#,
        r#","few_shot_examples":[{"messages":[],"references":[]}]"#,
        r#","few_shot_examples":[{"messages":[],"references":["a"],"sandbox":{}}]"#,
        r#","golden_trajectories":[null]"#,
        r#","golden_trajectories":[[{"role":"user"}]]"#,
        r#","golden_trajectories":[[{"role":"robot","content":"a"}]]"#,
        r#","golden_trajectories":[[{"role":"user","content":[{"type":"text","image_url":"a"}]}]]"#,
        r#","golden_trajectories":[[{"role":"user","content":[{"type":"text","text":"a","image_url":"a"}]}]]"#,
        r#","golden_trajectories":[[{"role":"user","content":[{"type":"image_url","image_url":{"a":1}}]}]]"#,
        r#","golden_trajectories":[[{"role":"user","content":[{"image_url":"a","text":"a","type":"text"}]}]]"#,
        r#","messages":null"#,
        r#","label":["b"]"#,
        r#","schema_version":"v2""#,
        r#","id":"""#,
    ];
    for members in given_up {
        assert_eq!(sample(&with(members)), None, "{members}");
    }
    let whole = with("");
    for text in ["", "null", "[]", "{}", r#"{"id":"a"}"#, &whole[..whole.len() - 1], &format!("{whole} x")] {
        assert_eq!(sample(text), None, "{text}");
    }
    for (member, other) in [(r#""id":"a","#, ""), (r#""a""#, "null"), (r#""v1""#, r#""v2""#), ("[]", "null")]
    {
        assert_eq!(sample(&whole.replace(member, other)), None, "{member}");
    }
}
