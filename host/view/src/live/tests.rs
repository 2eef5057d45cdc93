use super::*;
use gage_core::{MetricResult, Outcome, RecordedForm, ScoreCard};
use gage_record::{
    AnswerEntry, JournalEntry, JournalWriter, RunFolder, RunIdentity, RunStatus, SampleRecord, SampleTiming,
    Scores, ScoresEntry,
};

fn record(index: u64, score: Option<f64>, finished_unix_ms: u64) -> SampleRecord {
    let metric = |score| MetricResult {
        metric_id: "m".into(),
        schema_version: "v1".into(),
        scorer_version: "1".into(),
        prompt_version: "".into(),
        outcome: Outcome::Scored,
        card: Some(ScoreCard { primary_score: Some(score), ..ScoreCard::default() }),
        error: None,
    };
    SampleRecord {
        task_id: "t".to_owned(),
        index,
        sample_id: format!("s{index}"),
        row_digest: String::new(),
        outcome: if score.is_some() { Outcome::Scored } else { Outcome::BackendError },
        error: None,
        sample: json!({}).into(),
        row: None,
        support_output: None,
        model_output: None,
        judge_output: None,
        metrics: score.map(metric).into_iter().collect(),
        timing: SampleTiming {
            latency_ms: if index == 1 { 90_000.0 } else { 12.0 },
            attempts: 1,
            finished_unix_ms,
            ..SampleTiming::default()
        },
        timing_metrics: Vec::new(),
    }
}

/// Returns the identity of a run with one task.
fn identity() -> RunIdentity {
    RunIdentity { config: json!({"tasks": [{"task_id": "t"}]}), ..RunIdentity::default() }
}

fn look(followers: &Followers, folder: &Path) -> Value {
    // Simulates that some time has passed.
    if let Some(one) = followers.0.lock().get(folder) {
        one.follower.lock().last = None;
    }
    serde_json::from_str(&followers.snapshot_of(folder).unwrap()).unwrap()
}

#[test]
fn a_run_is_followed_until_it_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "run").unwrap();
    let mut manifest = Manifest::new("run", "0.1.0", identity());
    manifest.write(&folder).unwrap();
    let mut journal = JournalWriter::open(&folder).unwrap().writer;
    let mut append = |records: &[SampleRecord]| {
        journal.append_batch(records.iter().map(JournalEntry::FinishedWithoutScores)).unwrap();
    };
    let now = unix_milliseconds();
    let began = json!({"kind": "run_started", "level": "info", "unix_ms": now - 10_000});
    let planned =
        json!({"kind": "samples_planned", "level": "info", "task_id": "t", "payload": {"total": 10}});
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{began}\n{planned}\n")).unwrap();

    let followers = Followers::default();
    let none = look(&followers, folder.path());
    assert_eq!((&none["is_live"], &none["done"], &none["total"]), (&json!(true), &json!(0), &json!(10)));
    append(&[
        record(0, Some(1.0), now - 5_000),
        record(1, Some(0.0), now - 5_000),
        record(2, None, now - 4_000),
    ]);
    let three = look(&followers, folder.path());
    let task = &three["tasks"][0];
    assert_eq!((&task["done"], &task["outcomes"]), (&json!(3), &json!({"scored": 2, "backend_error": 1})));
    let figure = &task["metrics"][0];
    assert_eq!((&figure["value"], &figure["n"]), (&json!(0.5), &json!(2)));
    assert!(figure["interval"]["low"].as_f64().unwrap() > 0.0 && figure["coverage"].as_f64().unwrap() < 0.7);
    assert_eq!(three["latency"]["p50_ms"], 12.0);
    let slow = three["latency"]["p95_ms"].as_f64().unwrap();
    assert!((slow / 90_000.0 - 1.0).abs() < 0.001, "{slow}: slow calls are not cut off");
    let rate = three["samples_per_s"].as_f64().unwrap();
    assert!(rate > 0.2 && rate < 0.35, "{rate}");
    assert!(three["eta_s"].as_f64().unwrap() > 15.0, "{three:#}");

    // A figure that is not a mean of scores is left to the report.
    let pooled = json!({"kind": "samples_planned", "level": "info", "task_id": "t", "payload": {"total": 10, "means": []}});
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{began}\n{planned}\n{pooled}\n")).unwrap();
    assert_eq!(look(&followers, folder.path())["tasks"][0]["metrics"], json!([]));
    let mean = json!({"kind": "samples_planned", "level": "info", "task_id": "t", "payload": {"total": 10, "means": ["m"]}});
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{began}\n{planned}\n{pooled}\n{mean}\n"))
        .unwrap();
    assert_eq!(look(&followers, folder.path())["tasks"][0]["metrics"][0]["n"], 2);

    // A task with scores needs none for display.
    let preview = json!({"kind": "figures_so_far", "level": "info", "task_id": "t",
        "payload": {"figures": [{"metric_id": "m", "mean": 0.25, "n": 4}]}});
    std::fs::write(
        folder.path().join(EVENTS_FILE),
        format!("{began}\n{planned}\n{pooled}\n{mean}\n{preview}\n"),
    )
    .unwrap();
    assert_eq!(look(&followers, folder.path())["tasks"][0]["metrics"][0]["n"], 2);

    // A repeated sample counts once.
    append(&[record(2, Some(1.0), now - 3_000)]);
    let again = look(&followers, folder.path());
    assert_eq!((&again["done"], &again["tasks"][0]["outcomes"]), (&json!(3), &json!({"scored": 3})));
    manifest.finish(RunStatus::Complete);
    manifest.write(&folder).unwrap();
    assert_eq!(look(&followers, folder.path())["is_live"], false);
    assert!(followers.0.lock().is_empty(), "nobody follows a run that has ended");
}

