//! Verdicts of gates and their wording.

use super::super::{CompareOptions, IdentityPart, Verdict};
use super::runs::{Run, compared, compared_with, gate, scores, task};
use gage_config::{GateSpec, SubScoreGate};
use gage_core::Outcome;
use gage_figures::{Interval, IntervalMethod};
use serde_json::json;

fn reason(comparison: &super::super::Comparison) -> String {
    comparison.metrics[0].gate.as_ref().unwrap().reason.clone()
}

#[test]
fn two_flips_of_a_thousand_pass_and_forty_are_a_regression() {
    for (wrong, margin, verdict) in [
        (0, 0.01, Verdict::Pass),
        (2, 0.01, Verdict::Pass),
        (2, 0.005, Verdict::Inconclusive),
        (40, 0.01, Verdict::Regression),
        // Clearly worse, but within the margin.
        (40, 0.1, Verdict::Pass),
    ] {
        let found = compared(Run::of(&scores(1_000, 0)), Run::of(&scores(1_000, wrong)), gate(margin));
        assert_eq!(found.verdict, Some(verdict), "{wrong} {margin}: {}", reason(&found));
        insta::assert_snapshot!(format!("{wrong}_of_1000_margin_{margin}"), reason(&found));
    }
}

#[test]
fn graded_scores_are_judged_by_students_test() {
    let base: Vec<f64> = (0..200).map(|number| f64::from(number % 10) / 10.0).collect();
    let lower: Vec<f64> = base.iter().map(|score| score * 0.9).collect();
    for (new, verdict) in [(&base, Verdict::Pass), (&lower, Verdict::Regression)] {
        let found = compared(Run::of(&base), Run::of(new), gate(0.03));
        assert_eq!(found.verdict, Some(verdict), "{}", reason(&found));
        assert_eq!(found.metrics[0].test.name, "student");
    }
}

/// Scores of 7 and 8 on a scale up to 10: even if a hundred are unchanged, one in a hundred may still fall to 0.
#[test]
fn the_reach_of_a_loss_is_that_of_the_declared_scale() {
    let sevens_and_eights: Vec<f64> = (0..100).map(|number| f64::from(7 + number % 2)).collect();
    let run = |scale: Option<[f64; 2]>| {
        let mut run = Run::of(&sevens_and_eights);
        run.tasks[0].metrics[0].scales = scale.map(|scale| ("score".to_owned(), scale)).into_iter().collect();
        run
    };
    let warned = "m of t declares no scale: the gate assumes the scores of both runs, which are from 7 to 8, and may \
                  miss a rare larger loss; declare the smallest and the largest score in the metric";
    let ten = Some([0.0, 10.0]);
    for (base, new, verdict, warnings) in [
        (ten, ten, Verdict::Inconclusive, vec![]),
        // The scale of one run applies to both.
        (ten, None, Verdict::Inconclusive, vec![]),
        (Some([7.0, 8.0]), ten, Verdict::Inconclusive, vec![]),
        (Some([7.0, 8.0]), Some([7.0, 8.0]), Verdict::Pass, vec![]),
        (None, None, Verdict::Pass, vec![warned]),
    ] {
        let found = compared(run(base), run(new), gate(0.075));
        assert_eq!(found.verdict, Some(verdict), "{base:?} {new:?}: {}", reason(&found));
        assert_eq!(found.warned().collect::<Vec<_>>(), warnings, "{base:?} {new:?}");
    }
}

#[test]
fn where_less_is_better_more_is_a_regression() {
    let run = |wrong: usize| {
        let mut run = Run::of(&scores(200, wrong));
        run.tasks[0].metrics[0].higher_is_better = false;
        run
    };
    let found = compared(run(60), run(0), gate(0.01));
    assert_eq!((found.verdict, found.metrics[0].worse), (Some(Verdict::Regression), 60));
    assert!(found.metrics[0].difference.is_some_and(|difference| (difference - 0.3).abs() < 1e-12));
    assert_eq!(compared(run(0), run(60), gate(0.01)).verdict, Some(Verdict::Pass));
}

