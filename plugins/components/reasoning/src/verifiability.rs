//! `claim_verifiability`: tests whether claims cite enough evidence that exists.

use crate::card::{PARSED, REFERENCE, failed, tagged, unparsed, with_parsed};
use crate::parsed::ParsedOutput;
use gage_reasoning_kit::fragments::member;
use gage_reasoning_kit::ids::items;
use gage_reasoning_kit::{Normalizer, cited, existing_ids, share};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;

/// Scores the share of claims that cite at least one existing piece of evidence.
///
/// Sub-scores: `evidence_sufficiency`, the share of claims that cite at least `min_evidence` (default 1) distinct
/// existing pieces; `evidence_validity`, the share of all citations (each counted once per claim) that exist, if there
/// are any; `evidence_per_claim`, the mean number of existing pieces. A card passes if all claims are sufficient and
/// all citations exist. This much of a citation is verifiable without reading it (the first half of "attributable to
/// identified sources", Rashkin et al. 2023). A judge must decide whether evidence supports its claim.
///
/// Evidence of a claim is read as for `claim_evidence_overlap`, but a claim that is a text has none. Existing evidence
/// is a list of ids or of objects with `id`, or an object whose keys are ids. If it is missing or empty there is no
/// score, with the tag `missing_reference`. Without an output or without claims the score is 0, with the tag
/// `missing_prediction`, `invalid_format` or `missing_claims`. Other tags: `missing_evidence` (a claim cites nothing),
/// `unknown_evidence`, `insufficient_evidence`. Parameters: `min_evidence`, `claim_evidence_key` (`evidence`),
/// `normalize` (true).
///
/// Inputs: `parsed` as for `reasoning_consistency`; `evidence`, path parameters `evidence_field` and
/// `label_field`, by default the first that exists of `sample.evidence`, `sample.documents`,
/// `sample.metadata.evidence`, `sample.metadata.documents`, `sample.gt_evidence_ids` and
/// `sample.metadata.gt_evidence_ids`.
pub struct ClaimVerifiability {
    normalizer: Normalizer,
    key: String,
    least: usize,
}

