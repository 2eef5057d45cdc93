//! Warnings next to a verdict: lost clusters, margins as wide as all scores, tasks and metrics that only one of the runs
//! has, and gates with nothing to judge.

use super::super::{CompareOptions, Comparison, compare, github_annotations, markdown, render_comparison};
use super::runs::{Run, compared, compared_with, gate, scores, task};
use super::xml_of;
use crate::comparisons_with_first;
use gage_config::{GateSpec, SubScoreGate};
use gage_figures::Aggregation;
use gage_figures::RecordedRun;
use gage_figures::test_records::description;
use gage_record::RunStatus;
use gage_recorded_messages::RecordedError as _;
use serde_json::{Value, json};

/// A run whose samples are in groups of ten by `metadata.text`, clustered by a path.
fn clustered(by: Option<&str>) -> Run {
    let mut run = Run::of(&scores(200, 4));
    for record in &mut run.records {
        record.sample = json!({"metadata": {"text": record.index / 10, "other": record.index / 20}}).into();
    }
    run.tasks[0].cluster_by = by.map(str::to_owned);
    run.tasks[0].metrics[0].scales = vec![("score".to_owned(), [0.0, 1.0])];
    if let Some(by) = by {
        run.identity["config"]["tasks"][0]["cluster_by"] = json!(by);
    }
    run
}

fn whats(comparison: &Comparison) -> Vec<&str> {
    comparison.warnings.iter().map(|warning| warning.what.as_str()).collect()
}

#[test]
fn clusters_that_are_no_longer_counted_are_told() {
    let alone =
        "tests and intervals treat samples as independent of each other, so chance may look like a change";
    let [text, other, typo] = ["metadata.text", "metadata.other", "metadata.txt"];
    for (base, new, expected, clusters) in [
        (
            Some(text),
            None,
            format!(
                "t: the suite of the baseline has `cluster_by: {text}`, that of the new run has none: {alone}"
            ),
            None,
        ),
        (
            Some(text),
            Some(typo),
            format!(
                "t: no sample of the new run has a value at `{typo}` (cluster_by): {alone}; did you mean `{text}`?"
            ),
            Some(200),
        ),
        (
            Some(text),
            Some(other),
            format!(
                "t: samples are clustered by `{other}` (cluster_by), but by `{text}` in the suite of the baseline"
            ),
            Some(10),
        ),
        (None, Some(text), String::new(), Some(20)),
        (Some(text), Some(text), String::new(), Some(20)),
        (None, None, String::new(), None),
    ] {
        let found = compared(clustered(base), clustered(new), gate(0.1));
        assert_eq!(found.metrics[0].clusters, clusters, "{base:?} {new:?}");
        assert_eq!(whats(&found).join("|"), expected, "{base:?} {new:?}");
    }
}

#[test]
fn a_warning_stands_wherever_the_answer_stands() {
    let found = compared(clustered(Some("metadata.text")), clustered(None), gate(0.1));
    let what = whats(&found)[0];
    let unbroken = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unbroken(render_comparison(&found, 80, false)).contains(&format!("warning: {what}")));
    assert!(markdown(&found).contains("- **warning**: t: the suite of the baseline has &#96;cluster&#95;by"));
    assert!(github_annotations(&found).starts_with("::warning title=gage-host compare::t: the suite of"));
    assert!(xml_of(&found).contains("warning: t: the suite of the baseline has"));
    assert_eq!(serde_json::to_value(&found).unwrap()["warnings"][0]["what"], what);
}

