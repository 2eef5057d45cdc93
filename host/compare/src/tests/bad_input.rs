//! Invalid runs and gates.

use super::super::{CompareError, CompareOptions, Verdict, compare, markdown, render_comparison};
use super::runs::{Run, compared, gate, scores, task};
use super::xml_of;
use gage_config::{GateSpec, SubScoreGate};
use gage_core::Outcome;
use gage_figures::RecordedRun;
use gage_figures::TaskCompleteness;
use gage_figures::test_records::failed;
use gage_record::{RunFolder, RunStatus};
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
    insta::assert_snapshot!(found.refusal.unwrap(), @"the runs are of different suites, with no task in common; the baseline has: t; the new run has: u");
}

#[test]
fn unpaired_samples_are_counted_by_cause() {
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
    // s-0 has different content; s-1 is only in the baseline; s-2 occurs twice.
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
fn only_rows_of_both_runs_must_be_equal() {
    // A longer file whose first rows are the same.
    let mut longer = Run::of(&scores(101, 0));
    let labels =
        |digit: &str, bytes: u64| json!({"digest": format!("sha256:{}", digit.repeat(64)), "bytes": bytes});
    longer.identity["datasets"]["rows"] =
        json!({"digest": "sha256:ff", "bytes": 11, "labels": labels("b", 202)});
    let mut base = Run::of(&scores(100, 0));
    base.identity["datasets"]["rows"]["labels"] = labels("a", 200);
    let found = compared(base, longer, gate(0.01));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    assert_eq!((found.tasks[0].paired, found.tasks[0].only_in_new), (100, 1));
    assert!(!matches!(found.verdict, Some(Verdict::Mismatch)), "{:?}", found.refusal);

    let mut edited = Run::of(&scores(100, 0));
    edited.identity["datasets"]["rows"]["digest"] = json!("sha256:ff");
    edited.records[7].row_digest = "ffff".to_owned();
    let found = compared(Run::of(&scores(100, 0)), edited, gate(0.01));
    assert_eq!(found.verdict, Some(Verdict::Mismatch));
    insta::assert_snapshot!(found.differences[0].what, @"task t: 1 sample with the same id but other content");

    // The digest of a row covers its label, which is in another file.
    let mut relabelled = Run::of(&scores(100, 0));
    relabelled.identity["datasets"]["rows"]["labels"] = labels("b", 200);
    relabelled.records[7].row_digest = "ffff".to_owned();
    let found = compared(Run::of(&scores(100, 0)), relabelled, gate(0.01));
    assert_eq!(found.verdict, Some(Verdict::Mismatch));
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
    let open = |path| RecordedRun::open(path).unwrap();
    let options = CompareOptions { gate: gate(0.01), ..CompareOptions::default() };
    let found = compare(&open(&base), &open(&new), &options).unwrap();
    assert_eq!((found.verdict, found.metrics[0].n), (Some(Verdict::Incomplete), 50));
    assert!(found.refusal.unwrap().contains("was killed"));
}

#[test]
fn of_two_killed_runs_the_first_is_to_be_finished() {
    let root = tempfile::tempdir().unwrap();
    let killed = |run_id: &str| {
        let folder = Run { status: RunStatus::Running, ..Run::of(&scores(50, 0)) }.write(root.path(), run_id);
        for file in ["summary.json", "samples.jsonl", "timings.json"] {
            fs::remove_file(folder.join(file)).unwrap();
        }
        RecordedRun::open(&folder).unwrap()
    };
    let options = CompareOptions { gate: gate(0.01), ..CompareOptions::default() };
    let found = compare(&killed("base"), &killed("new"), &options).unwrap();
    assert_eq!(found.verdict, Some(Verdict::Incomplete));
    insta::assert_snapshot!(found.refusal.unwrap(), @"the baseline 'base' was killed: finish it with `run --run-id base --resume` first");
}

#[test]
fn run_that_is_being_written_is_awaited_and_not_resumed() {
    let root = tempfile::tempdir().unwrap();
    let base = Run::of(&scores(50, 0)).write(root.path(), "base");
    let new = Run { status: RunStatus::Running, ..Run::of(&scores(50, 0)) }.write(root.path(), "new");
    let _writer = RunFolder::resume(root.path(), "new").unwrap();
    let open = |path| RecordedRun::open(path).unwrap();
    let options = CompareOptions { gate: gate(0.01), ..CompareOptions::default() };
    let found = compare(&open(&base), &open(&new), &options).unwrap();
    insta::assert_snapshot!(found.refusal.unwrap(), @"the new run 'new' is being written by another process: wait until it ends");
}

#[test]
fn scores_that_are_too_large_spoil_their_metric_alone() {
    for huge in [1e101, 1e153, -1e200, 1e300, f64::MAX] {
        let mut new = vec![0.5; 40];
        new[3] = huge;
        let found = compared(Run::of(&[0.5; 40]), Run::of(&new), gate(0.01));
        let metric = &found.metrics[0];
        assert_eq!((found.verdict, metric.too_large, metric.n), (Some(Verdict::Incomplete), 1, 39), "{huge}");
        assert!(found.refusal.is_none() && metric.new.unwrap().is_finite());
        insta::allow_duplicates! {
            insta::assert_snapshot!(metric.gate.as_ref().unwrap().reason, @"1 sample has scores too large to compare (beyond ±1e100); correct these scores, or leave this metric out of the gate");
        }
        let _ = compared(Run::of(&new), Run::of(&new), gate(0.01));
    }
    // The largest valid scores, and very small ones, are compared.
    for scale in [1e100, 1e-300] {
        let base: Vec<f64> = (0..40).map(|number| scale * f64::from(number % 7) / 7.0).collect();
        let new: Vec<f64> = base.iter().map(|score| -score).collect();
        for margin in [1e-9, 0.01] {
            let found = compared(Run::of(&base), Run::of(&new), gate(margin));
            let gate = found.metrics[0].gate.as_ref().unwrap();
            let p_values = [gate.margin_p_value, gate.worse_adjusted];
            assert!(p_values.iter().all(|p_value| (0.0..=1.0).contains(p_value)), "{scale} {p_values:?}");
            let wanted = if scale > 1.0 { Verdict::Regression } else { Verdict::Pass };
            assert_eq!(gate.verdict, wanted, "{scale} {margin}: {}", gate.reason);
        }
    }
}

#[test]
fn equal_differences_are_no_spread_for_all_their_rounding() {
    let base = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];
    let found = compared(Run::of(&base), Run::of(&base.map(|score| score - 0.1)), gate(0.01));
    let interval = found.metrics[0].interval.unwrap();
    assert!(interval.low < -0.2 && interval.high > 0.0, "{interval:?}");
    assert!(found.metrics[0].smallest_visible.unwrap() > 0.01);
}

