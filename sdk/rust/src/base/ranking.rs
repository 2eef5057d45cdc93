use super::{Describe, one_of};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::text::{text_of, texts_of};
use crate::{PluginError, ScoreCard, from_params};
use serde::Deserialize;
use serde_json::{Value, json};
use std::marker::PhantomData;

/// How high the first right candidate of a ranked list stands.
///
/// mrr is 1 / rank of the first candidate that is a target, 0 where there is none; hit_at_k is 1
/// where that rank is at most k. The parameter `metric_type`, `mrr` (the default) or `hit_at_k`, says
/// which is the primary score; both are sub-scores under their names. `k` is 5 by default.
///
/// Candidates are texts, or objects with their text under the parameter `candidate_key`, by default the
/// first that exists of `text`, `id` and `label`; numbers count by their spelling. Targets are a text or
/// a list. Without the one or the other the score is 0, with the tag `missing_prediction` or
/// `missing_reference`.
///
/// Inputs: `candidates`, path parameter `candidates_field`, by default `model_output.candidates`;
/// `targets`, path parameter `targets_field`, by default the first that exists of `sample.targets` and
/// `sample.label`. The card's detail gets `k` and `rank` (from 1, or null).
pub struct Ranking<D> {
    is_hit_at_k: bool,
    k: u64,
    candidate_key: Option<String>,
    describe: PhantomData<D>,
}

const CANDIDATES: usize = 0;
const TARGETS: usize = 1;

/// Where the text of a candidate is looked for.
const CANDIDATE_KEYS: [&str; 3] = ["text", "id", "label"];

#[derive(Deserialize)]
#[serde(default)]
struct Params {
    metric_type: String,
    k: u64,
    candidate_key: Option<String>,
}

impl Default for Params {
    fn default() -> Params {
        Params { metric_type: "mrr".to_owned(), k: 5, candidate_key: None }
    }
}

impl<D> Ranking<D> {
    /// The text of a candidate; `None` where it has none, and so can be no target.
    fn text(&self, candidate: &Value) -> Option<String> {
        let value = match candidate {
            Value::Object(object) => match &self.candidate_key {
                Some(key) => object.get(key)?,
                None => CANDIDATE_KEYS.iter().find_map(|key| object.get(*key))?,
            },
            other => other,
        };
        (!value.is_null()).then(|| text_of(value))
    }
}

impl<D: Describe> Metric for Ranking<D> {
    fn spec() -> MetricSpec {
        D::spec()
            .sub_score("mrr", true)
            .sub_score("hit_at_k", true)
            .param(
                "metric_type",
                json!({ "type": "string", "default": "mrr", "description": "mrr or hit_at_k" }),
            )
            .param("k", json!({ "type": "integer", "minimum": 0, "default": 5 }))
            .param("candidate_key", json!({ "type": ["string", "null"], "default": null }))
            .input("candidates", &["candidates_field"], &["model_output.candidates"], ValueKind::Json)
            .input("targets", &["targets_field"], &["sample.targets", "sample.label"], ValueKind::Json)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let Params { metric_type, k, candidate_key } = from_params(params)?;
        let words = [("mrr", false), ("hit_at_k", true), ("hit@k", true)];
        let is_hit_at_k = one_of("metric_type", &metric_type, &words)?;
        Ok(Ranking { is_hit_at_k, k, candidate_key, describe: PhantomData })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let candidates = match inputs.json(CANDIDATES) {
            Value::Array(candidates) => candidates,
            Value::Null => Vec::new(),
            single => vec![single],
        };
        let targets = texts_of(&inputs.json(TARGETS));
        let is_target = |candidate: &Value| self.text(candidate).is_some_and(|text| targets.contains(&text));
        let rank = candidates.iter().position(is_target).map(|index| index as u64 + 1);
        let mrr = rank.map_or(0.0, |rank| 1.0 / rank as f64);
        let hit_at_k = if rank.is_some_and(|rank| rank <= self.k) { 1.0 } else { 0.0 };
        let mut card = ScoreCard::of(if self.is_hit_at_k { hit_at_k } else { mrr })
            .sub_score("mrr", mrr)
            .sub_score("hit_at_k", hit_at_k)
            .add_detail([("k", self.k.into()), ("rank", rank.into())]);
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
        fn spec() -> MetricSpec {
            MetricSpec::new("plain", "1", "")
        }
    }

    #[test]
    fn rankings() {
        for (params, targets, candidates, expected, rank) in [
            (json!({}), json!(["a"]), json!(["a", "b", "c"]), 1.0, json!(1)),
            (json!({}), json!(["c"]), json!(["a", "b", "c"]), 1.0 / 3.0, json!(3)),
            (json!({}), json!(["c", "b"]), json!(["a", "b", "c"]), 0.5, json!(2)),
            (
                json!({ "metric_type": "hit@k", "k": 3 }),
                json!(["d"]),
                json!(["a", "b", "c", "d"]),
                0.0,
                json!(4),
            ),
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
            (json!({}), json!([null]), json!(["None", null]), 0.0, json!(null)),
            (json!({}), json!(["a"]), json!("a"), 1.0, json!(1)),
            (json!({}), json!(["a"]), json!(null), 0.0, json!(null)),
            (json!({ "candidate_key": "doc" }), json!(["y"]), json!(["x", { "doc": "y" }]), 0.5, json!(2)),
            (json!({}), json!([8]), json!([{ "id": 7 }, { "id": 8 }]), 0.5, json!(2)),
            (json!({}), json!(["y"]), json!([{ "doc": "y" }]), 0.0, json!(null)),
        ] {
            let inputs = [candidates.clone().into(), targets.clone().into()];
            let card = score::<Ranking<Plain>>(params, &inputs).unwrap();
            assert_eq!(card.primary_score, Some(expected), "{candidates} {targets}");
            assert_eq!(detail(&card, "rank"), rank);
        }
        assert!(score::<Ranking<Plain>>(json!({ "metric_type": "ndcg" }), &[]).is_err());
    }
}
