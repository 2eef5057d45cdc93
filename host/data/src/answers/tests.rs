//! Tests of the readers of answers.

use super::*;
use gage_config::{BackendKind, Environment, load};
use gage_core::FinishReason;
use gage_recorded_messages::RecordedError as _;
use std::path::Path;

/// Returns the configuration of a file of answers, with further keys.
fn config(path: &Path, keys: &str) -> AnswersConfig {
    let path = serde_json::json!(path).to_string();
    let text = format!("datasets: rows.jsonl\nanswers: {{path: {path}{keys}}}\nmetrics: [exact_match]\n");
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load("suite.yaml", &text, &[], &environment);
    let config = config.filter(|_| !problems.has_errors());
    let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
    match &config.backends[0].kind {
        BackendKind::Answers(answers) => answers.clone(),
        other => panic!("{other:?}"),
    }
}

fn read(name: &str, content: &[u8], keys: &str) -> Result<AnswersFile, AnswersError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    AnswersFile::read(&config(&path, keys))
}

fn id(id: &str) -> AnswerKey {
    AnswerKey::Id(id.into())
}

/// Returns each answer as its key and its texts.
fn shown(file: &AnswersFile) -> Vec<(AnswerKey, Vec<&str>)> {
    let texts = file.answered().map(|answer| {
        let texts = answer.outputs.iter().map(|output| output.answer.as_str()).collect();
        (answer.key.clone(), texts)
    });
    texts.collect()
}

#[test]
fn answers_are_read_from_every_format() {
    let inspect = r#"{"version": 2, "eval": {"task": "t"}, "samples": [
        {"id": 1, "epoch": 1, "input": "?", "target": "x",
         "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "a"}, "stop_reason": "stop"}]}},
        {"id": "two", "epoch": 1, "input": "?", "target": "x", "output": {"choices": [
            {"message": {"content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "b"}]},
             "stop_reason": "max_tokens"}]}}
    ]}"#;
    let lm_eval = concat!(
        r#"{"doc_id": 0, "doc": {"q": "?"}, "target": "x", "resps": [["a", "c"]], "filtered_resps": ["a"]}"#,
        "\n",
        r#"{"doc_id": 4, "doc": {"q": "?"}, "target": "x", "resps": [["b"]]}"#,
    );
    let record = r#"{"task_id": "t", "index": 0, "sample_id": "q1", "outcome": "scored", "model_output": {"answer": "a", "finish_reason": "stop"}}"#;
    for (name, content, keys, expected) in [
        (
            "a.jsonl",
            "{\"id\": \"x\", \"answer\": \"a\"}\n\n{\"id\": 7, \"answer\": 8}\n",
            "",
            vec![(id("x"), vec!["a"]), (id("7"), vec!["8"])],
        ),
        (
            "a.jsonl",
            "\"a\"\n\"b\"\n",
            "",
            vec![(AnswerKey::Order(0), vec!["a"]), (AnswerKey::Order(1), vec!["b"])],
        ),
        (
            "a.json",
            "[\"a\", {\"response\": \"b\"}]",
            "",
            vec![(AnswerKey::Order(0), vec!["a"]), (AnswerKey::Order(1), vec!["b"])],
        ),
        ("a.csv", "id,output\nq1,\"a, b\"\n", "", vec![(id("q1"), vec!["a, b"])]),
        (
            "a.jsonl",
            "{\"id\": 1, \"answer\": \"gold\", \"said\": \"a\"}",
            ", answer_field: said",
            vec![(id("1"), vec!["a"])],
        ),
        (
            "a.jsonl",
            "{\"id\": 1, \"n\": 5, \"completion\": \"a\"}",
            ", id_field: n",
            vec![(id("5"), vec!["a"])],
        ),
        (
            "a.jsonl",
            "{\"id\": 1, \"answer\": \"a\"}",
            ", match_by: order",
            vec![(AnswerKey::Order(0), vec!["a"])],
        ),
        (
            "a.jsonl",
            "{\"task_id\": \"HumanEval/0\", \"completion\": \"a\"}",
            "",
            vec![(id("HumanEval/0"), vec!["a"])],
        ),
        ("a.jsonl", record, "", vec![(id("q1"), vec!["a"])]),
        ("a.jsonl", lm_eval, "", vec![(AnswerKey::Row(0), vec!["a", "c"]), (AnswerKey::Row(4), vec!["b"])]),
        ("log.json", inspect, "", vec![(id("1"), vec!["a"]), (id("two"), vec!["b"])]),
    ] {
        let file = read(name, content.as_bytes(), keys).unwrap_or_else(|error| panic!("{content}: {error}"));
        assert_eq!(shown(&file), expected, "{content}");
    }
    let log = read("log.json", inspect.as_bytes(), "").expect("answers");
    assert_eq!(log.answers[1].outputs[0].finish_reason, FinishReason::Length);
    let records = read("a.jsonl", record.as_bytes(), "").expect("answers");
    assert_eq!(records.answers[0].task_id.as_deref(), Some("t"));
}

#[test]
fn entries_without_an_answer_are_counted() {
    let content = "{\"id\": 1, \"answer\": null}\n{\"sample_id\": \"a\", \"model_output\": null}\n{\"id\": 2, \"answer\": \"\"}\n";
    let file = read("a.jsonl", content.as_bytes(), "").expect("answers");
    assert_eq!((file.unanswered, file.answers.len(), file.answered().count()), (2, 3, 1));
    // The order is that of all entries.
    let file = read("a.jsonl", b"{\"answer\": null}\n\"b\"\n", "").expect("answers");
    assert_eq!(shown(&file), [(AnswerKey::Order(1), vec!["b"])]);
}

