//! Tests that read the page as its script does.

use super::{write_html, write_html_file};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use gage_compare::{CompareOptions, compare};
use gage_core::{Outcome, RecordedForm};
use gage_figures::RecordedRun;
use gage_figures::test_records::{failed, sample, task};
use gage_figures::{Completeness, Phases, no_custom_aggregators, write_reports};
use gage_record::format::SAMPLES_FILE;
use gage_record::{
    AnswerEntry, ErrorNote, JournalEntry, JournalWriter, Manifest, PluginSigner, RecordedPlugin, RunFolder,
    RunIdentity, RunStatus, SampleRecord, Stage,
};
use gage_recorded_messages::RecordedError as _;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};

fn write_run(root: &Path, run_id: &str, records: &[SampleRecord]) -> PathBuf {
    write_run_with_warnings(root, run_id, records, &[])
}

fn write_run_with_warnings(
    root: &Path,
    run_id: &str,
    records: &[SampleRecord],
    warnings: &[&str],
) -> PathBuf {
    let folder = RunFolder::create(root, run_id).unwrap();
    let mut manifest = Manifest::new(run_id, "0.1.0", RunIdentity::default());
    manifest.warnings = warnings.iter().map(ToString::to_string).collect();
    manifest.write(&folder).unwrap();
    let mut journal = JournalWriter::open(&folder).unwrap().writer;
    journal.append_batch(records.iter().map(JournalEntry::FinishedWithoutScores)).unwrap();
    let (reaches, phases) = (Completeness::new(), Phases::default());
    let written = write_reports(&folder, &[task("t")], &reaches, &phases, &no_custom_aggregators).unwrap();
    manifest.files.extend(written.files.into_iter().filter(|(name, _)| name == SAMPLES_FILE));
    manifest.finish(RunStatus::Complete);
    manifest.write(&folder).unwrap();
    folder.path().to_owned()
}

/// Renders the page of some runs.
fn page(root: &Path, runs: &[PathBuf]) -> String {
    let sources: Vec<RecordedRun> = runs.iter().map(|run| RecordedRun::open(run).unwrap()).collect();
    let comparisons: Vec<_> = sources[1..]
        .iter()
        .map(|new| compare(&sources[0], new, &CompareOptions::default()).unwrap())
        .collect();
    let path = root.join("a report.html");
    let written = write_html_file(&path, &sources, &comparisons, &|_, _| None).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.bytes, text.len() as u64);
    text
}

/// Returns the contents of all blocks of a kind.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let begin = format!("<script type=\"text/plain\" data-block=\"{kind}\">");
    let parts = page.split(&begin).skip(1).map(|part| part.split_once("</script>").unwrap().0);
    let unpacked = parts.map(|part| {
        let mut text = String::new();
        GzDecoder::new(&STANDARD.decode(part).unwrap()[..]).read_to_string(&mut text).unwrap();
        text
    });
    unpacked.collect()
}

#[test]
fn every_sample_is_in_a_block_of_texts_and_a_row_of_the_columns() {
    let root = tempfile::tempdir().unwrap();
    let mut records: Vec<SampleRecord> =
        (0..5_000).map(|index| sample("t", index, (index % 2) as f64, 12.34)).collect();
    records[7] = failed("t", 7, Outcome::BackendError);
    let page = page(root.path(), &[write_run(root.path(), "run", &records)]);

    let columns: Vec<Value> =
        blocks(&page, "columns").iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let texts = blocks(&page, "texts");
    let sizes: Vec<u64> = columns
        .iter()
        .flat_map(|part| part["texts"].as_array().unwrap())
        .map(|size| size.as_u64().unwrap())
        .collect();
    let lines: Vec<u64> = texts.iter().map(|text| text.lines().count() as u64).collect();
    assert_eq!(sizes, lines);
    assert_eq!(sizes.iter().sum::<u64>(), 5_000);
    assert_eq!(columns.len(), 2, "blocks of 4,096 rows");

    let first = &columns[0];
    assert_eq!(first["id"][1], "s-1");
    assert_eq!(first["outcomes"], json!(["scored", "backend_error"]));
    assert_eq!((&first["outcome"][6], &first["outcome"][7]), (&json!(0), &json!(1)));
    assert_eq!(first["metrics"], json!(["m"]));
    assert_eq!((&first["scores"][0][1], &first["scores"][0][7]), (&json!(1.0), &Value::Null));
    assert_eq!(first["latency"][1], 12.3);
    assert_eq!(first["content"], json!([]), "one run needs no partners");
    let line: Value = serde_json::from_str(texts[0].lines().nth(1).unwrap()).unwrap();
    assert_eq!((&line["id"], &line["model_output"]["answer"]), (&json!("s-1"), &json!("a")));
    assert_eq!(line["timing_metrics"][0]["card"]["primary_score"], 12.34);

    let head: Value = serde_json::from_str(&blocks(&page, "head")[0]).unwrap();
    assert_eq!((&head["format_version"], &head["runs"][0]["run_id"]), (&json!(1), &json!("run")));
    assert_eq!(head["runs"][0]["summary"]["samples"]["total"], 5_000);
}

