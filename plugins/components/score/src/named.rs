//! `likelihood` and `ranking`: the SDK's metrics under their names, with the parameters of existing suites.

use gage_sdk::base::{self, Describe};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};

/// Name of [`Likelihood`].
struct LikelihoodName;

impl Describe for LikelihoodName {
    fn name() -> &'static str {
        "likelihood"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new(
            "2",
            "Negative log-likelihood, perplexity or bits per byte of an answer or a whole text",
        )
    }
}

/// Negative log-likelihood of an answer or a whole text, its perplexity, or its bits per byte. All behaviour comes from
/// [`base::Likelihood`]. `logprob_field` is another name of `logprobs_field`.
pub struct Likelihood(base::Likelihood<LikelihoodName>);

impl Metric for Likelihood {
    fn name() -> &'static str {
        LikelihoodName::name()
    }

    fn spec() -> MetricSpec {
        let mut spec = base::Likelihood::<LikelihoodName>::spec();
        for input in spec.inputs.iter_mut().filter(|input| input.name == "logprobs") {
            input.path_params.push("logprob_field".to_owned());
        }
        spec
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        base::Likelihood::<LikelihoodName>::prepare(params).map(Likelihood)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        self.0.score(inputs)
    }
}

/// Name of [`Ranking`].
struct RankingName;

impl Describe for RankingName {
    fn name() -> &'static str {
        "ranking"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("4", "Positions of the correct candidates in a ranked list").value_name("hit")
    }
}

/// Rank of the right candidates in a ranked list. The score comes from [`base::Ranking`]. The primary score is called
/// `hit`. `k` may be a text that spells a whole number.
///
/// A score below 1 has a tag: `missing_reference` if there are no targets, otherwise `missing_prediction` if there are
/// no candidates, `missing_item` if no candidate is a target, and otherwise `low_rank`.
pub struct Ranking(base::Ranking<RankingName>);

impl Metric for Ranking {
    fn name() -> &'static str {
        RankingName::name()
    }

    fn spec() -> MetricSpec {
        base::Ranking::<RankingName>::spec().param(
            "k",
            json!({
                "type": ["integer", "string"], "minimum": 0, "default": 3,
                "description": "number of candidates that `hit_at_k` and `ndcg_at_k` consider",
            }),
        )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        base::Ranking::<RankingName>::prepare(with_whole_k(params)?).map(Ranking)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let card = self.0.score(inputs)?;
        Ok(if card.primary_score == Some(1.0) { card } else { explained(card) })
    }
}

/// Returns the parameters with `k` as a number, if it is a text that spells one.
fn with_whole_k(mut params: serde_json::Value) -> Result<serde_json::Value, PluginError> {
    let Some(serde_json::Value::String(text)) = params.get("k") else { return Ok(params) };
    let whole: u64 = text.trim().parse().map_err(|_| {
        let message = format!("params: 'k' must be a whole number from 0 up, not '{text}'");
        PluginError::invalid_config(message).at("/k")
    })?;
    if let Some(k) = params.get_mut("k") {
        *k = whole.into();
    }
    Ok(params)
}