#[test]
fn a_run_compared_with_itself_is_said_to_be() {
    let root = tempfile::tempdir().unwrap();
    let base = Run::of(&scores(40, 3)).write(root.path(), "base");
    let source = RecordedRun::open(&base).unwrap();
    let found = compare(&source, &source, &CompareOptions::default()).unwrap();
    assert!(found.same_run);
    for text in [render_comparison(&found, 80, false), markdown(&found)] {
        assert!(text.contains("both are the same run, so nothing can differ"), "{text}");
    }
    assert!(!compared(Run::of(&scores(40, 3)), Run::of(&scores(40, 3)), gate(0.5)).same_run);
}

#[test]
fn a_score_that_is_not_a_number_is_refused_with_its_line() {
    let root = tempfile::tempdir().unwrap();
    let (base, new) =
        (Run::of(&scores(3, 0)).write(root.path(), "base"), Run::of(&scores(3, 0)).write(root.path(), "new"));
    // A folder as a program that copies runs might leave it: without the journal, and edited.
    fs::remove_dir_all(new.join("journal")).unwrap();
    let samples = new.join("samples.jsonl");
    let text = fs::read_to_string(&samples).unwrap();
    for number in ["NaN", "1e999"] {
        fs::write(
            &samples,
            text.replacen("\"primary_score\":1.0", &format!("\"primary_score\":{number}"), 1),
        )
        .unwrap();
        let opened = RecordedRun::open(&new).unwrap();
        let error =
            compare(&RecordedRun::open(&base).unwrap(), &opened, &CompareOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("samples.jsonl") && error.contains("line 1"), "{number}: {error}");
    }
    // A null score is not a number either, and not an error.
    fs::write(&samples, text.replacen("\"primary_score\":1.0", "\"primary_score\":null", 1)).unwrap();
    let options = CompareOptions { gate: gate(0.5), ..CompareOptions::default() };
    let found =
        compare(&RecordedRun::open(&base).unwrap(), &RecordedRun::open(&new).unwrap(), &options).unwrap();
    assert_eq!((found.metrics[0].n, found.tasks[0].paired), (2, 3));
}

