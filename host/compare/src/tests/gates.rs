//! Gates that are lost, cannot fail, or have nothing to judge.

use super::super::{
    CompareError, CompareOptions, Comparison, Verdict, compare, github_annotations, markdown,
    render_comparison,
};
use super::runs::{Run, compared, gate, scores};
use super::xml_of;
use gage_config::{GateSpec, SubScoreGate};
use gage_figures::RecordedRun;
use gage_record::RunStatus;
use gage_recorded_messages::RecordedError as _;
use serde_json::json;

/// Compares two runs whose suites have these gates, by the gate of the second.
fn by_own_gates(before: serde_json::Value, now: serde_json::Value) -> Comparison {
    let root = tempfile::tempdir().unwrap();
    let write = |run_id: &str, gate: serde_json::Value| {
        let mut run = Run::of(&scores(400, 4));
        run.identity["config"]["gate"] = gate;
        RecordedRun::open(&run.write(root.path(), run_id)).unwrap()
    };
    let (base, new) = (write("base", before), write("new", now));
    let options = CompareOptions { gate: new.gate(), gate_before: base.gate(), ..CompareOptions::default() };
    compare(&base, &new, &options).unwrap()
}

#[test]
fn a_gate_that_the_suite_of_the_new_run_lost_is_told_everywhere() {
    let found = by_own_gates(json!([{"metric": "m", "margin": 0.01}]), json!([]));
    assert_eq!(found.verdict, None);
    assert!(found.gate_changes[0].is_lost);
    let what = &found.gate_changes[0].what;
    insta::assert_snapshot!(what, @"the suite of the baseline has a gate on m of t (margin 0.01), but that of the new run has none: it is not gated");
    let unbroken = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unbroken(render_comparison(&found, 80, false)).contains(&format!("warning: {what}")));
    assert!(unbroken(markdown(&found)).contains("- **warning**: the suite of the baseline has a gate"));
    assert!(
        github_annotations(&found)
            .starts_with("::warning title=gage-host compare::the suite of the baseline has")
    );
    let xml = xml_of(&found);
    assert!(xml.contains(&format!("<skipped message=\"{what}\"/>")), "{xml}");
    assert!(xml.contains("skipped=\"1\" errors=\"0\" failures=\"0\""), "{xml}");
}

#[test]
fn what_a_gate_asks_less_than_before_is_told() {
    let strict = json!({"metric": "m", "margin": 0.01, "min_coverage": 0.99, "alpha": 0.01});
    for (before, now, wanted) in [
        (
            strict.clone(),
            json!({"metric": "m", "margin": 0.5}),
            "margin 0.5 instead of 0.01, alpha 0.05 instead of 0.01, min_coverage 95 % instead of 99 %",
        ),
        // An entry for the task itself takes precedence.
        (
            strict.clone(),
            json!({"metric": "m", "task": "t", "margin": 0.02, "min_coverage": 1, "alpha": 0.01}),
            "margin 0.02 instead of 0.01",
        ),
        (strict.clone(), strict.clone(), ""),
        (json!({"metric": "m", "margin": 0.5}), strict, ""),
    ] {
        let found = by_own_gates(json!([before]), json!([now]));
        let said: Vec<&str> = found.gate_changes.iter().map(|change| change.what.as_str()).collect();
        match wanted {
            "" => assert!(said.is_empty(), "{said:?}"),
            wanted => assert!(said.len() == 1 && said[0].ends_with(&format!(": {wanted}")), "{said:?}"),
        }
        assert!(found.gate_changes.iter().all(|change| !change.is_lost));
    }
}

#[test]
fn junit_skips_ungated_metrics_and_says_why_one_passes() {
    let two = |wrong: usize| {
        let mut run = Run::of(&scores(400, wrong));
        run.tasks[0].metrics.push(gage_figures::test_records::description("other"));
        for record in &mut run.records {
            let mut other = record.metrics[0].clone();
            other.metric_id = "other".into();
            record.metrics.push(other);
        }
        run.identity["config"]["metrics"] = json!(["m", "other"]);
        run
    };
    let xml = xml_of(&compared(two(2), two(2), gate(0.05)));
    insta::assert_snapshot!("junit_of_a_metric_without_a_gate", xml);
}

#[test]
fn a_margin_as_wide_as_the_scale_is_refused() {
    let run = |scale: [f64; 2]| {
        let mut run = Run::of(&scores(40, 0));
        run.tasks[0].metrics[0].scales = vec![("score".to_owned(), scale)];
        run
    };
    let root = tempfile::tempdir().unwrap();
    let open = |run_id: &str, scale| RecordedRun::open(&run(scale).write(root.path(), run_id)).unwrap();
    let (unit, ten, also_unit) =
        (open("unit", [0.0, 1.0]), open("ten", [0.0, 10.0]), open("also", [0.0, 1.0]));
    let refused = |source: &RecordedRun, margin: f64| {
        let options = CompareOptions { gate: gate(margin), ..CompareOptions::default() };
        match compare(&also_unit, source, &options) {
            Err(error @ CompareError::MarginTooWide { .. }) => Some(error.to_string()),
            other => {
                other.unwrap();
                None
            }
        }
    };
    insta::assert_snapshot!(refused(&unit, 1.0).unwrap(), @"the margin 1 of m of task t is as wide as its whole scale, from 0 to 1: no run could lose more, so the gate could never fail; name the largest loss that you accept, such as 0.01");
    assert!(refused(&unit, 7.0).is_some() && refused(&unit, 0.999).is_none());
    // The baseline declares a scale too, and the gate must be able to fail on both.
    assert!(refused(&ten, 10.0).is_some() && refused(&ten, 5.0).is_some() && refused(&ten, 0.5).is_none());
    // Without a declared scale, no margin is rejected.
    assert_eq!(
        compared(Run::of(&scores(40, 0)), Run::of(&scores(40, 0)), gate(7.0)).verdict,
        Some(Verdict::Pass)
    );
    let sub = SubScoreGate { name: "f1".to_owned(), margin: 2.0, higher_is_better: None };
    let with_sub = vec![GateSpec { sub_scores: vec![sub], ..GateSpec::new("m", 0.1) }];
    let with_f1 = |run_id: &str| {
        let mut run = Run::of(&scores(40, 0));
        run.tasks[0].metrics[0].scales = vec![("f1".to_owned(), [0.0, 1.0])];
        for record in &mut run.records {
            record.metrics[0].card.as_mut().unwrap().sub_scores =
                json!({"f1": 0.5}).as_object().unwrap().clone();
        }
        RecordedRun::open(&run.write(root.path(), run_id)).unwrap()
    };
    let options = CompareOptions { gate: with_sub, ..CompareOptions::default() };
    let error = compare(&with_f1("b"), &with_f1("n"), &options).unwrap_err().recorded("comparing");
    assert!(error.starts_with("the margin 2 of m · f1 of task t is as wide"), "{error}");
}

#[test]
fn a_refusal_is_an_error_beside_metrics_that_are_skipped() {
    let half = Run { status: RunStatus::Interrupted, ..Run::of(&scores(50, 0)) };
    let xml = xml_of(&compared(Run::of(&scores(50, 0)), half, Vec::new()));
    assert!(
        xml.contains(
            "<testsuites name=\"gage-host compare\" tests=\"2\" skipped=\"1\" failures=\"0\" errors=\"1\">"
        ),
        "{xml}"
    );
    assert!(xml.contains("<skipped message=\"this metric is not gated\"/>"), "{xml}");
}
