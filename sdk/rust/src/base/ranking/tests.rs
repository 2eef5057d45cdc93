use super::super::testing::{detail, score};
use super::*;

struct Plain;

impl Describe for Plain {
    fn spec() -> MetricSpec {
        MetricSpec::new("plain", "1", "")
    }
}

fn card(params: Value, candidates: &Value, targets: &Value) -> Result<ScoreCard, PluginError> {
    score::<Ranking<Plain>>(params, &[candidates.clone().into(), targets.clone().into()])
}

#[test]
fn rankings() {
    for (params, targets, candidates, expected, rank) in [
        (json!({}), json!(["a"]), json!(["a", "b", "c"]), 1.0, json!(1)),
        (json!({}), json!(["c"]), json!(["a", "b", "c"]), 1.0 / 3.0, json!(3)),
        (json!({}), json!(["c", "b"]), json!(["a", "b", "c"]), 0.5, json!(2)),
        (json!({ "metric_type": "hit@k" }), json!(["d"]), json!(["a", "b", "c", "d"]), 0.0, json!(4)),
        (
            json!({ "metric_type": "HIT_AT_K", "k": 4 }),
            json!("d"),
            json!(["a", "b", "c", "d"]),
            1.0,
            json!(4),
        ),
        (json!({ "metric_type": "hit_at_k", "k": 0 }), json!(["a"]), json!(["a"]), 0.0, json!(1)),
        (json!({}), json!(["paris"]), json!(["Paris"]), 0.0, json!(null)),
        (json!({}), json!(["2"]), json!([1, 2]), 0.5, json!(2)),
        (json!({}), json!([2]), json!([1, 2.0]), 0.5, json!(2)),
        (json!({}), json!(["True"]), json!([true]), 1.0, json!(1)),
        (json!({}), json!([false]), json!(["False"]), 1.0, json!(1)),
        (json!({}), json!(["True"]), json!(["true"]), 0.0, json!(null)),
        (json!({}), json!([null]), json!(["None", null]), 0.0, json!(null)),
        (json!({}), json!(["a"]), json!("a"), 1.0, json!(1)),
        (json!({}), json!(["a"]), json!(null), 0.0, json!(null)),
        (json!({ "candidate_field": "doc" }), json!(["y"]), json!(["x", { "doc": "y" }]), 0.5, json!(2)),
        (json!({ "candidate_key": "doc" }), json!(["y"]), json!(["x", { "doc": "y" }]), 0.5, json!(2)),
        (json!({}), json!([8]), json!([{ "id": 7 }, { "id": 8 }]), 0.5, json!(2)),
        (json!({}), json!({ "id": 8 }), json!([7, 8]), 0.5, json!(2)),
        (json!({}), json!(["y"]), json!([{ "doc": "y" }]), 0.0, json!(null)),
    ] {
        let card = card(params, &candidates, &targets).unwrap();
        assert_eq!(card.primary_score, Some(expected), "{candidates} {targets}");
        assert_eq!(detail(&card, "rank"), rank);
        assert_eq!(card.sub_scores.len(), 2);
    }
    assert!(score::<Ranking<Plain>>(json!({ "metric_type": "ndcg" }), &[]).is_err());
}

#[test]
fn graded_targets_give_gains() {
    let candidates = json!(["a", "b", "a", "c"]);
    for targets in [
        json!({ "a": 1, "c": 3, "d": 0 }),
        json!([{ "id": "a", "grade": 1 }, { "id": "c", "relevance": 3 }, { "text": "d", "gain": 0 }]),
    ] {
        let card = card(json!({ "k": 4 }), &candidates, &targets).unwrap();
        let value = |name: &str| card.sub_scores.iter().find(|sub| sub.name == name).unwrap().value;
        let best = 3.0 + 1.0 / 3_f64.log2();
        assert!((value("ndcg_at_k") - (1.0 + 3.0 / 5_f64.log2()) / best).abs() < 1e-12);
        assert!((value("average_precision") - (1.0 + 0.5) / 2.0).abs() < 1e-12);
        assert_eq!(card.primary_score, Some(1.0));
    }
    let nothing = card(json!({}), &candidates, &json!({ "a": 0 })).unwrap();
    assert_eq!(nothing.error_tags, ["missing_reference"]);
    for targets in [json!({ "a": -1 }), json!([{ "id": "a", "grade": "high" }])] {
        assert!(card(json!({}), &candidates, &targets).is_err(), "{targets}");
    }
}