#[test]
fn rows_have_excerpts_errors_prices_and_metadata() {
    let root = tempfile::tempdir().unwrap();
    let mut records = vec![sample("t", 0, 1.0, 1.0), failed("t", 1, Outcome::BackendError)];
    let messages =
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What\n is it?"}]);
    records[0].sample =
        json!({"messages": messages, "label": "cat", "metadata": {"level": "hard", "seen": true}}).into();
    records[0].judge_output = Some(json!({"cost": 0.25}));
    records[1].error = Some(ErrorNote {
        stage: Stage::Inference,
        kind: "timeout".to_owned(),
        message: "no answer".to_owned(),
        pointer: None,
    });
    let page = page(root.path(), &[write_run(root.path(), "run", &records)]);
    let excerpts: Value = serde_json::from_str(&blocks(&page, "excerpts")[0]).unwrap();
    let expected = json!({"input": ["What is it?", ""], "target": ["cat", ""], "answer": ["a", ""]});
    assert_eq!(excerpts, expected);
    let columns: Value = serde_json::from_str(&blocks(&page, "columns")[0]).unwrap();
    assert_eq!(
        (&columns["errors"], &columns["failed"]),
        (&json!([{"stage": "inference", "kind": "timeout", "message": "no answer"}]), &json!([[1, 0]]))
    );
    assert_eq!(columns["judge_cost"], json!([[0, 0.25]]));
    let level = &columns["metadata"]["level"];
    assert_eq!((&level["values"], &level["of"]), (&json!(["hard"]), &json!([[0, 0]])));
    assert_eq!(columns["metadata"]["seen"]["values"], json!(["true"]));
}

#[test]
fn the_head_names_datasets_prompts_and_judges_without_folders() {
    let root = tempfile::tempdir().unwrap();
    let config = json!({
        "metadata": {"name": "sums"},
        "datasets": [{"dataset_id": "d", "params": {"path": "/home/somebody/rows.jsonl"}}],
        "role_adapters": [
            {"adapter_id": "dut", "role_type": "dut_model", "backend_id": "b", "prompt_id": "ask"},
            {"adapter_id": "strict", "role_type": "judge_model", "backend_id": "c"},
        ],
        "tasks": [{"task_id": "one", "dataset_id": "d"}, {"task_id": "two", "dataset_id": "d"}],
    });
    let folder = RunFolder::create(root.path(), "run").unwrap();
    let identity = RunIdentity { config, ..RunIdentity::default() };
    Manifest::new("run", "0.1.0", identity).write(&folder).unwrap();
    let page = page(root.path(), &[folder.path().to_owned()]);
    let head: Value = serde_json::from_str(&blocks(&page, "head")[0]).unwrap();
    let run = &head["runs"][0];
    assert_eq!((&run["suite"], &run["datasets"]), (&json!("sums"), &json!(["d (rows.jsonl)"])));
    assert_eq!((&run["prompts"], &run["judges"]), (&json!(["ask (dut)"]), &json!(["strict (c)"])));
    assert!(!run.to_string().contains("somebody"));
}

#[test]
fn the_head_names_plugins_with_digest_and_signer() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "run").unwrap();
    let mut manifest = Manifest::new("run", "0.1.0", RunIdentity::default());
    manifest.plugins.push(RecordedPlugin {
        id: "words".to_owned(),
        source: "oci://registry.example/words:1".to_owned(),
        digest: "sha256:01".to_owned(),
        manifest: Some("sha256:02".to_owned()),
        signer: Some(PluginSigner { key: "team.pub".to_owned(), fingerprint: "sha256:03".to_owned() }),
    });
    manifest.write(&folder).unwrap();
    let page = page(root.path(), &[folder.path().to_owned()]);
    let head: Value = serde_json::from_str(&blocks(&page, "head")[0]).unwrap();
    let expected = json!(["words: oci://registry.example/words:1 sha256:01 signed with team.pub (03)"]);
    assert_eq!(head["runs"][0]["plugins"], expected);
}

