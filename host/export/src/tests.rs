//! Validates exports against schemas generated from the formats' own packages by `tests/exports/make_schemas.py`.

mod lm_eval;

use super::{ExportError, ExportFormat, ExportOptions, ExportReport, Publisher, SentPrompt};
use gage_core::{Outcome, RecordedSample};
use gage_figures::RecordedRun;
use gage_figures::test_records::{failed, sample, scored, task};
use gage_figures::{
    Completeness, Phases, TaskCompleteness, TaskDescription, no_custom_aggregators, write_reports,
};
use gage_record::{JournalEntry, JournalWriter, Manifest, RunFolder, RunIdentity, RunStatus, SampleRecord};
use gage_recorded_messages::RecordedError as _;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use strum::VariantArray as _;

/// Hostile characters in model output.
const HOSTILE: &str = "é\u{1b}[31m\u{0}\"\\\n\r\t</script>\u{2028}\u{202e}🙂,;'=1+1";

/// Creates a run with two tasks: one with generated and one with chosen answers.
fn write_run(root: &Path, status: RunStatus, records: &[SampleRecord]) -> PathBuf {
    write_run_that_came_to(root, status, records, &Completeness::new())
}

fn write_run_that_came_to(
    root: &Path,
    status: RunStatus,
    records: &[SampleRecord],
    reaches: &Completeness,
) -> PathBuf {
    let folder = RunFolder::create(root, "run").unwrap();
    let config = json!({
        "api_version": "gage/v1alpha1", "kind": "PipelineConfig",
        "datasets": [{"dataset_id": "data", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
        "backends": [{"backend_id": "b", "type": "openai_http", "config": {"base_url": "http://127.0.0.1:1/v1", "model": "lab/small model"}}],
        "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "b"}],
        "metrics": ["m"],
        "tasks": [{"task_id": "written", "dataset_id": "data"}, {"task_id": "chosen", "dataset_id": "data"}],
        "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]},
    });
    let backends = json!({"b": {"type": "openai_http", "model": "lab/small model", "details": {}}});
    let mut manifest = Manifest::new(
        "run",
        "0.1.0",
        serde_json::from_value(json!({"config": config, "backends": backends})).unwrap(),
    );
    manifest.created_at = "2026-01-31T09:05:00Z".to_owned();
    manifest.write(&folder).unwrap();
    let mut journal = JournalWriter::open(&folder).unwrap().writer;
    journal.append_batch(records.iter().map(JournalEntry::FinishedWithoutScores)).unwrap();
    let sampling = json!({"max_new_tokens": 64, "temperature": 0, "stop": ["\n"], "min_p": 0.1});
    let sampling_params = sampling.as_object().unwrap().clone();
    let slices = vec!["metadata.topic".to_owned(), "id".to_owned()];
    let tasks = [TaskDescription { sampling_params, slices, ..task("written") }, task("chosen")];
    write_reports(&folder, &tasks, reaches, &Phases::default(), &no_custom_aggregators).unwrap();
    manifest.finish(status);
    manifest.finished_at = Some("2026-01-31T09:06:00Z".to_owned());
    manifest.write(&folder).unwrap();
    folder.path().to_owned()
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// Returns samples of every kind.
fn records() -> Vec<SampleRecord> {
    let asked = |id: &str, messages: Value| {
        json!({"schema_version": "v1", "id": id, "messages": messages, "label": HOSTILE, "references": [{"answer": text(HOSTILE)}],
               "metadata": {"topic": "a"}})
    };
    let with = |task_id: &str, index: u64, sample_value: Value, output: Value| SampleRecord {
        sample: sample_value.into(),
        model_output: Some(output.into()),
        ..sample(task_id, index, (index % 2) as f64, 12.5)
    };
    let user = json!({"role": "user", "content": text(HOSTILE)});
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": [1, 2]}"}});
    let pictured = json!([{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": "a.png"}},
                          {"type": "audio_url", "audio_url": {"url": "b.wav"}}, {"type": "file_url", "file_url": {"url": "c.pdf"}}]);
    let options = json!([{"id": "A", "content": "yes"}, {"id": "B", "content": HOSTILE}]);
    let mut chosen = asked("s-0", json!([user]));
    chosen["options"] = options;
    let mut unequal = with(
        "written",
        0,
        asked("s-0", json!([user])),
        json!({
            "answer": HOSTILE, "written": format!("so: {HOSTILE}"), "finish_reason": "length", "reasoning": "hm",
            "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "extraction": {"extractor": "last_line", "kind": "text"},
        }),
    );
    unequal.timing.finished_unix_ms = 1_769_850_305_000;
    unequal.metrics = vec![scored("m", 0.0)];
    let conversation = json!([{"role": "system", "content": text("be brief")}, user,
        {"role": "assistant", "content": text("a?")}, {"role": "user", "content": text("b")}]);
    let trajectory = json!([{"role": "assistant", "content": text(""), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text("3")}, {"role": "assistant", "content": text(HOSTILE)}]);
    vec![
        unequal,
        with("written", 1, asked("s-1", conversation), json!({"answer": HOSTILE, "finish_reason": "stop"})),
        with(
            "written",
            2,
            asked("s-2", json!([{"role": "user", "content": pictured}])),
            json!({"answer": null, "written": "?"}),
        ),
        with("written", 3, asked("s-3", json!([user])), json!({"answer": HOSTILE, "trajectory": trajectory})),
        SampleRecord {
            sample: RecordedSample::default(),
            row: Some(HOSTILE.to_owned()),
            ..failed("written", 4, Outcome::InvalidSample)
        },
        failed("written", 5, Outcome::BackendError),
        with(
            "chosen",
            0,
            chosen,
            json!({"answer": "B", "finish_reason": "scored", "continuations": [
            {"id": "A", "logprob": -1.5, "token_count": 1, "byte_count": 3, "is_greedy": false},
            {"id": "B", "logprob": -0.25, "token_count": 2, "byte_count": 5, "is_greedy": true}]}),
        ),
    ]
}

fn options(format: ExportFormat, path: &Path) -> ExportOptions {
    ExportOptions {
        format,
        path: path.to_owned(),
        replaces: false,
        takes_part: false,
        publisher: Publisher::default(),
    }
}

/// Exports a run whose prompts are unknown.
fn export(source: &RecordedRun, options: &ExportOptions) -> Result<ExportReport, ExportError> {
    super::export(source, options, &|_| None)
}

fn exported(format: ExportFormat) -> (tempfile::TempDir, ExportReport) {
    let root = tempfile::tempdir().unwrap();
    let run = write_run(root.path(), RunStatus::Complete, &records());
    let source = RecordedRun::open(&run).unwrap();
    let written = export(&source, &options(format, &root.path().join("out/deep"))).unwrap();
    assert_eq!(written.samples, 7);
    (root, written)
}

fn json_at(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn lines_at(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the paths of files below a folder.
fn names(written: &ExportReport, root: &tempfile::TempDir) -> Vec<String> {
    let place =
        |path: &PathBuf| path.strip_prefix(root.path().join("out/deep")).unwrap().display().to_string();
    written.files.iter().map(place).collect()
}

#[track_caller]
fn check(schema: &str, value: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{schema}.schema.json"));
    let validator = jsonschema::validator_for(&json_at(&path)).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{schema}\n{}\n{value:#}", errors.join("\n"));
}

#[test]
fn inspect_has_a_log_for_each_task() {
    let (_root, written) = exported(ExportFormat::Inspect);
    let logs: Vec<Value> = written.files.iter().map(|path| json_at(path)).collect();
    logs.iter().for_each(|log| check("inspect", log));
    let [log, chosen] = &logs[..] else { panic!("{written:?}") };
    assert_eq!(
        (&log["status"], &log["eval"]["task"], &log["version"]),
        (&json!("success"), &json!("written"), &json!(2))
    );
    let samples = log["samples"].as_array().unwrap();
    assert_eq!((samples.len(), chosen["samples"].as_array().unwrap().len()), (6, 1));
    assert_eq!((&samples[0]["input"], &samples[0]["target"]), (&json!(HOSTILE), &json!(HOSTILE)));
    assert_eq!(samples[0]["output"]["completion"], format!("so: {HOSTILE}"));
    assert_eq!(samples[0]["output"]["choices"][0]["stop_reason"], "max_tokens");
    assert_eq!(samples[0]["scores"]["m"]["answer"], HOSTILE);
    assert_eq!(samples[0]["completed_at"], "2026-01-31T09:05:05+00:00");
    assert_eq!(samples[1]["input"].as_array().unwrap().len(), 4);
    let kinds: Vec<&Value> =
        samples[2]["input"][0]["content"].as_array().unwrap().iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, ["text", "image", "audio", "data"]);
    assert_eq!(samples[3]["messages"][1]["tool_calls"][0]["arguments"], json!({"a": [1, 2]}));
    assert_eq!(samples[3]["messages"].as_array().unwrap().len(), 4);
    for (number, outcome) in [(4, "invalid_sample"), (5, "backend_error")] {
        assert_eq!(samples[number]["metadata"]["outcome"], outcome);
        assert_eq!(samples[number]["scores"], json!({}), "no failure is a score");
    }
    assert_eq!(samples[4]["metadata"]["row"], HOSTILE);
    let score = &log["results"]["scores"][0];
    assert_eq!((&score["scored_samples"], &score["unscored_samples"]), (&json!(4), &json!(2)));
    assert_eq!(score["metrics"]["mean"]["value"], 0.5);
    assert_eq!(chosen["samples"][0]["choices"], json!(["yes", HOSTILE]));
    // The header precedes the samples, for readers that stop there.
    let keys: Vec<&String> = log.as_object().unwrap().keys().collect();
    assert_eq!(keys.last().map(|key| key.as_str()), Some("samples"));
}

#[test]
fn every_eval_ever_has_figures_and_samples_that_know_each_other() {
    let (root, written) = exported(ExportFormat::EveryEvalEver);
    let names = names(&written, &root);
    assert_eq!(names.len(), 4);
    assert!(names.iter().take(2).all(|name| name.starts_with("data/written/lab/small model/")), "{names:?}");
    let samples = lines_at(&written.files[0]);
    let aggregate = json_at(&written.files[1]);
    check("every_eval_ever.eval", &aggregate);
    samples.iter().for_each(|line| check("every_eval_ever.instance_level_eval", line));
    let detail = &aggregate["detailed_evaluation_results"];
    assert_eq!((&detail["file_path"], &detail["total_rows"]), (&json!(names[0]), &json!(samples.len())));
    let result = &aggregate["evaluation_results"][0];
    assert_eq!(
        (&result["score_details"]["score"], &result["metric_config"]["score_type"]),
        (&json!(0.5), &json!("binary"))
    );
    assert!(samples.iter().all(|line| line["evaluation_id"] == aggregate["evaluation_id"]));
    // Two metrics of four samples; two samples were never scored.
    assert_eq!(samples.len(), 8);
    assert!(
        written.notes.iter().any(|note| note.contains("4 scores of samples that were not scored")),
        "{:?}",
        written.notes
    );
    assert_eq!(samples[0]["output"]["raw"], json!([format!("so: {HOSTILE}")]));
    assert_eq!(samples[0]["answer_attribution"][0]["extracted_value"], HOSTILE);
    let kinds: Vec<&Value> = samples.iter().step_by(2).map(|line| &line["interaction_type"]).collect();
    assert_eq!(kinds, ["single_turn", "multi_turn", "single_turn", "agentic"]);
    check("every_eval_ever.eval", &json_at(&written.files[3]));
}

#[test]
fn parquet_holds_every_sample_whole() {
    let (_root, written) = exported(ExportFormat::Parquet);
    let reader = SerializedFileReader::new(fs::File::open(&written.files[0]).unwrap()).unwrap();
    let rows: Vec<Vec<(String, Field)>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            row.unwrap().get_column_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
        })
        .collect();
    let get = |row: usize, name: &str| &rows[row].iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!(rows.len(), 7);
    assert_eq!(get(0, "prompt"), &Field::Str(HOSTILE.to_owned()));
    assert_eq!(get(0, "written"), &Field::Str(format!("so: {HOSTILE}")));
    assert_eq!((get(0, "prompt_tokens"), get(1, "prompt_tokens")), (&Field::Long(3), &Field::Null));
    assert_eq!((get(1, "score.m"), get(5, "score.m")), (&Field::Double(1.0), &Field::Null));
    assert_eq!(
        (get(5, "outcome"), get(6, "task_id")),
        (&Field::Str("backend_error".into()), &Field::Str("chosen".into()))
    );
    assert_eq!(get(4, "row"), &Field::Str(HOSTILE.to_owned()));
    assert_eq!(get(0, "finished_at"), &Field::TimestampMillis(1_769_850_305_000));
    for (number, record) in records().iter().enumerate() {
        let expected = match &*record.sample {
            Value::Null => Field::Null,
            sample => Field::Str(sample.to_string()),
        };
        assert_eq!(get(number, "sample"), &expected);
    }
}

#[test]
fn csv_has_a_row_for_each_figure() {
    let (_root, written) = exported(ExportFormat::Csv);
    let text = fs::read_to_string(&written.files[0]).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let headings = lines.next().unwrap();
    let part = headings.iter().position(|known| known == "part").unwrap();
    let (rows, slices): (Vec<Vec<String>>, Vec<Vec<String>>) = lines.partition(|row| row[part] == "metric");
    let get =
        |row: usize, name: &str| rows[row][headings.iter().position(|known| known == name).unwrap()].as_str();
    assert_eq!(rows.len(), 4, "two metrics of two tasks");
    let (means, slices): (Vec<_>, Vec<_>) = slices.into_iter().partition(|row| row[part] == "slice_mean");
    assert!(slices.len() >= 2 && slices.iter().all(|row| row[part] == "slice"), "{slices:?}");
    assert!(means.iter().all(|row| slices.iter().any(|slice| slice[part + 1] == row[part + 1])), "{means:?}");
    assert!(!means.is_empty());
    assert_eq!((get(0, "task_id"), get(0, "metric_id"), get(0, "part")), ("written", "m", "metric"));
    assert_eq!((get(0, "value"), get(0, "n"), get(0, "total")), ("0.5", "4", "6"));
    assert_eq!(get(0, "coverage").parse::<f64>().unwrap(), 4.0 / 6.0);
    assert_eq!((get(1, "metric_id"), get(2, "stderr")), ("latency", ""));
}

#[test]
fn a_total_that_nobody_knows_is_not_claimed() {
    for (reach, [of_metric, of_slice, of_other], original) in [
        (TaskCompleteness::Whole, ["false", "false", "false"], 6),
        // The slices of the remaining samples are unknown.
        (TaskCompleteness::Of(60), ["false", "true", "false"], 60),
        (TaskCompleteness::Unknown, ["true", "true", "false"], 6),
    ] {
        let root = tempfile::tempdir().unwrap();
        let reaches = Completeness::from([("written".to_owned(), reach)]);
        let run = write_run_that_came_to(root.path(), RunStatus::Incomplete, &records(), &reaches);
        let source = RecordedRun::open(&run).unwrap();
        let csv = export(&source, &options(ExportFormat::Csv, &root.path().join("csv"))).unwrap();
        let text = fs::read_to_string(&csv.files[0]).unwrap();
        let cell = |task_id: &str, part: &str| {
            let start = format!("{task_id},m,{part},");
            let line = text.lines().find(|line| line.contains(&start)).unwrap();
            line.rsplit(',').next().unwrap()
        };
        let found = [("written", "metric"), ("written", "slice"), ("chosen", "metric")];
        assert_eq!(found.map(|(task_id, part)| cell(task_id, part)), [of_metric, of_slice, of_other]);

        let lm_eval = export(&source, &options(ExportFormat::LmEval, &root.path().join("lm"))).unwrap();
        let is_told =
            lm_eval.notes.iter().any(|note| note.contains("the number of remaining samples is unknown"));
        assert_eq!(is_told, reach == TaskCompleteness::Unknown, "{:?}", lm_eval.notes);
        let results = lm_eval.files.iter().find(|path| path.to_string_lossy().contains("results_")).unwrap();
        let results = json_at(results);
        assert_eq!(results["n-samples"]["written"], json!({"original": original, "effective": 6}));
        assert_eq!(
            results["gage_host"]["tasks"]["written"]["total_is_least"] == true,
            reach == TaskCompleteness::Unknown
        );
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for &format in ExportFormat::VARIANTS {
        let bytes = || {
            let (root, written) = exported(format);
            let files = written.files.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
            (names(&written, &root), files)
        };
        assert!(bytes() == bytes(), "{}", format.name());
    }
}

#[test]
fn what_is_there_stays_and_a_part_is_only_given_when_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let run = write_run(root.path(), RunStatus::Interrupted, &records());
    let source = RecordedRun::open(&run).unwrap();
    for &format in ExportFormat::VARIANTS {
        let path = root.path().join(format!("out/{}", format.name()));
        let mut options = options(format, &path);
        let error = export(&source, &options).unwrap_err();
        assert!(matches!(&error, ExportError::NotEnded { status: "interrupted", .. }), "{error}");
        assert!(!root.path().join("out").exists());
        options.takes_part = true;
        let written = export(&source, &options).unwrap();
        let before: Vec<Vec<u8>> = written.files.iter().map(|file| fs::read(file).unwrap()).collect();
        fs::write(&written.files[0], "mine").unwrap();
        assert!(
            matches!(export(&source, &options), Err(ExportError::Exists { path }) if path == written.files[0])
        );
        assert_eq!(fs::read_to_string(&written.files[0]).unwrap(), "mine");
        options.replaces = true;
        export(&source, &options).unwrap();
        let after: Vec<Vec<u8>> = written.files.iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(before == after, "{}", format.name());
        // A file cannot contain another file.
        fs::write(root.path().join("blocked"), "").unwrap();
        options.path = root.path().join("blocked/here/x");
        assert!(matches!(export(&source, &options), Err(ExportError::Write { .. })));
        fs::remove_dir_all(root.path().join("out")).unwrap();
    }
    let empty = tempfile::tempdir().unwrap();
    let run = write_run(empty.path(), RunStatus::Complete, &[]);
    let error =
        export(&RecordedRun::open(&run).unwrap(), &options(ExportFormat::Csv, &empty.path().join("x")))
            .unwrap_err();
    assert!(error.recorded("exporting").ends_with("has no samples: there is nothing to export"));
    fs::remove_file(run.join("summary.json")).unwrap();
    let error =
        export(&RecordedRun::open(&run).unwrap(), &options(ExportFormat::Csv, &empty.path().join("x")))
            .unwrap_err();
    assert!(matches!(error, ExportError::NoFigures { .. }), "{error}");
    assert!(!empty.path().join("x").exists());
}

#[test]
fn run_that_is_being_written_is_not_called_killed() {
    let root = tempfile::tempdir().unwrap();
    let writer = RunFolder::create(root.path(), "run").unwrap();
    Manifest::new("run", "0.1.0", RunIdentity::default()).write(&writer).unwrap();
    let path = writer.path().to_owned();
    let refused = |takes_part: bool| {
        let options =
            ExportOptions { takes_part, ..options(ExportFormat::Csv, &root.path().join("figures.csv")) };
        export(&RecordedRun::open(&path).unwrap(), &options).unwrap_err()
    };
    for takes_part in [false, true] {
        let error = refused(takes_part);
        assert!(matches!(error, ExportError::BeingWritten { .. }), "{error}");
        assert!(error.recorded("exporting").contains("is being written by another process"));
    }
    drop(writer);
    for takes_part in [false, true] {
        let error = refused(takes_part).recorded("exporting");
        assert!(error.contains("has no figures: it was killed"), "{error}");
    }
}
