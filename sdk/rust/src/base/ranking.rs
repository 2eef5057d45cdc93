mod gain;
mod targets;

use super::{Describe, one_of};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::{PluginError, ScoreCard, from_params};
use gain::{average_precision, ndcg};
use serde::Deserialize;
use serde_json::{Value, json};
use std::marker::PhantomData;
use targets::{Targets, text_under};

/// Rank of the correct candidates in a ranked list.
///
/// mrr is 1 / rank of the first candidate that is a target, or 0 if there is none. hit_at_k is 1 if that rank
/// is at most k. The parameter `metric_type`, `mrr` (the default) or `hit_at_k`, selects the primary score;
/// both are sub-scores under their names. `k` is 3 by default.
///
/// If the targets have grades, there are two more sub-scores:
///
/// - `ndcg_at_k`: the discounted gain of the first k candidates divided by that of the ideal order. The
///   grade is the gain, and log₂(rank + 1) the discount (Järvelin and Kekäläinen 2002).
/// - `average_precision`: the mean over the targets of the precision at their rank. Its mean over samples is
///   MAP.
///
/// A grade of 0 means that a candidate is not a target. Only the first occurrence of a repeated candidate
/// counts.
///
/// Candidates are texts or objects. The parameter `candidate_field` (also `candidate_key`) names the key of
/// an object's text. By default, it is the first of `text`, `id` and `label` that exists. Numbers count by
/// value, and match a text that spells them. Booleans match a text that spells them in any case; otherwise
/// case counts.
///
/// Targets are a text or a list. Graded targets are an object of grades by text, or a list of objects. Such
/// an object has its text as in candidates, and its grade under `grade`, `relevance` or `gain`. Without
/// candidates or targets the score is 0, with the tag `missing_prediction` or `missing_reference`. A grade
/// that is not a number, or below 0, is `invalid-input`.
///
/// Inputs:
///
/// - `candidates`, path parameters `candidates_field` and `prediction_field`, default
///   `model_output.candidates`
/// - `targets`, path parameters `targets_field` and `label_field`, default the first that exists of
///   `sample.targets`, `sample.metadata.targets` and `sample.label`
///
/// The card's detail contains `k` and `rank` (from 1, or null). Takes time proportional to the length of both
/// lists, apart from sorting the grades.
pub struct Ranking<D> {
    is_hit_at_k: bool,
    k: u64,
    candidate_field: Option<String>,
    describe: PhantomData<D>,
}

const CANDIDATES: usize = 0;
const TARGETS: usize = 1;

#[derive(Deserialize)]
#[serde(default)]
struct RankingParams {
    metric_type: String,
    k: u64,
    candidate_field: Option<String>,
    candidate_key: Option<String>,
}

impl Default for RankingParams {
    fn default() -> RankingParams {
        RankingParams { metric_type: "mrr".to_owned(), k: 3, candidate_field: None, candidate_key: None }
    }
}

impl<D: Describe> Metric for Ranking<D> {
    fn name() -> &'static str {
        D::name()
    }

    fn spec() -> MetricSpec {
        let key = |description: &str| json!({ "type": ["string", "null"], "default": null, "description": description });
        D::spec()
            .sub_score("mrr", true)
            .sub_score("hit_at_k", true)
            .sub_score("ndcg_at_k", true)
            .sub_score("average_precision", true)
            .param(
                "metric_type",
                json!({ "type": "string", "default": "mrr", "description": "primary score: `mrr` or `hit_at_k`" }),
            )
            .param(
                "k",
                json!({
                    "type": "integer",
                    "minimum": 0,
                    "default": 3,
                    "description": "number of candidates that `hit_at_k` and `ndcg_at_k` consider",
                }),
            )
            .param("candidate_field", key("field of a candidate that is compared; by default `text`, `id` or `label`"))
            .param("candidate_key", key("alias of `candidate_field`"))
            .input(
                "candidates",
                &["candidates_field", "prediction_field"],
                &["model_output.candidates"],
                ValueKind::Json,
            )
            .input(
                "targets",
                &["targets_field", "label_field"],
                &["sample.targets", "sample.metadata.targets", "sample.label"],
                ValueKind::Json,
            )
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let RankingParams { metric_type, k, candidate_field, candidate_key } = from_params(params)?;
        let words = [("mrr", false), ("hit_at_k", true), ("hit@k", true)];
        let is_hit_at_k = one_of("metric_type", &metric_type, &words)?;
        Ok(Ranking {
            is_hit_at_k,
            k,
            candidate_field: candidate_field.or(candidate_key),
            describe: PhantomData,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let candidates = match inputs.json(CANDIDATES) {
            Value::Array(candidates) => candidates,
            Value::Null => Vec::new(),
            single => vec![single],
        };
        let targets = Targets::read(&inputs.json(TARGETS))?;
        let grades = targets.grades_of(
            candidates.iter().map(|candidate| text_under(candidate, self.candidate_field.as_deref())),
        );
        let rank = grades.iter().position(|grade| *grade > 0.0).map(|index| index as u64 + 1);
        let mrr = rank.map_or(0.0, |rank| 1.0 / rank as f64);
        let hit_at_k = if rank.is_some_and(|rank| rank <= self.k) { 1.0 } else { 0.0 };
        let mut card = ScoreCard::of(if self.is_hit_at_k { hit_at_k } else { mrr })
            .sub_score("mrr", mrr)
            .sub_score("hit_at_k", hit_at_k)
            .add_detail([("k", self.k.into()), ("rank", rank.into())]);
        if let Some(ideal) = targets.ideal() {
            let k = usize::try_from(self.k).unwrap_or(usize::MAX);
            card = card
                .sub_score("ndcg_at_k", ndcg(&grades, &ideal, k))
                .sub_score("average_precision", average_precision(&grades, ideal.len()));
        }
        if candidates.is_empty() {
            card = card.tag("missing_prediction");
        }
        if targets.is_empty() {
            card = card.tag("missing_reference");
        }
        Ok(card)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, score};
    use super::*;

    struct Plain;

    impl Describe for Plain {
        fn name() -> &'static str {
            "plain"
        }

        fn spec() -> MetricSpec {
            MetricSpec::new("1", "")
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
}