#[test]
fn hostile_files_are_refused_with_the_place() {
    let deep = format!("{{\"answer\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let wide = format!("{{\"answer\": [{}0]}}", "0,".repeat(2_000_000));
    for (name, content, part) in [
        ("a.jsonl", b"{\"id\": 1}\n".to_vec(), "line 1: it has no answer"),
        ("a.jsonl", b"{\"answer\": \"a\"}\n[1]\n".to_vec(), "line 2: an entry must be an object or a text"),
        (
            "a.jsonl",
            b"{\"answer\": \"a\", \"response\": \"b\"}".to_vec(),
            "name the right one: `answers: {path: FILE, answer_field: FIELD}`",
        ),
        ("a.jsonl", b"{\"id\": [1], \"answer\": \"a\"}".to_vec(), "`id` must be a string or a number"),
        ("a.jsonl", b"{\"answer\": {\"content\": 1}}".to_vec(), "must hold a text"),
        ("a.jsonl", b"{\"answer\": [{\"type\": \"text\"}]}".to_vec(), "other things than texts"),
        (
            "a.jsonl",
            b"{\"doc_id\": 0, \"resps\": [[[-1.5, false]]]}".to_vec(),
            "only answers of `generate_until`",
        ),
        (
            "a.jsonl",
            b"{\"doc_id\": 0, \"resps\": [[[\"-1.5\", \"False\"]]]}".to_vec(),
            "only answers of `generate_until`",
        ),
        (
            "a.jsonl",
            b"{\"doc_id\": 0, \"resps\": [[\"a\"]]}\n{\"doc_id\": -1, \"resps\": [[\"b\"]]}".to_vec(),
            "line 2: `doc_id` must be the number of a row, from 0",
        ),
        ("a.jsonl", b"{\"answer\": \"\xff\"}".to_vec(), "line 1: it is not JSON"),
        ("a.jsonl", b"\"a\"\nnot json\n".to_vec(), "line 2: it is not JSON"),
        ("a.jsonl", deep.into_bytes(), "it is not JSON"),
        ("a.jsonl", wide.into_bytes(), "JSON values"),
        ("a.jsonl", Vec::new(), "has no rows"),
        ("a.json", b"{\"samples\": 1}".to_vec(), "has no array at 'samples'"),
        ("a.csv", b"id,answer\n1,\"a\n".to_vec(), "does not end"),
        ("a.csv", b"id,answer\n1\n".to_vec(), "1 fields, but there are 2 columns"),
        ("a.jsonl", b"PK\x03\x04".to_vec(), "zip archive"),
    ] {
        let error = read(name, &content, "").err().map(|error| error.to_string());
        let error = error.unwrap_or_else(|| panic!("{part}"));
        assert!(error.contains(part), "{error}");
    }
    for (keys, part) in [
        (", match_by: id", "has no `id`"),
        (", answer_field: said", "expected one of the fields `said`, found answer"),
        (", id_field: key", "has no `key`"),
    ] {
        let error = read("a.jsonl", b"{\"answer\": \"a\"}", keys).err().map(|error| error.to_string());
        let error = error.unwrap_or_else(|| panic!("{keys}"));
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn limit_of_answers_is_named() {
    let error = AnswersError::TooLarge { file: "'answers.jsonl'".to_owned() }.recorded("data");
    assert_eq!(error, "'answers.jsonl' has more than 4000000 answers, or more than 2 GiB of them");
}

#[test]
fn everything_that_is_kept_of_a_file_has_a_limit() {
    let long = "x".repeat(1_000);
    let wide = format!("[{}{{}}]", "{},".repeat(999));
    let repeats = format!("[[{}\"\"]]", "\"\",".repeat(999));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    for line in [
        format!(r#"{{"id": "{long}", "answer": "a"}}"#),
        format!(r#"{{"id": "a", "answer": "{long}"}}"#),
        format!(r#"{{"id": "a", "answer": {{"content": "a", "reasoning": "{long}"}}}}"#),
        format!(r#"{{"id": "a", "answer": {{"content": "a", "tool_calls": {wide}}}}}"#),
        format!(r#"{{"doc_id": 0, "resps": {repeats}}}"#),
        format!(r#"{{"sample_id": "a", "task_id": "{long}", "model_output": null}}"#),
    ] {
        std::fs::write(&path, format!("{line}\n")).expect("written");
        let read = |limits| AnswersFile::read_within(&config(&path, ""), limits);
        let error = read(AnswerLimits { answers: 999, bytes: 999 }).err();
        assert!(matches!(error, Some(AnswersError::TooLarge { .. })), "{error:?}\n{line:.60}");
        assert!(read(AnswerLimits::default()).is_ok(), "{line:.60}");
    }
    std::fs::write(&path, "{\"answer\": null}\n".repeat(3)).expect("written");
    let error = AnswersFile::read_within(&config(&path, ""), AnswerLimits { answers: 2, bytes: 999 }).err();
    assert!(matches!(error, Some(AnswersError::TooLarge { .. })), "{error:?}");
}

#[cfg(unix)]
#[test]
fn pipes_folders_and_devices_are_not_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.jsonl");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .expect("a pipe");
    let sub = folder.path().join("folder.jsonl");
    std::fs::create_dir(&sub).expect("a folder");
    let device = folder.path().join("device.jsonl");
    std::os::unix::fs::symlink("/dev/zero", &device).expect("a link");
    for (path, part) in [(&pipe, "a pipe"), (&sub, "a folder"), (&device, "a device")] {
        let error = AnswersFile::read(&config(path, "")).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn changed_file_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "\"a\"\n").expect("written");
    let file = AnswersFile::read(&config(&path, "")).expect("answers");
    assert_eq!(file.check_unchanged(), Ok(()));
    std::fs::write(&path, "\"b\"\n").expect("written");
    assert!(file.check_unchanged().is_err());
}