#[test]
fn the_pace_is_that_of_answers_rather_than_of_their_scores() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "run").unwrap();
    let manifest = Manifest::new("run", "0.1.0", identity());
    manifest.write(&folder).unwrap();
    let mut journal = JournalWriter::open(&folder).unwrap().writer;
    let now = unix_milliseconds();
    let planned =
        json!({"kind": "samples_planned", "level": "info", "task_id": "t", "payload": {"total": 3}});
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{planned}\n")).unwrap();
    let whole = record(0, Some(1.0), now - 5_000);
    let nothing = json!(null);
    let answer = AnswerEntry {
        task_id: "t",
        index: 0,
        sample_id: "s0",
        row_digest: "",
        outcome: Outcome::Scored,
        sample: RecordedForm((&whole.sample).into()),
        support_output: None,
        model_output: (&nothing).into(),
        judge_output: None,
        timing: whole.timing,
        awaits_scores: true,
        awaits_judges: false,
    };
    journal.append_batch([JournalEntry::Answer(answer)]).unwrap();
    let followers = Followers::default();
    let pace = |told: &Value| {
        let bins = told["pace"]["samples_per_s"].as_array().unwrap().iter();
        bins.map(|bin| bin.as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let answered = look(&followers, folder.path());
    assert_eq!((&answered["done"], &answered["tasks"][0]["awaiting"]), (&json!(0), &json!(1)));
    assert_eq!(pace(&answered).first(), Some(&1.0), "{answered:#}");
    // Two remain to be answered, whether or not the first has its scores.
    let left = |told: &Value| told["eta_s"].as_f64().unwrap() * told["samples_per_s"].as_f64().unwrap();
    assert!((left(&answered) - 2.0).abs() < 1e-9, "{answered:#}");
    let scores = ScoresEntry {
        task_id: "t".into(),
        index: 0,
        sample_id: "s0".into(),
        row_digest: "".into(),
        outcome: Outcome::Scored,
        scores: Scores { metrics: whole.metrics.clone(), finished_unix_ms: now - 1_000, ..Scores::default() },
    };
    journal.append_batch([JournalEntry::Scores(&scores)]).unwrap();
    let scored = look(&followers, folder.path());
    assert_eq!(scored["done"], 1);
    assert!((left(&scored) - 2.0).abs() < 1e-9, "{scored:#}");
    let pace = pace(&scored);
    assert_eq!((pace.first(), pace.iter().sum::<f64>()), (Some(&1.0), 1.0), "{scored:#}");
}

#[test]
fn what_is_not_there_is_said_without_its_place() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("gone");
    let error = Followers::default().snapshot_of(&folder).unwrap_err();
    let refusal = refusal(&error, &folder);
    assert_eq!((refusal.reason(), refusal.status().as_u16()), ("the run no longer exists", 404));
}

#[test]
fn scores_for_display_are_shown_until_there_are_others() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(root.path(), "run").unwrap();
    Manifest::new("run", "0.1.0", identity()).write(&folder).unwrap();
    let _journal = JournalWriter::open(&folder).unwrap().writer;
    let preview = json!({"kind": "figures_so_far", "level": "info", "task_id": "t",
        "payload": {"figures": [{"metric_id": "m", "mean": 0.25, "n": 4}]}});
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{preview}\n")).unwrap();
    let shown = look(&Followers::default(), folder.path());
    let expected = json!([{"metric_id": "m", "value": 0.25, "interval": null, "n": 4, "is_preview": true}]);
    assert_eq!(shown["tasks"][0]["metrics"], expected);
    assert_eq!((&shown["done"], &shown["events"]), (&json!(0), &json!([])));
}
