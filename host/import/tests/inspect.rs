//! Logs of Inspect, converted: suites, rows and answers, and errors of files that are no logs.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_config::{Environment, load};
use gage_import::{ANSWERS, Import, InspectLogError, NoteSeverity, ROWS, SUITE, import_inspect};
use gage_recorded_messages::RecordedError as _;
use serde_json::{Value, json};
use std::io::{Cursor, Write as _};
use std::path::Path;

fn imported(file: &str) -> Import {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inspect").join(file);
    let log = std::fs::read(path).expect("a log");
    import_inspect(file, Cursor::new(log)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn text_of<'i>(import: &'i Import, name: &str) -> &'i str {
    let found = import.files.iter().find(|(known, _)| known == name);
    found.map_or_else(|| panic!("no {name}"), |(_, text)| text.as_str())
}

fn lines_of(import: &Import, name: &str) -> Vec<Value> {
    text_of(import, name).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns a log with one sample, in JSON.
fn log_with(sample: &Value) -> Vec<u8> {
    json!({"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]})
        .to_string()
        .into_bytes()
}

#[test]
fn logs_become_suites() {
    for file in ["sums.eval", "letters.eval", "sums.json"] {
        let import = imported(file);
        let name = format!("inspect_{}", file.replace('.', "_"));
        insta::assert_snapshot!(name, format!("{}\n{SUITE}:\n{}", import.suite, text_of(&import, SUITE)));
        for suite in [import.suite.as_str(), text_of(&import, SUITE)] {
            let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
            let (_, problems) = load("new.yaml", suite, &[], &environment);
            assert!(!problems.has_errors(), "{file}: {}\n{suite}", problems.render(false));
        }
    }
}

#[test]
fn rows_have_scores_and_answers_their_ids() {
    for (file, scorer, expected) in [
        ("sums.eval", "match", vec![("a", 1.0, "4"), ("b", 0.0, "It is 8"), ("3", 1.0, "34")]),
        ("sums.json", "includes", vec![("3", 1.0, "34"), ("a", 1.0, "4"), ("b", 1.0, "7")]),
        (
            "letters.eval",
            "choice",
            vec![
                ("1", 1.0, "ANSWER: A"),
                ("2", 0.0, "ANSWER: A"),
                ("1#2", 1.0, "ANSWER: A"),
                ("2#2", 0.0, "ANSWER: A"),
            ],
        ),
    ] {
        let import = imported(file);
        let (rows, answers) = (lines_of(&import, ROWS), lines_of(&import, ANSWERS));
        let answer_of =
            |id: &Value| answers.iter().find(|answer| answer["id"] == *id).map(|one| &one["answer"]);
        for ((id, score, answer), row) in expected.iter().zip(&rows) {
            let found = (&row["id"], &row["metadata"]["inspect"]["scores"][scorer], answer_of(&row["id"]));
            assert_eq!(found, (&json!(id), &json!(score), Some(&json!(answer))), "{file} {row}");
        }
        assert_eq!((rows.len(), answers.len()), (expected.len(), expected.len()), "{file}");
    }
}

#[test]
fn values_of_scorers_become_numbers() {
    for (value, scores) in [
        (json!("C"), json!({"s": 1.0})),
        (json!("P"), json!({"s": 0.5})),
        (json!("N"), json!({"s": 0.0})),
        (json!(true), json!({"s": 1.0})),
        (json!("0.25"), json!({"s": 0.25})),
        (json!("yes"), json!({"s": 1.0})),
        (json!("True"), json!({"s": 1.0})),
        (json!("No"), json!({"s": 0.0})),
        (json!("false"), json!({"s": 0.0})),
        (json!({"a": 1, "b.c": "I"}), json!({"s-a": 1.0, "s-b-c": 0.0})),
        (json!("good"), json!({})),
    ] {
        let sample = json!({"id": 1, "input": "q", "target": "t", "scores": {"s": {"value": value}}});
        let import = import_inspect("l.json", Cursor::new(log_with(&sample))).expect("a log");
        assert_eq!(lines_of(&import, ROWS)[0]["metadata"]["inspect"]["scores"], scores, "{value}");
        let is_noted = import.notes.iter().any(|note| note.message.contains("values that are not numbers"));
        assert_eq!(is_noted, scores == json!({}), "{value}");
    }
}

/// Returns a log with some samples and the scorer `choice`, in JSON.
fn log_of(samples: &[Value]) -> Cursor<Vec<u8>> {
    let eval = json!({"task": "t", "scorers": [{"name": "choice"}]});
    let log = json!({"version": 2, "status": "success", "eval": eval, "samples": samples});
    Cursor::new(log.to_string().into_bytes())
}

#[test]
fn samples_with_errors_have_no_answer() {
    let failed = json!({"id": "x", "input": "q", "target": "", "error": {"message": "gone"}, "scores": {}});
    let scored = json!({"id": "y", "input": "q", "target": "a", "scores": {"choice": {"value": "C"}}});
    let import = import_inspect("l.json", log_of(&[failed.clone(), scored])).expect("a log");
    let answers = lines_of(&import, ANSWERS);
    assert_eq!((lines_of(&import, ROWS).len(), answers.len()), (2, 2));
    assert_eq!(answers[0], json!({"id": "x", "answer": null, "error": "gone"}));
    let message = "1 of 2 samples ended with an error in Inspect; they have no answer and no score";
    let note = import.notes.iter().find(|note| note.message == message).expect("a note");
    assert_eq!(note.severity, NoteSeverity::Dropped);
    let other = json!({"id": "z", "input": "q", "target": "", "error": {"message": "gone"}});
    let error = import_inspect("l.json", log_of(&[failed, other])).expect_err("no answer");
    let message = "all 2 samples ended with an error in Inspect; there is nothing to compare";
    assert!(error.recorded("suites").starts_with(message), "{error}");
}

/// Returns a sample with a score in an epoch. `null` is a failed one.
fn epoch_of(id: u64, epoch: u64, score: Value) -> Value {
    let mut sample =
        json!({"id": id, "epoch": epoch, "input": "q", "target": "a", "output": {"completion": "a"}});
    match score {
        Value::Null => sample["error"] = json!({"message": "gone"}),
        score => sample["scores"] = json!({"choice": {"value": score}}),
    }
    sample
}

#[test]
fn figures_that_differ_from_those_of_the_log_are_noted() {
    let even = [epoch_of(1, 1, json!("C")), epoch_of(1, 2, json!("I"))];
    let uneven = [even.as_slice(), &[epoch_of(2, 1, json!("C")), epoch_of(2, 2, Value::Null)]].concat();
    let by_max = "Inspect reduces the epochs of a sample by `max`; here a figure is the mean of all epochs";
    let weighted = "`choice`: samples have different numbers of scored epochs; in Inspect each sample counts once \
                    (0.7500), here each epoch (0.6667)";
    for (samples, reducers, accuracy, expected) in [
        (&even[..], json!(["mean"]), 0.5, &[][..]),
        (&even[..1], json!(["max"]), 1.0, &[]),
        (
            &even[..],
            json!(["max"]),
            1.0,
            &[by_max, "`choice`: accuracy by `max` is 1.0000 in the log; the mean of its scores is 0.5000"],
        ),
        (&even[..], json!(["max"]), 0.5, &[by_max]),
        (
            &even[..],
            json!(null),
            0.25,
            &["`choice`: accuracy is 0.2500 in the log; the mean of its scores is 0.5000"],
        ),
        (&uneven[..], json!(["mean"]), 0.75, &[weighted]),
    ] {
        let eval =
            json!({"task": "t", "config": {"epochs_reducer": reducers}, "scorers": [{"name": "choice"}]});
        let score = json!({
            "name": "choice", "scorer": "choice", "reducer": reducers[0],
            "metrics": {"accuracy": {"value": accuracy}, "stderr": {"value": 0.1}},
        });
        let log = json!({
            "version": 2, "status": "success", "eval": eval, "samples": samples, "results": {"scores": [score]},
        });
        let import = import_inspect("l.json", Cursor::new(log.to_string().into_bytes())).expect("a log");
        let keys = ["eval.config.epochs_reducer", "samples.scores.choice", "results.scores.choice"];
        let notes = import.notes.iter().filter(|note| keys.contains(&note.key.as_str()));
        let notes: Vec<&str> = notes.map(|note| note.message.as_str()).collect();
        assert_eq!(notes, expected, "{log}");
        let is_named = import.suite.contains("# Figures of the log: choice by `max`: accuracy");
        assert_eq!(is_named, reducers == json!(["max"]), "{}", import.suite);
    }
}

#[test]
fn figures_are_named_by_their_reducers() {
    let entry = |reducer: &str, accuracy: f64| {
        json!({
            "name": "choice", "scorer": "choice", "reducer": reducer, "metrics": {"accuracy": {"value": accuracy}},
        })
    };
    let samples = [epoch_of(1, 1, json!("C")), epoch_of(1, 2, json!("I"))];
    let log = json!({
        "version": 2, "status": "success", "samples": samples,
        "eval": {"task": "t", "config": {"epochs_reducer": ["mean", "max", "at_least_2"]}},
        "results": {"scores": [entry("mean", 0.5), entry("max", 1.0), entry("at_least_2", 0.0)]},
    });
    let import = import_inspect("l.json", Cursor::new(log.to_string().into_bytes())).expect("a log");
    let notes = import.notes.iter().filter(|note| note.key == "results.scores.choice");
    let notes: Vec<&str> = notes.map(|note| note.message.as_str()).collect();
    let expected = [
        "`choice`: accuracy by `max` is 1.0000 in the log; the mean of its scores is 0.5000",
        "`choice`: accuracy by `at_least_2` is 0.0000 in the log; the mean of its scores is 0.5000",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn empty_targets_are_noted() {
    let sample = |id: u64, epoch: u64, target: &Value| {
        let scores = json!({"choice": {"value": "C"}});
        json!({"id": id, "epoch": epoch, "input": "q", "target": target, "scores": scores})
    };
    for (target, epochs, count) in [
        (json!(""), 1, 1),
        (json!(""), 3, 1),
        (json!([""]), 1, 1),
        (json!("a"), 1, 0),
        (json!(["", "a"]), 1, 0),
    ] {
        let samples: Vec<Value> = (1..=epochs)
            .flat_map(|epoch| [sample(1, epoch, &target), sample(2, epoch, &json!("b"))])
            .collect();
        let import = import_inspect("l.json", log_of(&samples)).expect("a log");
        let notes = import.notes.iter().filter(|note| note.key == "samples.target");
        assert_eq!(notes.count(), count, "{target} {epochs}");
        let comment =
            "# 1 of 2 samples have an empty target, and so no reference: metrics that compare with it do not";
        assert_eq!(text_of(&import, SUITE).contains(comment), count == 1, "{target} {epochs}");
    }
}

#[test]
fn ids_of_samples_are_made_distinct() {
    let sample =
        |id: Value| json!({"id": id, "input": "q", "target": "a", "scores": {"choice": {"value": "C"}}});
    let import = import_inspect("l.json", log_of(&[sample(json!(1)), sample(json!("1"))])).expect("a log");
    let rows: Vec<Value> = lines_of(&import, ROWS).iter().map(|row| row["id"].clone()).collect();
    let answers: Vec<Value> = lines_of(&import, ANSWERS).iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!((rows, answers), (vec![json!("1"), json!("1-2")], vec![json!("1"), json!("1-2")]));
    let note = import.notes.iter().find(|note| note.key == "samples.id").expect("a note");
    assert!(note.message.starts_with("ids of samples that are equal as texts"), "{}", note.message);
    let error = import_inspect("l.json", log_of(&[sample(json!(1)), sample(json!(1))])).expect_err("twice");
    let message = "the log has the sample `1` twice in epoch 1; a sample may occur once in an epoch";
    assert_eq!(error.recorded("suites"), message);
}

#[test]
fn a_log_without_scores_has_no_metrics() {
    let sample = json!({"id": "x", "input": "q", "target": "a", "output": {"completion": "a"}});
    let import = import_inspect("l.json", log_of(&[sample])).expect("a log");
    for suite in [import.suite.as_str(), text_of(&import, SUITE)] {
        assert!(!suite.contains("metrics:") && !suite.contains("auto_eval"), "{suite}");
    }
}

#[test]
fn samples_with_several_right_options_need_work() {
    for (target, severity, implementation) in [
        (json!("B"), NoteSeverity::Changed, "implementation: multi_choice_accuracy"),
        (json!(["B", "C"]), NoteSeverity::NeedsWork, "implementation: \"./choice/choice.wasm\""),
    ] {
        let sample = json!({
            "id": "x", "input": "q", "target": target, "choices": ["one", "two", "three"],
            "output": {"completion": "ANSWER: B"}, "scores": {"choice": {"value": "I"}},
        });
        let import = import_inspect("l.json", log_of(&[sample])).expect("a log");
        let note = import.notes.iter().find(|note| note.key == "eval.scorers.choice").expect("a note");
        assert_eq!(note.severity, severity, "{target}");
        let suite = text_of(&import, SUITE);
        assert!(suite.contains(implementation), "{target}\n{suite}");
    }
}

#[test]
fn a_score_that_is_not_a_number_is_left_out() {
    // Python writes `NaN` into JSON.
    const LOG: &str = r#"{"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [{
        "id": "x", "input": "q", "target": "a", "output": {"completion": "a NaN"},
        "scores": {"grade": {"value": NaN}, "other": {"value": 1}}}]}"#;
    let import = import_inspect("l.json", Cursor::new(LOG.as_bytes())).expect("a log");
    assert_eq!(lines_of(&import, ROWS)[0]["metadata"]["inspect"]["scores"], json!({"other": 1.0}));
    assert_eq!(lines_of(&import, ANSWERS)[0]["answer"], "a NaN");
}

#[test]
fn rows_have_the_messages_before_the_first_answer() {
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let sample = json!({
        "id": "x", "input": "attachment://long", "target": ["a", "b"], "choices": ["one", "two"],
        "attachments": {"long": "a long question"},
        "messages": [
            message("system", "Be brief."), message("user", "attachment://long"), message("assistant", "calls a tool"),
            message("tool", "result"), message("assistant", "done"),
        ],
        "output": {"choices": [{"message": message("assistant", "done"), "stop_reason": "max_tokens"}]},
    });
    let import = import_inspect("l.json", Cursor::new(log_with(&sample))).expect("a log");
    let row = &lines_of(&import, ROWS)[0];
    let texts: Vec<&Value> = (0..3).map(|place| &row["messages"][place]["content"][0]["text"]).collect();
    assert_eq!(texts, [&json!("Be brief."), &json!("a long question"), &Value::Null]);
    assert_eq!(row["options"][1], json!({"id": "B", "content": "two"}));
    assert_eq!(row["references"][1]["answer"][0]["text"], "b");
    let answer = json!({"id": "x", "answer": "done", "finish_reason": "max_tokens"});
    assert_eq!(lines_of(&import, ANSWERS), [answer]);
    assert!(import.notes.iter().any(|note| note.key == "samples.messages"), "{:#?}", import.notes);
}

/// Returns a zip archive with one file, packed in a way that this crate does not know.
fn archive(name: &str, content: &[u8], method: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |parts: &[&[u8]]| parts.iter().for_each(|part| bytes.write_all(part).expect("in memory"));
    let (size, length) = ((content.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
    let crc = crc_of(content).to_le_bytes();
    let common: Vec<u8> =
        [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0, 0, 0x21, 0], &crc, &size, &size, &length].concat();
    add(&[b"PK\x03\x04", &common, &[0, 0], name.as_bytes(), content]);
    let directory = (30 + name.len() + content.len()) as u32;
    add(&[b"PK\x01\x02", &[20, 0], &common, &[0; 14], &[0; 2][..0], &[0, 0], name.as_bytes()]);
    let size_of_directory = (46 + name.len()) as u32;
    add(&[
        b"PK\x05\x06",
        &[0, 0, 0, 0, 1, 0, 1, 0],
        &size_of_directory.to_le_bytes(),
        &directory.to_le_bytes(),
        &[0, 0],
    ]);
    bytes
}

/// Returns the CRC-32 of bytes.
fn crc_of(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn files_that_are_no_logs_are_refused() {
    let without_id = json!({"input": "q", "scores": {}});
    for (bytes, message) in [
        (b"{}".to_vec(), "this is not a log of Inspect"),
        (b"{".to_vec(), "`the log` cannot be read: EOF"),
        (b"PK\x03\x04 damaged".to_vec(), "the archive is damaged"),
        (log_with(&without_id), "a sample of the log has no `id`"),
        (b"{\"version\": 2, \"eval\": {\"task\": \"t\"}}".to_vec(), "the log has no samples"),
        (archive("other.json", b"{}", 0), "this is not a log of Inspect"),
        (archive("header.json", b"{}", 0), "the log has no samples"),
        (archive("header.json", b"{}", 14), "`header.json` is packed in a way that is not supported"),
        (archive("header.json", b"[1]", 0), "`header.json` cannot be read"),
    ] {
        let error: InspectLogError = import_inspect("l", Cursor::new(bytes)).expect_err(message);
        assert!(error.recorded("suites").contains(message), "{message}: {error}");
    }
}
