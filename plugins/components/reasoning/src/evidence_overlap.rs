//! `claim_evidence_overlap`: tests whether claims cite the expected evidence.

use crate::card::{PARSED, REFERENCE, failed, rounded, tagged, unparsed, value_prefix, with_parsed};
use crate::parsed::ParsedOutput;
use gage_reasoning_kit::fragments::member;
use gage_reasoning_kit::{Normalizer, evidence_ids, share};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value as Input, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use std::collections::HashSet;

/// Precision, recall and their harmonic mean (the primary score) of the evidence ids that all claims cite together.
/// Each id counts once. Figures have four decimals.
///
/// Evidence is an id, or an object with `id`, or a list of them, under the key `claim_evidence_key` (default
/// `evidence`) of a claim; a claim that is a text is itself an id. Ids are texts or numbers; numbers count by value and
/// match a text that spells them. Items without an id are ignored. The reference has the same form, or is an object
/// with `claims` or a list of claims. Case and white space are ignored unless `normalize` is false. If the reference is
/// an empty list, an output without evidence scores 1.
///
/// Without a reference, or without an output, the score is 0, with the tag `missing_reference`, `missing_prediction` or
/// `invalid_format`; a missing reference comes first. The tag is `missing_evidence` if nothing is cited, and
/// `missing_item` or `wrong_evidence` for a missing or an unexpected id. `name` (default `evidence`; 1 to 40 letters,
/// digits, `_`, `-` and `.`) names the sub-scores `evidence_precision` and `evidence_recall`; another name also adds
/// `name_f1`.
///
/// Inputs: `parsed` as for `reasoning_consistency`; `reference`, path parameters `evidence_field` and `label_field`.
/// Its default is the first that exists of `sample.gt_evidence_ids`, `sample.gt_evidence`,
/// `sample.ground_truth.evidence_ids`, `sample.ground_truth.evidence`, `sample.gt_claims` and
/// `sample.ground_truth.claims`. The same paths below `sample.metadata` follow, where preprocessors put them.
pub struct ClaimEvidenceOverlap {
    normalizer: Normalizer,
    key: String,
    /// Names of precision and recall, and of F1 if it is not the primary score's name.
    names: [String; 2],
    f1_name: Option<String>,
}

const NAME: &str = "evidence";

impl Metric for ClaimEvidenceOverlap {
    fn name() -> &'static str {
        "claim_evidence_overlap"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("3", "Compares the evidence cited by claims with the expected evidence")
            .value_name("evidence_f1")
            .sub_score("evidence_precision", true)
            .sub_score("evidence_recall", true)
            .params(json!({
                "normalize": Normalizer::schema(),
                "claim_evidence_key": {
                    "type": "string",
                    "default": "evidence",
                    "description": "field of a claim that lists its evidence",
                },
                "name": { "type": "string", "default": NAME, "description": "prefix of the values' names" },
            }));
        with_parsed(spec).input(
            "reference",
            &["evidence_field", "label_field"],
            &[
                "sample.gt_evidence_ids",
                "sample.gt_evidence",
                "sample.ground_truth.evidence_ids",
                "sample.ground_truth.evidence",
                "sample.gt_claims",
                "sample.ground_truth.claims",
                "sample.metadata.gt_evidence_ids",
                "sample.metadata.gt_evidence",
                "sample.metadata.ground_truth.evidence_ids",
                "sample.metadata.ground_truth.evidence",
                "sample.metadata.gt_claims",
                "sample.metadata.ground_truth.claims",
            ],
            ValueKind::Json,
        )
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let name = value_prefix(&params, NAME)?;
        Ok(ClaimEvidenceOverlap {
            normalizer: Normalizer::new(&params)?,
            key: params.text("claim_evidence_key")?.unwrap_or("evidence").to_owned(),
            names: ["precision", "recall"].map(|figure| format!("{name}_{figure}")),
            f1_name: (name != NAME).then(|| format!("{name}_f1")),
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        if *inputs.value(REFERENCE) == Input::Absent {
            let card = failed("missing_reference", "there is no expected evidence");
            return Ok(self.with_figures(card, 0.0, 0.0, 0.0));
        }
        let parsed = ParsedOutput::read(inputs.value(PARSED))?;
        let ParsedOutput::Object(members) = &parsed else {
            return Ok(self.with_figures(unparsed(&parsed), 0.0, 0.0, 0.0));
        };
        let reference = gage_text_kit::json::read(inputs.value(REFERENCE), "reference")?;
        let (cited, expected) = (self.ids(member(members, "claims")), self.ids(&reference));
        let common = cited.iter().filter(|id| expected.contains(*id)).count();
        let card = ScoreCard::of(0.0)
            .pass(common == cited.len() && common == expected.len())
            .explain(format!("{common} of {} cited and of {} expected ids", cited.len(), expected.len()))
            .detail(&json!({ "cited": cited.len(), "expected": expected.len(), "common": common }));
        if cited.is_empty() && expected.is_empty() {
            return Ok(self.with_figures(card, 1.0, 1.0, 1.0));
        }
        let card = tagged(card, cited.is_empty(), "missing_evidence");
        let card = tagged(card, common < expected.len(), "missing_item");
        let card = tagged(card, common < cited.len(), "wrong_evidence");
        // 2PR / (P + R), without its division of 0 by 0.
        let f1 = share(2 * common, cited.len() + expected.len());
        Ok(self.with_figures(card, share(common, cited.len()), share(common, expected.len()), f1))
    }
}

impl ClaimEvidenceOverlap {
    fn ids(&self, value: &Value) -> HashSet<String> {
        evidence_ids(value, &self.key, self.normalizer)
    }