#[test]
fn samples_of_one_cluster_count_once() {
    let run = |wrong: usize| {
        let mut run = Run::of(&scores(60, wrong));
        for record in &mut run.records {
            record.sample = json!({"metadata": {"text": record.index / 20}}).into();
        }
        let task = json!({"task_id": "t", "dataset_id": "rows", "cluster_by": "metadata.text"});
        run.identity = super::runs::identity("model", &task);
        run
    };
    let found = compared(run(0), run(20), gate(0.01));
    // Twenty samples became worse, but they are one text of three.
    assert_eq!(found.metrics[0].clusters, Some(3));
    assert!(found.metrics[0].test.worse > 0.3, "{:?}", found.metrics[0].test);
    assert_eq!(found.verdict, Some(Verdict::Inconclusive));
    assert_eq!(
        compared(Run::of(&scores(60, 0)), Run::of(&scores(60, 20)), gate(0.01)).verdict,
        Some(Verdict::Regression)
    );
}

#[test]
fn over_all_tasks_the_samples_of_one_cluster_count_together() {
    let run = |wrong: usize, cluster_by: Option<&str>| {
        let mut run = Run::of(&scores(60, wrong));
        for record in &mut run.records {
            record.sample = json!({"metadata": {"text": record.index / 5}}).into();
        }
        let mut second = run.records.clone();
        second.iter_mut().for_each(|record| record.task_id = "u".to_owned());
        run.records.extend(second);
        run.tasks.push(task("u"));
        let entry = |id: &str| match cluster_by {
            Some(path) => json!({"task_id": id, "dataset_id": "rows", "cluster_by": path}),
            None => json!({"task_id": id, "dataset_id": "rows"}),
        };
        run.identity["config"]["tasks"] = json!([entry("t"), entry("u")]);
        run
    };
    let of = |cluster_by: Option<&str>| {
        let found = compared(run(0, cluster_by), run(10, cluster_by), Vec::new());
        let overall = &found.overall[0];
        assert_eq!((overall.n, overall.tasks), (120, 2));
        overall.interval.unwrap()
    };
    let (alone, together) = (of(None), of(Some("metadata.text")));
    // Ten of sixty, in two clusters of twelve: five samples carry as much information as one.
    let width = |interval: Interval| interval.high - interval.low;
    assert_eq!((alone.method, together.method), (IntervalMethod::T, IntervalMethod::Cluster));
    let ratio = width(together) / width(alone);
    assert!((2.1..2.5).contains(&ratio), "{ratio}: {alone:?} {together:?}");
}

#[test]
fn repeats_are_averaged_first() {
    let run = |answers: &[f64]| {
        let mut run = Run::of(answers);
        for record in &mut run.records {
            record.sample_id = format!("s-{}", record.index / 3);
            record.row_digest = record.sample_id.clone();
        }
        run.tasks[0].repeat = 3;
        let task = json!({"task_id": "t", "dataset_id": "rows", "repeat": 3});
        run.identity = super::runs::identity("model", &task);
        run
    };
    let found =
        compared(run(&[1.0, 1.0, 1.0, 0.0, 0.0, 1.0]), run(&[1.0, 0.0, 1.0, 1.0, 0.0, 0.0]), gate(0.1));
    let metric = &found.metrics[0];
    assert_eq!((metric.n, metric.worse, metric.better, found.tasks[0].paired), (2, 1, 0, 2));
    assert_eq!((metric.flips[0].base, metric.flips[0].new), (1.0, 2.0 / 3.0));
    // The order of the repeats makes no difference, although it changes these two plain sums.
    let (one, other) = ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]);
    assert_ne!(one.iter().sum::<f64>(), other.iter().sum::<f64>());
    let found = compared(run(&one.repeat(20)), run(&other.repeat(20)), gate(0.05));
    let metric = &found.metrics[0];
    assert_eq!((metric.n, metric.worse, metric.better, metric.flips.len()), (20, 0, 0, 0));
    assert_ne!(found.verdict, Some(Verdict::Regression));
}

