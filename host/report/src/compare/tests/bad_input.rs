//! Runs and gates with which something is wrong.

use super::super::{CompareError, CompareOptions, ComparedSource, Verdict, compare};
use super::runs::{Run, compared, gate, scores, task};
use gage_config::{GateSpec, SubScoreGate};
use gage_record::RunStatus;
use serde_json::json;
use std::fs;

#[test]
fn runs_of_different_suites_share_nothing() {
    let mut other = Run::of(&scores(5, 0));
    other.records.iter_mut().for_each(|record| record.task_id = "u".to_owned());
    other.tasks = vec![task("u")];
    other.identity["config"]["tasks"][0]["task_id"] = json!("u");
    let found = compared(Run::of(&scores(5, 0)), other, gate(0.01));
    assert_eq!(found.verdict, Some(Verdict::Mismatch));
    insta::assert_snapshot!(found.refusal.unwrap(), @"the runs are of different suites: no task is in both; the baseline has: t; the new run has: u");
}

#[test]
fn disjoint_samples_and_other_content_and_ids_that_occur_twice_are_counted() {
    let mut disjoint = Run::of(&scores(5, 0));
    disjoint.records.iter_mut().for_each(|record| record.sample_id = format!("other-{}", record.index));
    let found = compared(Run::of(&scores(5, 0)), disjoint, gate(0.01));
    assert_eq!(found.verdict, Some(Verdict::Incomplete));
    insta::assert_snapshot!(found.refusal.unwrap(), @"no sample is in both runs: 5 only in the baseline, 5 only in the new run");

    let mut changed = Run::of(&scores(5, 0));
    changed.records[0].row_digest = "ffff".to_owned();
    changed.records[1].sample_id = "s-2".to_owned();
    let found = compared(Run::of(&scores(5, 0)), changed, gate(0.01));
    let counts = &found.tasks[0];
    // s-0 has other content; s-1 is only in the baseline; s-2 is there twice.
    assert_eq!(
        (counts.total, counts.paired, counts.different_content, counts.only_in_base, counts.duplicate_ids),
        (5, 2, 1, 1, 1)
    );
    assert_eq!((found.verdict, found.metrics[0].n), (Some(Verdict::Incomplete), 2));

    let mut twice = Run::of(&scores(5, 0));
    twice.records[4].sample_id = "s-3".to_owned();
    let found = compared(twice, Run::of(&scores(5, 0)), gate(0.01));
    assert_eq!((found.tasks[0].duplicate_ids, found.tasks[0].only_in_new, found.metrics[0].n), (1, 1, 3));
}

#[test]
fn what_is_empty_or_interrupted_is_said() {
    let found = compared(Run::of(&[]), Run::of(&[]), gate(0.01));
    assert_eq!(
        (found.verdict, found.refusal.as_deref()),
        (Some(Verdict::Incomplete), Some("neither run has a sample"))
    );

    let half = || Run { status: RunStatus::Interrupted, ..Run::of(&scores(50, 0)) };
    let found = compared(Run::of(&scores(100, 0)), half(), gate(0.01));
    assert_eq!(found.verdict, Some(Verdict::Incomplete));
    insta::assert_snapshot!(found.refusal.unwrap(), @"the new run 'new' is interrupted: finish it with `run --run-id new --resume` first");

    // Killed: nothing but a manifest and a journal.
    let root = tempfile::tempdir().unwrap();
    let base = Run::of(&scores(100, 0)).write(root.path(), "base");
    let new = Run { status: RunStatus::Running, ..Run::of(&scores(50, 0)) }.write(root.path(), "new");
    for file in ["summary.json", "samples.jsonl", "timings.json"] {
        fs::remove_file(new.join(file)).unwrap();
    }
    let open = |path| ComparedSource::open(path).unwrap();
    let options = CompareOptions { gate: gate(0.01), ..CompareOptions::default() };
    let found = compare(&open(&base), &open(&new), &options).unwrap();
    assert_eq!((found.verdict, found.metrics[0].n), (Some(Verdict::Incomplete), 50));
    assert!(found.refusal.unwrap().contains("was killed"));
}