#[test]
fn why_samples_have_no_score_is_counted_by_reason() {
    let mut new = Run::of(&scores(12, 0));
    for (number, record) in new.records.iter_mut().enumerate() {
        let score = &mut record.metrics[0].card.as_mut().unwrap().primary_score;
        match number {
            0 | 1 => *score = None,
            2 => *score = Some(1e200),
            3 => record.metrics[0].outcome = Outcome::PluginTimeout,
            4 => *record = failed("t", 4, Outcome::Truncated),
            5 => record.metrics.clear(),
            _ => {}
        }
        record.row_digest = format!("{number:016x}");
    }
    let found = compared(
        Run::of(&scores(12, 0)),
        new,
        vec![GateSpec { min_coverage: 0.1, ..GateSpec::new("m", 0.5) }],
    );
    let metric = &found.metrics[0];
    let named: Vec<(&str, u64)> =
        metric.unscored_new.iter().map(|(why, count)| (why.name(), *count)).collect();
    assert_eq!(
        named,
        [("truncated", 1), ("plugin_timeout", 1), ("null_score", 2), ("no_result", 1), ("too_large", 1)]
    );
    assert_eq!((metric.n, metric.unscored_base.len()), (6, 0));
    assert_eq!(
        serde_json::to_value(metric).unwrap()["unscored_new"],
        json!({"truncated": 1, "plugin_timeout": 1, "null_score": 2, "no_result": 1, "too_large": 1})
    );
    // Missing scores are reported even if the gate does not fail because of them.
    let mut new = Run::of(&scores(100, 0));
    new.records[7].metrics[0].card.as_mut().unwrap().primary_score = None;
    let found = compared(Run::of(&scores(100, 0)), new, gate(0.5));
    assert_eq!(found.verdict, Some(Verdict::Pass));
    for text in [render_comparison(&found, 200, false), markdown(&found), xml_of(&found)] {
        assert!(text.contains("coverage 99 %; not scored in the new run: 1 with a null score"), "{text}");
    }
}

#[test]
fn coverage_of_two_stopped_runs_is_of_what_they_planned() {
    let stopped =
        |reach: TaskCompleteness| Run { status: RunStatus::Incomplete, reach, ..Run::of(&scores(50, 0)) };
    let found = compared(stopped(TaskCompleteness::Of(200)), stopped(TaskCompleteness::Of(200)), gate(0.2));
    assert_eq!(
        (found.tasks[0].total, found.tasks[0].not_reached, found.metrics[0].coverage),
        (200, 150, 0.25)
    );
    assert_eq!(found.verdict, Some(Verdict::Incomplete));
    let text = render_comparison(&found, 80, false);
    assert!(text.contains("50 of 200 samples are in both; 150 that neither run reached"), "{text}");
    // One of the runs finished, so its samples are all there are.
    let found = compared(Run::of(&scores(200, 0)), stopped(TaskCompleteness::Of(200)), gate(0.2));
    assert_eq!((found.tasks[0].total, found.tasks[0].not_reached), (200, 0));
    let found = compared(stopped(TaskCompleteness::Unknown), Run::of(&scores(50, 0)), gate(0.2));
    assert_eq!(found.verdict, Some(Verdict::Incomplete));
    insta::assert_snapshot!(found.refusal.unwrap(), @"the baseline 'base' ended early (cut off), and its number of samples is unknown: finish it with `run --run-id base --resume` first");
}