#[test]
fn a_margin_above_all_scores_warns_without_a_scale() {
    let run = |scale: Option<[f64; 2]>, values: [f64; 2]| {
        let mut run = Run::of(&scores(40, 0));
        run.tasks[0].metrics[0].scales = scale.map(|scale| ("mae".to_owned(), scale)).into_iter().collect();
        for record in &mut run.records {
            let value = values[usize::try_from(record.index % 2).unwrap()];
            record.metrics[0].card.as_mut().unwrap().sub_scores =
                json!({"mae": value}).as_object().unwrap().clone();
        }
        run
    };
    for (scale, values, margin, is_told) in [
        (None, [0.25, 1.0], 1.0, true),
        (None, [0.25, 1.0], 0.9, false),
        (None, [-3.0, 2.0], 4.9, false),
        (None, [-3.0, 2.0], 5.0, true),
        // A loss of the whole range.
        (None, [1.0, 1.0], 1.0, true),
        (None, [0.0, 0.0], 1.0, false),
        (Some([0.0, 10.0]), [0.25, 1.0], 1.0, false),
    ] {
        let sub = SubScoreGate { name: "mae".to_owned(), margin, higher_is_better: None };
        let asked = vec![GateSpec { sub_scores: vec![sub], ..GateSpec::new("m", 0.1) }];
        let found = compared(run(scale, values), run(scale, values), asked);
        let is_wide = whats(&found).iter().any(|what| what.contains("is as wide as the scores"));
        assert_eq!(is_wide, is_told, "{values:?} {margin}: {:?}", whats(&found));
        // Without a declared scale, even a narrow margin relies on the observed scores.
        let is_unscaled =
            whats(&found).iter().any(|what| what.starts_with("m · mae of t declares no scale: "));
        let is_graded = !values.iter().all(|value| *value == 0.0 || *value == 1.0);
        assert_eq!(is_unscaled, scale.is_none() && is_graded && !is_told, "{values:?} {margin}");
        if is_told {
            let what = whats(&found)[0];
            assert!(
                what.starts_with(&format!("the margin {margin} of m · mae of t is as wide as the scores")),
                "{what}"
            );
            assert_eq!(what.contains("which are all 1:"), values == [1.0, 1.0], "{what}");
        }
    }
}

/// A run of the tasks `t` and `u`.
fn two_tasks() -> Run {
    let mut run = Run::of(&scores(40, 0));
    let further = Run::of(&scores(40, 0)).records.into_iter().map(|mut record| {
        record.task_id = "u".to_owned();
        record
    });
    run.records.extend(further);
    run.tasks.push(task("u"));
    run.identity["config"]["tasks"] =
        json!([{"task_id": "t", "dataset_id": "rows"}, {"task_id": "u", "dataset_id": "rows"}]);
    run
}

#[test]
fn a_task_of_one_run_alone_is_skipped_with_the_reason() {
    for (base, new, asked, expected) in [
        (
            two_tasks(),
            Run::of(&scores(40, 0)),
            Vec::new(),
            ["the whole task", "not compared: only in the baseline"],
        ),
        (
            Run::of(&scores(40, 0)),
            two_tasks(),
            Vec::new(),
            ["the whole task", "not compared: only in the new run"],
        ),
    ] {
        let xml = xml_of(&compared(base, new, asked));
        let [name, why] = expected;
        let suite = xml.split("<testsuite name=\"u\"").nth(1).expect("a suite for the task");
        assert!(suite.starts_with(" tests=\"1\" skipped=\"1\" errors=\"0\" failures=\"0\""), "{xml}");
        assert!(
            suite.contains(&format!("<testcase name=\"{name}\" classname=\"u\">"))
                && suite.contains(&format!("<skipped message=\"{why}\"/>")),
            "{xml}"
        );
    }
    let mut more = Run::of(&scores(40, 0));
    more.tasks[0].metrics.push(description("other"));
    for record in &mut more.records {
        let mut other = record.metrics[0].clone();
        other.metric_id = "other".into();
        record.metrics.push(other);
    }
    let xml = xml_of(&compared(more, Run::of(&scores(40, 0)), gate(0.1)));
    assert!(xml.contains("<testcase name=\"other\" classname=\"t\">"), "{xml}");
    assert!(xml.contains("<skipped message=\"not compared: only in the baseline\"/>"), "{xml}");
}