/// Adds the tag and the explanation of a score below 1.
fn explained(mut card: ScoreCard) -> ScoreCard {
    if card.error_tags.iter().any(|tag| tag == "missing_reference") {
        card.error_tags.retain(|tag| tag != "missing_prediction");
        return card.explain("there are no targets");
    }
    let detail: serde_json::Value = serde_json::from_str(&card.detail).unwrap_or_default();
    let is_tagged = |tag: &str| card.error_tags.iter().any(|other| other == tag);
    let (tag, why) = match (detail["rank"].as_u64(), detail["k"].as_u64()) {
        _ if is_tagged("missing_prediction") => (None, "there are no candidates".to_owned()),
        (None, _) => (Some("missing_item"), "no candidate is a target".to_owned()),
        (Some(rank), Some(k)) if rank > k => {
            (Some("low_rank"), format!("the first target has rank {rank}, which is beyond k = {k}"))
        }
        (Some(rank), _) => (Some("low_rank"), format!("the first target has rank {rank}")),
    };
    tag.into_iter().fold(card, ScoreCard::tag).explain(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;
    use proptest::prelude::*;

    fn ranked(
        params: serde_json::Value,
        candidates: serde_json::Value,
        targets: serde_json::Value,
    ) -> Result<ScoreCard, PluginError> {
        Ranking::prepare(params)?.score(Inputs::new(&[candidates.into(), targets.into()]))
    }

    #[test]
    fn low_ranks_are_explained() {
        for (params, candidates, targets, score, tags, explain) in [
            (json!({}), json!(["a", "b"]), json!(["a"]), 1.0, &[][..], None),
            (
                json!({}),
                json!(["a", "b"]),
                json!(["b"]),
                0.5,
                &["low_rank"],
                Some("the first target has rank 2"),
            ),
            (
                json!({ "metric_type": "hit@k", "k": "1" }),
                json!(["a", "b"]),
                json!(["b"]),
                0.0,
                &["low_rank"],
                Some("the first target has rank 2, which is beyond k = 1"),
            ),
            (json!({ "metric_type": "hit@k", "k": " 2 " }), json!(["a", "b"]), json!(["b"]), 1.0, &[], None),
            (json!({}), json!(["a"]), json!(["b"]), 0.0, &["missing_item"], Some("no candidate is a target")),
            (
                json!({}),
                json!([null]),
                json!(["b"]),
                0.0,
                &["missing_item"],
                Some("no candidate is a target"),
            ),
            (
                json!({}),
                json!(null),
                json!(["b"]),
                0.0,
                &["missing_prediction"],
                Some("there are no candidates"),
            ),
            (
                json!({}),
                json!([]),
                json!(["b"]),
                0.0,
                &["missing_prediction"],
                Some("there are no candidates"),
            ),
            (json!({}), json!(["a"]), json!([]), 0.0, &["missing_reference"], Some("there are no targets")),
            (json!({}), json!(null), json!(null), 0.0, &["missing_reference"], Some("there are no targets")),
        ] {
            let card = ranked(params.clone(), candidates.clone(), targets);
            let Ok(card) = card else { panic!("{params} {candidates} is scored") };
            assert_eq!(card.primary_score, Some(score), "{params} {candidates}");
            assert_eq!(card.error_tags, tags, "{params} {candidates}");
            assert_eq!(card.explain.as_deref(), explain, "{params} {candidates}");
        }
    }

    #[test]
    fn parameters_of_existing_suites() {
        for k in [json!("x"), json!("-1"), json!("2.5"), json!(-1), json!([2])] {
            assert!(Ranking::prepare(json!({ "k": k })).is_err(), "{k}");
        }
        let spec = Ranking::spec();
        assert!(spec.params_schema.contains(r#"["integer","string"]"#), "{}", spec.params_schema);
        let spec = Likelihood::spec();
        let paths = spec.inputs.iter().find(|input| input.name == "logprobs").map(|input| &input.path_params);
        assert_eq!(paths.map(|paths| paths.join(" ")).as_deref(), Some("logprobs_field logprob_field"));
        let inputs = [Value::Absent, Value::from(json!([-0.5, "-1.5"]))];
        let card = Likelihood::prepare(json!({})).and_then(|metric| metric.score(Inputs::new(&inputs)));
        assert_eq!(card.map(|card| card.primary_score), Ok(Some(1.0)));
    }

    proptest! {
        #[test]
        fn a_score_below_1_has_a_tag(
            candidates in prop::collection::vec("[a-d]", 0..5),
            targets in prop::collection::vec("[a-d]", 0..3),
            k in 0_u64..4,
            is_hit in any::<bool>(),
        ) {
            let metric_type = if is_hit { "hit_at_k" } else { "mrr" };
            let params = |k: serde_json::Value| json!({ "metric_type": metric_type, "k": k });
            let found = ranked(params(json!(k)), json!(candidates), json!(targets));
            let card = found.map_err(|error| TestCaseError::fail(error.message))?;
            prop_assert_eq!(card.primary_score == Some(1.0), card.error_tags.is_empty());
            prop_assert_eq!(card.explain.is_none(), card.error_tags.is_empty());
            let spelled = ranked(params(json!(k.to_string())), json!(candidates), json!(targets));
            prop_assert_eq!(spelled, Ok(card));
        }
    }
}