#[test]
fn runs_of_one_id_are_told_apart_by_their_folders() {
    let root = tempfile::tempdir().unwrap();
    let open = |folder: &str, wrong: usize| {
        let run = Run::of(&scores(40, wrong)).write(&root.path().join(folder), "nightly");
        let place = root.path().join(format!("runs-{folder}"));
        fs::rename(run, &place).unwrap();
        RecordedRun::open(&place).unwrap()
    };
    for folder in ["one", "two"] {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    let found = compare(&open("one", 0), &open("two", 2), &CompareOptions::default()).unwrap();
    assert_eq!((&*found.base.label, &*found.new.label), ("runs-one (nightly)", "runs-two (nightly)"));
    assert!(render_comparison(&found, 80, false).contains("base  runs-one (nightly)"));
    let apart = compared(Run::of(&scores(40, 0)), Run::of(&scores(40, 0)), Vec::new());
    assert_eq!((&*apart.base.label, &*apart.new.label), ("base", "new"));
}

#[test]
fn without_journals_the_samples_themselves_are_compared() {
    let root = tempfile::tempdir().unwrap();
    let run = |question: &str| {
        let mut run = Run::of(&scores(3, 0));
        for record in &mut run.records {
            record.sample =
                json!({"id": record.sample_id, "q": "same", "_dataset_metadata": {"path": question}}).into();
        }
        let mut sample = run.records[2].sample.clone().into_value();
        sample["q"] = json!(question);
        run.records[2].sample = sample.into();
        run
    };
    let (base, new) = (run("a").write(root.path(), "base"), run("b").write(root.path(), "new"));
    fs::remove_dir_all(base.join("journal")).unwrap();
    let open = |path| RecordedRun::open(path).unwrap();
    let found = compare(&open(&base), &open(&new), &CompareOptions::default()).unwrap();
    assert_eq!((found.tasks[0].paired, found.tasks[0].different_content), (2, 1));
}

#[test]
fn what_no_run_has_is_named_with_what_is_meant() {
    let root = tempfile::tempdir().unwrap();
    let base = Run::of(&scores(3, 0)).write(root.path(), "base");
    let source = RecordedRun::open(&base).unwrap();
    let error = |gate: GateSpec| {
        let options = CompareOptions { gate: vec![gate], ..CompareOptions::default() };
        let error = compare(&source, &source, &options).unwrap_err();
        assert!(matches!(error, CompareError::UnknownInGate { .. }));
        error.to_string()
    };
    insta::assert_snapshot!(error(GateSpec::new("mm", 0.1)), @"the gate names the metric 'mm', but neither run has comparable figures of it; did you mean 'm'?; expected one of: m");
    let of_task = GateSpec { task_id: Some("tt".to_owned()), ..GateSpec::new("m", 0.1) };
    insta::assert_snapshot!(error(of_task), @"the gate names the task 'tt', which neither run has; did you mean 't'?; expected one of: t");
    let sub = SubScoreGate { name: "f1".to_owned(), margin: 0.1, higher_is_better: None };
    let with_sub = GateSpec { sub_scores: vec![sub], ..GateSpec::new("m", 0.1) };
    insta::assert_snapshot!(error(with_sub), @"the metric 'm' has no sub-score 'f1'; expected one of: none");
}

#[test]
fn a_baseline_without_the_gated_metric_is_too_old() {
    let mut new = Run::of(&scores(40, 0));
    new.tasks[0].metrics.push(gage_figures::test_records::description("fresh"));
    new.identity["config"]["metrics"] = json!(["m", "fresh"]);
    let found = compared(Run::of(&scores(40, 0)), new, vec![GateSpec::new("fresh", 0.1)]);
    assert_eq!(found.verdict, Some(Verdict::Mismatch));
    assert!(found.refusal.unwrap().contains("make a new baseline"));
}