#[test]
fn the_head_of_a_short_suite_says_what_was_asked() {
    let root = tempfile::tempdir().unwrap();
    let config = json!({
        "datasets": [
            {"dataset_id": "q", "params": {"path": "data/q.csv"}},
            {"dataset_id": "words", "params": {"path": "w.jsonl"}},
        ],
        "role_adapters": [
            {"adapter_id": "dut", "role_type": "dut_model", "backend_id": "b", "prompt_id": "prompt"},
            {"adapter_id": "plan", "role_type": "planner", "backend_id": "b", "prompt_id": "plan"},
        ],
        "prompts": [
            {"prompt_id": "prompt", "template": "\n {{ question }}\nAnswer briefly."},
            {"prompt_id": "plan", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]},
        ],
    });
    let folder = RunFolder::create(root.path(), "run").unwrap();
    std::fs::write(folder.path().join("gage.lock"), "suite:\n  name: capitals\n").unwrap();
    let identity = RunIdentity { config, ..RunIdentity::default() };
    Manifest::new("run", "0.1.0", identity).write(&folder).unwrap();
    let page = page(root.path(), &[folder.path().to_owned()]);
    let head: Value = serde_json::from_str(&blocks(&page, "head")[0]).unwrap();
    let run = &head["runs"][0];
    assert_eq!((&run["suite"], &run["datasets"]), (&json!("capitals"), &json!(["q.csv", "words (w.jsonl)"])));
    assert_eq!(run["prompts"], json!(["prompt (dut): {{ question }}", "plan (plan): b"]));
}

#[test]
fn no_text_of_a_model_is_markup() {
    let root = tempfile::tempdir().unwrap();
    let mut record = sample("t", 0, 1.0, 1.0);
    let bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[31m\u{202e}";
    record.model_output = Some(json!({"answer": bad.to_owned() + &"x".repeat(1 << 20)}).into());
    record.sample_id = bad.to_owned();
    let page = page(root.path(), &[write_run(root.path(), "run", &[record])]);
    assert!(!page.contains("alert(1)") && !page.contains("onerror"));
    assert!(blocks(&page, "texts")[0].contains("alert(1)"), "it is there as data");
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn files_that_replies_name_are_not_in_the_page() {
    const CONTENT: &str = "content of a private file..";
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("private.png");
    std::fs::write(&file, CONTENT).unwrap();
    let file = file.display();
    let urls = [
        format!("file://{file}"),
        file.to_string(),
        "../private.png".into(),
        "media/../../private.png".into(),
    ];
    let media: Vec<Value> =
        urls.iter().map(|url| json!({"type": "image_url", "image_url": {"url": url}})).collect();
    let mut record = sample("t", 0, 1.0, 1.0);
    record.model_output = Some(json!({"answer": "", "media": media}).into());
    let page = page(root.path(), &[write_run(root.path(), "run", &[record])]);
    let texts = &blocks(&page, "texts")[0];
    assert!(texts.contains("media/../../private.png"), "the page shows what the reply names");
    assert!(!texts.contains(CONTENT) && !texts.contains(&STANDARD.encode(CONTENT)), "{texts}");
}

#[test]
fn two_runs_are_compared_and_name_no_folder() {
    let root = tempfile::tempdir().unwrap();
    let of = |scores: [f64; 3]| -> Vec<SampleRecord> {
        scores.iter().zip(0..).map(|(score, index)| sample("t", index, *score, 1.0)).collect()
    };
    let runs = [
        write_run(root.path(), "base", &of([1.0, 1.0, 0.0])),
        write_run(root.path(), "new", &of([1.0, 0.0, 0.0])),
    ];
    let page = page(root.path(), &runs);
    let head: Value = serde_json::from_str(&blocks(&page, "head")[0]).unwrap();
    let metric = &head["comparisons"][0]["metrics"][0];
    assert_eq!((&metric["worse"], &metric["flips"][0]["sample_id"]), (&json!(1), &json!("s-1")));
    assert!(!head.to_string().contains(&root.path().display().to_string()));
    let columns: Value = serde_json::from_str(&blocks(&page, "columns")[1]).unwrap();
    assert_eq!((&columns["run"], columns["content"][0].as_str().unwrap().len()), (&json!(1), 8));
}

#[test]
fn a_run_that_has_not_ended_has_a_page() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "run").unwrap();
    Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
    let empty = page(root.path(), &[folder.path().to_owned()]);
    assert_eq!(blocks(&empty, "columns").len(), 0);
    let mut journal = JournalWriter::open(&folder).unwrap().writer;
    journal.append_batch([JournalEntry::FinishedWithoutScores(&sample("t", 0, 1.0, 1.0))]).unwrap();
    let one = page(root.path(), &[folder.path().to_owned()]);
    let head: Value = serde_json::from_str(&blocks(&one, "head")[0]).unwrap();
    assert_eq!((&head["runs"][0]["status"], &head["runs"][0]["summary"]), (&json!("running"), &Value::Null));
    assert_eq!(blocks(&one, "texts").len(), 1);
}