#[test]
fn a_score_that_is_not_a_number_is_refused_with_its_line() {
    let root = tempfile::tempdir().unwrap();
    let (base, new) =
        (Run::of(&scores(3, 0)).write(root.path(), "base"), Run::of(&scores(3, 0)).write(root.path(), "new"));
    // As a program that copies runs might leave it: without the journal, and edited.
    fs::remove_dir_all(new.join("journal")).unwrap();
    let samples = new.join("samples.jsonl");
    let text = fs::read_to_string(&samples).unwrap();
    for number in ["NaN", "1e999"] {
        fs::write(
            &samples,
            text.replacen("\"primary_score\":1.0", &format!("\"primary_score\":{number}"), 1),
        )
        .unwrap();
        let opened = ComparedSource::open(&new).unwrap();
        let error =
            compare(&ComparedSource::open(&base).unwrap(), &opened, &CompareOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("samples.jsonl") && error.contains("line 1"), "{number}: {error}");
    }
    // Nothing to score is no number either, and no error.
    fs::write(&samples, text.replacen("\"primary_score\":1.0", "\"primary_score\":null", 1)).unwrap();
    let options = CompareOptions { gate: gate(0.5), ..CompareOptions::default() };
    let found =
        compare(&ComparedSource::open(&base).unwrap(), &ComparedSource::open(&new).unwrap(), &options)
            .unwrap();
    assert_eq!((found.metrics[0].n, found.tasks[0].paired), (2, 3));
}

#[test]
fn without_journals_the_samples_themselves_are_compared() {
    let root = tempfile::tempdir().unwrap();
    let run = |question: &str| {
        let mut run = Run::of(&scores(3, 0));
        for record in &mut run.records {
            record.sample =
                json!({"id": record.sample_id, "q": "same", "_dataset_metadata": {"path": question}});
        }
        run.records[2].sample["q"] = json!(question);
        run
    };
    let (base, new) = (run("a").write(root.path(), "base"), run("b").write(root.path(), "new"));
    fs::remove_dir_all(base.join("journal")).unwrap();
    let open = |path| ComparedSource::open(path).unwrap();
    let found = compare(&open(&base), &open(&new), &CompareOptions::default()).unwrap();
    assert_eq!((found.tasks[0].paired, found.tasks[0].different_content), (2, 1));
}

#[test]
fn what_no_run_has_is_named_with_what_is_meant() {
    let root = tempfile::tempdir().unwrap();
    let base = Run::of(&scores(3, 0)).write(root.path(), "base");
    let source = ComparedSource::open(&base).unwrap();
    let error = |gate: GateSpec| {
        let options = CompareOptions { gate: vec![gate], ..CompareOptions::default() };
        let error = compare(&source, &source, &options).unwrap_err();
        assert!(matches!(error, CompareError::UnknownInGate { .. }));
        error.to_string()
    };
    insta::assert_snapshot!(error(GateSpec::new("mm", 0.1)), @"the gate names the metric 'mm', of which neither run has figures that can be compared; did you mean 'm'?; known are: m");
    let of_task = GateSpec { task_id: Some("tt".to_owned()), ..GateSpec::new("m", 0.1) };
    insta::assert_snapshot!(error(of_task), @"the gate names the task 'tt', which neither run has; did you mean 't'?; known are: t");
    let sub = SubScoreGate { name: "f1".to_owned(), margin: 0.1, higher_is_better: None };
    let with_sub = GateSpec { sub_scores: vec![sub], ..GateSpec::new("m", 0.1) };
    insta::assert_snapshot!(error(with_sub), @"the metric 'm' has no sub-score 'f1'; known are: none");
}

#[test]
fn a_baseline_without_the_gated_metric_is_too_old() {
    let mut new = Run::of(&scores(40, 0));
    new.tasks[0].metrics.push(crate::test_records::description("fresh"));
    new.identity["config"]["metrics"] = json!(["m", "fresh"]);
    let found = compared(Run::of(&scores(40, 0)), new, vec![GateSpec::new("fresh", 0.1)]);
    assert_eq!(found.verdict, Some(Verdict::Mismatch));
    assert!(found.refusal.unwrap().contains("make a new baseline"));
}