#[test]
fn every_gated_metric_must_pass_and_alpha_is_shared() {
    let run = |wrong: usize| {
        let mut run = Run::of(&scores(400, 0));
        let mut second = Run::of(&scores(400, wrong)).records;
        second.iter_mut().for_each(|record| record.task_id = "u".to_owned());
        run.records.extend(second);
        run.tasks.push(task("u"));
        let tasks =
            [json!({"task_id": "t", "dataset_id": "rows"}), json!({"task_id": "u", "dataset_id": "rows"})];
        run.identity["config"]["tasks"] = json!(tasks);
        run
    };
    // Five of five: p = 1/32, enough for a single metric but not for one of two.
    let found = compared(run(0), run(5), gate(0.02));
    let verdicts: Vec<Verdict> =
        found.metrics.iter().filter_map(|metric| metric.gate.as_ref()).map(|gate| gate.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Inconclusive]);
    let adjusted = found.metrics[1].gate.as_ref().unwrap().worse_adjusted;
    assert!((adjusted - 0.0625).abs() < 1e-12, "{adjusted}");
    assert_eq!((found.overall[0].n, found.overall[0].tasks), (800, 2));
    let alone = vec![GateSpec { task_id: Some("u".to_owned()), ..GateSpec::new("m", 0.02) }];
    assert_eq!(compared(run(0), run(5), alone).verdict, Some(Verdict::Regression));
}

#[test]
fn sub_scores_have_margins_and_directions_of_their_own() {
    let run = |error: f64| {
        let mut run = Run::of(&scores(300, 0));
        for (number, record) in run.records.iter_mut().enumerate() {
            let card = record.metrics[0].card.as_mut().unwrap();
            card.sub_scores.insert("mae".to_owned(), json!(error + (number % 7) as f64 / 100.0));
        }
        run
    };
    let gate = |margin: f64| {
        let sub = SubScoreGate { name: "mae".to_owned(), margin, higher_is_better: Some(false) };
        vec![GateSpec { sub_scores: vec![sub], ..GateSpec::new("m", 0.1) }]
    };
    for (now, margin, verdict) in
        [(0.1, 0.05, Verdict::Pass), (0.2, 0.05, Verdict::Regression), (0.2, 0.3, Verdict::Pass)]
    {
        let found = compared(run(0.1), run(now), gate(margin));
        assert_eq!(found.verdict, Some(verdict), "{now} {margin}");
        assert_eq!(found.metrics[1].sub_score.as_deref(), Some("mae"));
    }
}

#[test]
fn failures_lower_the_coverage_and_are_never_wrong_answers() {
    let mut new = Run::of(&scores(200, 0));
    for record in new.records.iter_mut().take(30) {
        record.outcome = Outcome::BackendError;
        record.metrics.clear();
    }
    let found = compared(Run::of(&scores(200, 0)), new, gate(0.02));
    assert_eq!((found.verdict, found.metrics[0].worse), (Some(Verdict::Incomplete), 0));
    insta::assert_snapshot!(reason(&found), @"85 % of the samples are scored in both runs; the gate asks for 95 %; not scored in the new run: 30 backend_error");
}

#[test]
fn drift_is_shown_by_slice_and_by_tag() {
    let run = |wrong: usize| {
        let mut run = Run::of(&scores(200, wrong));
        for record in &mut run.records {
            record.sample =
                json!({"metadata": {"level": if record.index < 50 { "hard" } else { "easy" }}}).into();
            let card = record.metrics[0].card.as_mut().unwrap();
            if card.primary_score == Some(0.0) {
                card.error_tags = vec!["wrong_unit".to_owned()];
            }
        }
        let task = json!({"task_id": "t", "dataset_id": "rows", "slices": ["metadata.level"]});
        run.identity = super::runs::identity("model", &task);
        run
    };
    let found = compared(run(0), run(20), gate(0.02));
    let metric = &found.metrics[0];
    assert_eq!(
        (metric.slices[0].key.as_str(), metric.slices[0].worse, metric.slices[1].worse),
        ("hard", 20, 0)
    );
    assert!(metric.slices[0].q_value < 0.001 && metric.slices[1].q_value == 1.0, "{:?}", metric.slices);
    let tag = &metric.error_tags[0];
    assert_eq!((tag.tag.as_str(), tag.base, tag.new, tag.worse), ("wrong_unit", 0, 20, 20));
    assert_eq!((metric.flips.len(), metric.flips[0].sample_id.as_str()), (10, "s-0"));
}