#[test]
fn a_gate_that_judges_nothing_of_a_task_is_told_for_either_run() {
    for (base, new, run) in [
        (two_tasks(), Run::of(&scores(40, 0)), "the new run"),
        (Run::of(&scores(40, 0)), two_tasks(), "the baseline"),
    ] {
        let found = compared(base, new, gate(0.1));
        assert_eq!(found.gate_changes.len(), 1);
        let change = &found.gate_changes[0];
        assert_eq!((change.task_id.as_str(), change.metric_id.as_str(), change.is_lost), ("u", "m", true));
        assert_eq!(change.what, format!("the gate on m of u has no effect: {run} does not have it"));
        let xml = xml_of(&found);
        assert!(
            xml.contains(&format!("<skipped message=\"{}\"/>", change.what))
                && xml.contains("the whole task"),
            "{xml}"
        );
    }
    // The metrics of a killed run are unknown.
    let root = tempfile::tempdir().unwrap();
    let whole = RecordedRun::open(&Run::of(&scores(40, 0)).write(root.path(), "whole")).unwrap();
    let killed = Run { status: RunStatus::Running, ..Run::of(&scores(20, 0)) }.write(root.path(), "killed");
    for file in ["summary.json", "samples.jsonl", "timings.json"] {
        std::fs::remove_file(killed.join(file)).unwrap();
    }
    let killed = RecordedRun::open(&killed).unwrap();
    let options = CompareOptions { gate: gate(0.1), ..CompareOptions::default() };
    for (base, new) in [(&whole, &killed), (&killed, &whole)] {
        assert!(compare(base, new, &options).unwrap().gate_changes.is_empty());
    }
    // A gate on a single task, which exists.
    let own = vec![GateSpec { task_id: Some("t".to_owned()), ..GateSpec::new("m", 0.1) }];
    let options = CompareOptions { gate: own, ..CompareOptions::default() };
    let found = compared_with(two_tasks(), Run::of(&scores(40, 0)), options);
    assert!(found.gate_changes.is_empty(), "{:?}", found.gate_changes);
}

#[test]
fn a_gate_on_what_is_never_compared_is_refused_with_the_reason() {
    let root = tempfile::tempdir().unwrap();
    let open = |run_id: &str, aggregation: Aggregation, asked: Value| {
        let mut run = Run::of(&scores(40, 0));
        run.tasks[0].metrics[0].aggregation = aggregation;
        run.tasks[0].timing_metrics.push(description("latency"));
        for record in &mut run.records {
            record.timing_metrics = vec![gage_figures::test_records::scored("latency", 5.0)];
        }
        run.identity["config"]["metrics"] = json!(["m", "latency"]);
        run.identity["config"]["gate"] = asked;
        RecordedRun::open(&run.write(root.path(), run_id)).unwrap()
    };
    let of_m = json!([{"metric": "m", "margin": 0.1}]);
    let plain = [
        open("a", Aggregation::Mean, json!([{"metric": "latency", "margin": 0.1}])),
        open("b", Aggregation::Mean, json!([{"metric": "latency", "margin": 0.1}])),
    ];
    let categories = [
        open("c", Aggregation::Categorical, of_m.clone()),
        open("d", Aggregation::Categorical, of_m.clone()),
    ];
    for ([base, new], why) in [
        (&plain, "the gate is on latency, which is never compared: it reads a clock"),
        (&categories, "the gate is on m, which is never compared: it is aggregated by `categorical`"),
    ] {
        let options = CompareOptions { gate: new.gate(), ..CompareOptions::default() };
        let error = compare(base, new, &options).unwrap_err();
        assert!(error.recorded("comparing").contains("which is never compared"), "{error}");
        assert!(error.to_string().starts_with(why), "{error}");
    }
    // A report still shows the runs, with the reason why nothing is judged.
    let [one, two] = plain;
    let shown = comparisons_with_first(&[one, two]).unwrap();
    assert_eq!(shown[0].verdict, None);
    assert!(whats(&shown[0])[0].starts_with("the gate of the new run has no effect: the gate is on latency"));
    // Scores without their own figure are compared by their means.
    let listed = [open("e", Aggregation::Identity, of_m.clone()), open("f", Aggregation::Identity, of_m)];
    let options = CompareOptions { gate: gate(0.1), ..CompareOptions::default() };
    let found = compare(&listed[0], &listed[1], &options).unwrap();
    assert_eq!((found.metrics[0].n, found.metrics[0].base), (40, Some(1.0)));
}

#[test]
fn runs_in_folders_of_one_name_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    let open = |parent: &str| {
        let parent = root.path().join(parent);
        std::fs::create_dir_all(&parent).unwrap();
        RecordedRun::open(&Run::of(&scores(40, 0)).write(&parent, "nightly")).unwrap()
    };
    let found = compare(&open("monday/runs"), &open("tuesday/runs"), &CompareOptions::default()).unwrap();
    assert_eq!(found.base.label, "monday/runs/nightly");
    assert_eq!(found.new.label, "tuesday/runs/nightly");
    let text = render_comparison(&found, 80, false);
    assert!(
        text.contains("base  monday/runs/nightly") && text.contains("new   tuesday/runs/nightly"),
        "{text}"
    );
    assert!(markdown(&found).contains("- **new**: tuesday/runs/nightly"));
}