#[test]
fn answers_that_await_scores_are_shown_as_such() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "run").unwrap();
    Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
    let mut journal = JournalWriter::open(&folder).unwrap().writer;
    let records: Vec<SampleRecord> = (0..4).map(|index| sample("t", index, 1.0, 1.0)).collect();
    let answer = |record, awaits_judges| JournalEntry::Answer(answer_of(record, awaits_judges));
    let entries = [
        JournalEntry::FinishedWithoutScores(&records[0]),
        answer(&records[1], false),
        answer(&records[2], true),
        JournalEntry::FinishedWithoutScores(&records[3]),
    ];
    journal.append_batch(entries).unwrap();
    let page = page(root.path(), &[folder.path().to_owned()]);
    let columns: Value = serde_json::from_str(&blocks(&page, "columns")[0]).unwrap();
    assert_eq!(columns["outcomes"], json!(["scored", "not_scored_yet", "not_judged_yet"]));
    assert_eq!(
        (&columns["outcome"], &columns["scores"][0]),
        (&json!([0, 1, 2, 0]), &json!([1.0, null, null, 1.0]))
    );
    let texts = blocks(&page, "texts").concat();
    assert_eq!(texts.lines().filter(|line| line.contains("\"answer\":\"a\"")).count(), 4, "{texts}");
}

/// Creates the line of an answer that is not yet scored.
fn answer_of(record: &SampleRecord, awaits_judges: bool) -> AnswerEntry<'_> {
    AnswerEntry {
        task_id: &record.task_id,
        index: record.index,
        sample_id: &record.sample_id,
        row_digest: &record.row_digest,
        outcome: record.outcome,
        sample: RecordedForm((&record.sample).into()),
        support_output: None,
        model_output: record.model_output.as_ref().unwrap().into(),
        judge_output: None,
        timing: record.timing,
        awaits_scores: true,
        awaits_judges,
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let run = write_run(root.path(), "run", &[sample("t", 0, 1.0, 1.0)]);
    let source = [RecordedRun::open(&run).unwrap()];
    let error =
        write_html_file(&root.path().join("no/such/report.html"), &source, &[], &|_, _| None).unwrap_err();
    assert!(error.to_string().contains("report.html"), "{error}");
    // A folder has the path of the file.
    std::fs::create_dir(root.path().join("taken.html")).unwrap();
    assert!(write_html_file(&root.path().join("taken.html"), &source, &[], &|_, _| None).is_err());
    let mut full: &mut [u8] = &mut [0; 100];
    let error = write_html(&mut full, &source, &[], None, &|_, _| None, u64::MAX).unwrap_err();
    assert_eq!(error.recorded("history"), "cannot write the report");
    let left = std::fs::read_dir(root.path()).unwrap().flatten();
    assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().ends_with(".tmp")));
}