#[test]
fn the_model_alone_may_differ() {
    let run = |change: fn(&mut serde_json::Value)| {
        let mut run = Run::of(&scores(400, 0));
        change(&mut run.identity);
        run
    };
    let other_model = |identity: &mut serde_json::Value| {
        identity["backends"]["b"]["model"] = json!("another");
        identity["config"]["backends"][0]["config"]["model"] = json!("another");
    };
    let found = compared(run(|_| {}), run(other_model), gate(0.02));
    assert_eq!((found.verdict, found.differences.len()), (Some(Verdict::Pass), 0), "{:?}", found.differences);
    assert_eq!((found.base.models, found.new.models), (vec!["model".to_owned()], vec!["another".to_owned()]));

    let cases: [(IdentityPart, fn(&mut serde_json::Value)); 8] = [
        (IdentityPart::Datasets, |identity| {
            identity["datasets"]["rows"]["chat_template"] = json!("sha256:ff");
        }),
        (IdentityPart::Prompts, |identity| identity["prompts"]["dut"]["digest"] = json!("sha256:ff")),
        (IdentityPart::Plugins, |identity| identity["plugins"]["m"]["digest"] = json!("sha256:ff")),
        (IdentityPart::Settings, |identity| {
            identity["config"]["custom"]["sampling_params"] = json!({"temperature": 1});
        }),
        (IdentityPart::Settings, |identity| {
            identity["config"]["backends"][0]["config"]["default_params"] = json!({"max_new_tokens": 9});
        }),
        (IdentityPart::Settings, |identity| {
            identity["config"]["backends"][0]["config"]["extra_body"] = json!({"reasoning_effort": "low"});
        }),
        (IdentityPart::Settings, |identity| {
            identity["config"]["role_adapters"][0]["sampling_params"] = json!({"temperature": 1});
        }),
        (IdentityPart::Settings, |identity| identity["config"]["metrics"] = json!([{"m": {"tolerance": 1}}])),
    ];
    for (part, change) in cases {
        let found = compared(run(|_| {}), run(change), gate(0.02));
        assert_eq!(found.verdict, Some(Verdict::Mismatch), "{part:?}");
        assert_eq!(found.differences.first().map(|difference| difference.part), Some(part));
        assert!(found.refusal.unwrap().contains(&format!("--allow {}", part.name())));
        // Without a gate too, since the figures are not comparable.
        assert_eq!(compared(run(|_| {}), run(change), Vec::new()).verdict, Some(Verdict::Mismatch));
        let options = CompareOptions { gate: gate(0.02), allowed: vec![part], ..CompareOptions::default() };
        assert_eq!(compared_with(run(|_| {}), run(change), options).verdict, Some(Verdict::Pass), "{part:?}");
    }
}

#[test]
fn the_prompt_of_a_role_that_supports_the_model_counts() {
    let run = |digest: &str| {
        let mut run = Run::of(&scores(400, 0));
        let config = &mut run.identity["config"];
        let finder = json!({"adapter_id": "finder", "role_type": "context_provider", "backend_id": "b", "prompt_id": "find"});
        config["role_adapters"].as_array_mut().unwrap().push(finder);
        config["prompts"] = json!([{"prompt_id": "find", "template": "Find."}]);
        config["custom"]["steps"] =
            json!([{"step": "support"}, {"step": "inference"}, {"step": "auto_eval"}]);
        run.identity["prompts"]["finder"] = json!({"prompt_id": "find", "digest": digest});
        run
    };
    let found = compared(run("sha256:dd"), run("sha256:dd"), gate(0.02));
    assert_eq!((found.verdict, found.differences.len()), (Some(Verdict::Pass), 0), "{:?}", found.differences);
    let found = compared(run("sha256:dd"), run("sha256:ee"), gate(0.02));
    assert_eq!(found.verdict, Some(Verdict::Mismatch));
    let parts: Vec<IdentityPart> = found.differences.iter().map(|difference| difference.part).collect();
    assert_eq!(parts, [IdentityPart::Prompts], "{:?}", found.differences);
}

#[test]
fn a_metric_more_changes_nothing_in_the_others() {
    let mut new = Run::of(&scores(400, 0));
    new.tasks[0].metrics.push(gage_figures::test_records::description("another"));
    new.identity["config"]["metrics"] = json!(["m", "another"]);
    let found = compared(Run::of(&scores(400, 0)), new, gate(0.02));
    assert_eq!(found.verdict, Some(Verdict::Pass), "{:?}", found.differences);
    let left: Vec<String> = found.not_compared.iter().map(ToString::to_string).collect();
    assert_eq!(left, ["metric another of task t: only in the new run"]);
}