    fn with_figures(&self, card: ScoreCard, precision: f64, recall: f64, f1: f64) -> ScoreCard {
        let [precision_name, recall_name] = &self.names;
        let card = ScoreCard { primary_score: Some(rounded(f1)), ..card }
            .sub_score(precision_name, rounded(precision))
            .sub_score(recall_name, rounded(recall));
        self.f1_name.iter().fold(card, |card, name| card.sub_score(name, rounded(f1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(params: Value, parsed: &Value, reference: Option<&Value>) -> Result<ScoreCard, PluginError> {
        let json = |value: &Value| Input::Json(value.to_string());
        let inputs = [json(parsed), reference.map_or(Input::Absent, json)];
        ClaimEvidenceOverlap::prepare(params)?.score(Inputs::new(&inputs))
    }

    #[test]
    fn evidence() {
        let claims = |evidence: Value| json!({ "claims": [{ "text": "x", "evidence": evidence }] });
        for (parsed, reference, expected, tags) in [
            (claims(json!(["N1", "n2"])), Some(json!(["n1 ", "n2"])), [1.0, 1.0, 1.0], vec![]),
            (claims(json!([1, 2.0, "3"])), Some(json!(["1", 2, 3])), [1.0, 1.0, 1.0], vec![]),
            (
                claims(json!("n1")),
                Some(json!({ "claims": [{ "evidence": ["n1"] }] })),
                [1.0, 1.0, 1.0],
                vec![],
            ),
            (
                claims(json!(["n1"])),
                Some(json!([{ "id": "c1", "evidence": ["n1"] }])),
                [1.0, 1.0, 1.0],
                vec![],
            ),
            (claims(json!({ "id": 0 })), Some(json!([0])), [1.0, 1.0, 1.0], vec![]),
            (
                claims(json!(["n1", "n1", "x"])),
                Some(json!(["n1"])),
                [0.5, 1.0, 0.6667],
                vec!["wrong_evidence"],
            ),
            (
                claims(json!(["n1"])),
                Some(json!(["n1", "n2", "n3"])),
                [1.0, 0.3333, 0.5],
                vec!["missing_item"],
            ),
            (
                claims(json!([null, " ", {}])),
                Some(json!(["n1"])),
                [0.0; 3],
                vec!["missing_evidence", "missing_item"],
            ),
            (claims(json!(["n1"])), Some(json!([])), [0.0; 3], vec!["wrong_evidence"]),
            (json!({}), Some(json!([])), [1.0; 3], vec![]),
            (json!({}), None, [0.0; 3], vec!["missing_reference"]),
            (json!(null), None, [0.0; 3], vec!["missing_reference"]),
            (json!("x"), None, [0.0; 3], vec!["missing_reference"]),
            (json!(null), Some(json!([])), [0.0; 3], vec!["missing_prediction"]),
            (json!(["n1"]), Some(json!(["n1"])), [0.0; 3], vec!["invalid_format"]),
        ] {
            let Ok(card) = card(json!({}), &parsed, reference.as_ref()) else { panic!("{parsed} is scored") };
            let figures: Vec<f64> =
                card.sub_scores.iter().map(|sub| sub.value).chain(card.primary_score).collect();
            assert_eq!(figures, expected, "{parsed}");
            assert_eq!(card.error_tags, tags, "{parsed}");
        }
    }

    #[test]
    fn names_and_keys() {
        let parsed = json!({ "claims": [{ "refs": ["n1"] }] });
        let params = json!({ "claim_evidence_key": "refs", "name": "ev" });
        let Ok(card) = card(params, &parsed, Some(&json!("n1"))) else { panic!("it is scored") };
        let names: Vec<&str> = card.sub_scores.iter().map(|sub| sub.name.as_str()).collect();
        assert_eq!(names, ["ev_precision", "ev_recall", "ev_f1"]);
        for name in ["", "a b", &"a".repeat(41)] {
            assert!(ClaimEvidenceOverlap::prepare(json!({ "name": name })).is_err());
        }
    }
}