#[test]
fn what_was_edited_of_a_run_stands_at_its_head() {
    let root = tempfile::tempdir().unwrap();
    let runs = ["one", "two"].map(|id| write_run(root.path(), id, &[sample("t", 0, 1.0, 1.0)]));
    let edited = |runs: &[PathBuf]| {
        let head: Value = serde_json::from_str(&blocks(&page(root.path(), runs), "head")[0]).unwrap();
        head["runs"].as_array().unwrap().iter().map(|run| run["edited"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(edited(&runs), [Value::Null, Value::Null]);
    let manifest = runs[1].join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("0.1.0", "0.1.1")).unwrap();
    let wrong = "cannot be trusted: it was edited: the digest at its end does not match";
    assert_eq!(edited(&runs), [Value::Null, json!(format!("the manifest of the run two {wrong}"))]);
    assert_eq!(edited(&runs[1..]), [json!(format!("the manifest of this run {wrong}"))]);
}

#[test]
fn a_server_that_changed_its_model_is_named() {
    let root = tempfile::tempdir().unwrap();
    let records: Vec<SampleRecord> = (0..2)
        .map(|index| {
            let mut record = sample("t", index, 1.0, 1.0);
            let fingerprint = format!("fp_{index}");
            record.model_output =
                Some(json!({"answer": "x", "served_model": "m", "system_fingerprint": fingerprint}).into());
            record
        })
        .collect();
    let run = write_run(root.path(), "one", &records);
    let head: Value = serde_json::from_str(&blocks(&page(root.path(), &[run]), "head")[0]).unwrap();
    let notice = head["runs"][0]["notices"][0].as_str().unwrap();
    assert_eq!(
        notice,
        "The server of t changed its model during the run: m fp_0 (1 answer), m fp_1 (1 answer)"
    );
}

#[test]
fn warnings_of_a_run_are_notices() {
    for (warnings, expected) in [
        (&[][..], json!([])),
        (&["the limit keeps 1 of 57 subjects"][..], json!(["The limit keeps 1 of 57 subjects"])),
        (&["été", ""][..], json!(["Été", ""])),
    ] {
        let root = tempfile::tempdir().unwrap();
        let run = write_run_with_warnings(root.path(), "one", &[sample("t", 0, 1.0, 1.0)], warnings);
        let head: Value = serde_json::from_str(&blocks(&page(root.path(), &[run]), "head")[0]).unwrap();
        assert_eq!(head["runs"][0]["notices"], expected);
    }
}

#[test]
fn samples_that_were_cut_are_named() {
    let root = tempfile::tempdir().unwrap();
    let run = write_run(root.path(), "one", &[sample("t", 0, 1.0, 1.0), sample("t", 1, 1.0, 1.0)]);
    let notices = || {
        let head: Value =
            serde_json::from_str(&blocks(&page(root.path(), std::slice::from_ref(&run)), "head")[0]).unwrap();
        head["runs"][0]["notices"].clone()
    };
    assert_eq!(notices(), json!([]));
    let path = run.join("samples.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let first_line = text.lines().next().unwrap();
    let expected = "samples.jsonl of one is not the file that the run wrote; `gage-host verify one` says what was changed";
    for changed in [first_line.to_owned(), text.replace("s-1", "s-2")] {
        std::fs::write(&path, changed).unwrap();
        assert_eq!(notices(), json!([expected]));
    }
}

#[test]
fn a_page_of_many_samples_has_the_texts_of_failed_ones() {
    let root = tempfile::tempdir().unwrap();
    let samples = (0..9).map(|index| SampleRecord {
        outcome: if index % 3 == 1 { Outcome::EmptyOutput } else { Outcome::Scored },
        ..sample("t", index, 1.0, 1.0)
    });
    let run = write_run(root.path(), "run", &samples.collect::<Vec<_>>());
    let source = [RecordedRun::open(&run).unwrap()];
    let mut page = Vec::new();
    let written = write_html(&mut page, &source, &[], None, &|_, _| None, 2).unwrap();
    let page = String::from_utf8(page).unwrap();
    let columns: Value = serde_json::from_str(&blocks(&page, "columns")[0]).unwrap();
    // The samples 0 and 5, and two of the failed ones, which are 1, 4 and 7.
    assert_eq!((&columns["texts_every"], &columns["further_texts"]), (&json!(5), &json!([1, 4])));
    assert_eq!((written.texts, &columns["texts"]), (4, &json!([4])));
}

#[test]
fn a_page_of_many_samples_has_the_texts_of_some() {
    let root = tempfile::tempdir().unwrap();
    let samples: Vec<SampleRecord> = (0..7).map(|index| sample("t", index, 1.0, 1.0)).collect();
    let run = write_run(root.path(), "run", &samples);
    let source = [RecordedRun::open(&run).unwrap()];
    for (max_texts, every, places) in
        [(7, 1, vec![0, 1, 2, 3, 4, 5, 6]), (3, 3, vec![0, 3, 6]), (1, 7, vec![0])]
    {
        let mut page = Vec::new();
        let written = write_html(&mut page, &source, &[], None, &|_, _| None, max_texts).unwrap();
        assert_eq!((written.samples, written.texts), (7, places.len() as u64));
        let page = String::from_utf8(page).unwrap();
        let columns: Value = serde_json::from_str(&blocks(&page, "columns")[0]).unwrap();
        assert_eq!((&columns["texts_every"], &columns["texts"]), (&json!(every), &json!([places.len()])));
        assert_eq!(columns["index"].as_array().unwrap().len(), 7);
        let texts = blocks(&page, "texts").concat();
        let ids: Vec<String> = texts
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string())
            .collect();
        assert_eq!(ids, places.iter().map(|place| format!("\"s-{place}\"")).collect::<Vec<_>>());
    }
}