impl Metric for ClaimVerifiability {
    fn name() -> &'static str {
        "claim_verifiability"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("2", "Checks that claims cite existing evidence")
            .value_name("claim_verifiability")
            .sub_score("evidence_sufficiency", true)
            .sub_score("evidence_validity", true)
            .sub_score("evidence_per_claim", true)
            .params(json!({
                "normalize": Normalizer::schema(),
                "claim_evidence_key": {
                    "type": "string",
                    "default": "evidence",
                    "description": "field of a claim that lists its evidence",
                },
                "min_evidence": {
                    "type": "integer",
                    "minimum": 1,
                    "default": 1,
                    "description": "smallest number of pieces of evidence that a claim needs",
                },
            }));
        with_parsed(spec).input(
            "evidence",
            &["evidence_field", "label_field"],
            &[
                "sample.evidence",
                "sample.documents",
                "sample.metadata.evidence",
                "sample.metadata.documents",
                "sample.gt_evidence_ids",
                "sample.metadata.gt_evidence_ids",
            ],
            ValueKind::Json,
        )
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let least = params.get("min_evidence").map_or(Some(1), Value::as_u64);
        let Some(least) = least.filter(|least| *least >= 1).and_then(|least| usize::try_from(least).ok())
        else {
            let message = "params: 'min_evidence' must be an integer from 1 up";
            return Err(PluginError::invalid_config(message).at("/min_evidence"));
        };
        let key = params.text("claim_evidence_key")?.unwrap_or("evidence").to_owned();
        Ok(ClaimVerifiability { normalizer: Normalizer::new(&params)?, key, least })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let evidence =
            existing_ids(&gage_text_kit::json::read(inputs.value(REFERENCE), "evidence")?, self.normalizer);
        if evidence.is_empty() {
            return Ok(ScoreCard::none("there is no evidence to verify claims with").tag("missing_reference"));
        }
        let parsed = ParsedOutput::read(inputs.value(PARSED))?;
        let ParsedOutput::Object(members) = &parsed else { return Ok(unparsed(&parsed)) };
        let claims: Vec<&Value> =
            items(member(members, "claims")).iter().filter(|claim| !claim.is_null()).collect();
        if claims.is_empty() {
            return Ok(failed("missing_claims", "the parsed output has no claims"));
        }
        let (mut verifiable, mut sufficient, mut without) = (0, 0, 0);
        let (mut citations, mut existing) = (0, 0);
        for claim in &claims {
            let cited = cited(claim, &self.key, self.normalizer);
            let found = cited.iter().filter(|id| evidence.contains(*id)).count();
            verifiable += usize::from(found > 0);
            sufficient += usize::from(found >= self.least);
            without += usize::from(cited.is_empty());
            citations += cited.len();
            existing += found;
        }
        let card = ScoreCard::of(share(verifiable, claims.len()))
            .pass(sufficient == claims.len() && existing == citations)
            .sub_score("evidence_sufficiency", share(sufficient, claims.len()))
            .sub_score("evidence_per_claim", share(existing, claims.len()))
            .explain(format!("{verifiable} of {} claims cite evidence that exists", claims.len()))
            .detail(&json!({
                "claims": claims.len(),
                "verifiable": verifiable,
                "sufficient": sufficient,
                "citations": citations,
                "existing": existing,
            }));
        let card = if citations > 0 {
            card.sub_score("evidence_validity", share(existing, citations))
        } else {
            card
        };
        let card = tagged(card, without > 0, "missing_evidence");
        let card = tagged(card, existing < citations, "unknown_evidence");
        Ok(tagged(card, sufficient < claims.len(), "insufficient_evidence"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value as Input;

    fn card(params: Value, parsed: &Value, evidence: &Value) -> Result<ScoreCard, PluginError> {
        let json =
            |value: &Value| if value.is_null() { Input::Absent } else { Input::Json(value.to_string()) };
        ClaimVerifiability::prepare(params)?.score(Inputs::new(&[json(parsed), json(evidence)]))
    }

    #[test]
    fn claims() {
        let list = json!(["n1", "n2", 3]);
        let two = json!({ "claims": [{ "evidence": ["N1", "n1", 3.0] }, { "evidence": "n9" }] });
        for (params, parsed, evidence, score, values, tags) in [
            (
                json!({}),
                two.clone(),
                list.clone(),
                Some(0.5),
                vec![0.5, 1.0, 2.0 / 3.0],
                vec!["unknown_evidence", "insufficient_evidence"],
            ),
            (
                json!({ "min_evidence": 3 }),
                two,
                list.clone(),
                Some(0.5),
                vec![0.0, 1.0, 2.0 / 3.0],
                vec!["unknown_evidence", "insufficient_evidence"],
            ),
            (
                json!({ "claim_evidence_key": "refs" }),
                json!({ "claims": [{ "refs": [{ "id": "n2" }] }] }),
                json!([{ "id": "n2", "text": "x" }]),
                Some(1.0),
                vec![1.0, 1.0, 1.0],
                vec![],
            ),
            (
                json!({}),
                json!({ "claims": [{ "evidence": ["a"] }] }),
                json!({ "a": "text" }),
                Some(1.0),
                vec![1.0, 1.0, 1.0],
                vec![],
            ),
            (
                json!({}),
                json!({ "claims": ["n1"] }),
                list.clone(),
                Some(0.0),
                vec![0.0, 0.0],
                vec!["missing_evidence", "insufficient_evidence"],
            ),
            (json!({}), json!({ "claims": [null] }), list.clone(), Some(0.0), vec![], vec!["missing_claims"]),
            (json!({}), json!({}), list.clone(), Some(0.0), vec![], vec!["missing_claims"]),
            (json!({}), json!("x"), list.clone(), Some(0.0), vec![], vec!["invalid_format"]),
            (json!({}), json!(null), list, Some(0.0), vec![], vec!["missing_prediction"]),
            (json!({}), json!({ "claims": [{}] }), json!([]), None, vec![], vec!["missing_reference"]),
            (json!({}), json!(null), json!(null), None, vec![], vec!["missing_reference"]),
        ] {
            let Ok(card) = card(params, &parsed, &evidence) else { panic!("{parsed} is scored") };
            assert_eq!(card.primary_score, score, "{parsed} {evidence}");
            let found: Vec<f64> = card.sub_scores.iter().map(|sub| sub.value).collect();
            assert_eq!(found, values, "{parsed} {evidence}");
            assert_eq!(card.error_tags, tags, "{parsed} {evidence}");
        }
        for least in [json!(0), json!("1"), json!(1.5)] {
            assert!(ClaimVerifiability::prepare(json!({ "min_evidence": least })).is_err());
        }
    }
}
