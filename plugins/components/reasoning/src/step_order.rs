//! `reasoning_step_order`: completeness and order of an argument's steps.

use crate::card::{PARSED, REFERENCE, failed, unparsed, with_parsed};
use crate::parsed::{ParsedOutput, final_answers};
use crate::{internal_order, reference_order};
use gage_reasoning_kit::fragments::member;
use gage_reasoning_kit::steps::needs;
use gage_reasoning_kit::{MatchBy, Normalizer, Step};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;

/// Scores the order and the completeness of the steps of an argument.
///
/// With reference steps, let L be the length of the longest common subsequence of the p steps given and the r expected.
/// The score is 2L / (p + r), the F-measure of recall L/r and precision L/p (Lin 2004, ROUGE-L, over steps instead of
/// words). Sub-scores:
///
/// - `step_completeness`: the share of expected steps that are present, in any order
/// - `step_precision`: the share of given steps that were expected
/// - `kendall_tau`: from −1 to 1, the rank correlation of the shared steps, if there are two or more (Kendall 1938; for
///   the order of information Lapata 2006)
///
/// A repeated step counts at its first position. `match_by` selects how steps are matched: `id`, `text`, or `auto` (the
/// default), by id if every step on both sides has one.
///
/// Without reference steps, the score is the mean of the checks that apply, each a sub-score:
///
/// - `id_order`: the share of neighbours with rising numbers, if there are two or more ids, and all are a number after
///   the same prefix (`s1`, `s2`)
/// - `step_completeness`: the share of these numbers from 1 to the largest that are present
/// - `dependency_order`: the share of dependencies (ids under `depends_on` of a step or of the final answer) that name
///   an earlier step
/// - `conclusion`: 1 if the last step mentions the final answer as whole words, so that only the answer follows its
///   last support, else 0
///
/// If none applies, there is no score. Without reference steps and without an output there is none either, and the tag
/// is `missing_reference`.
///
/// Steps are texts, or objects with `id`, `text` and `depends_on`. Case and white space are ignored unless `normalize`
/// is false. An output that is missing, is not an object or has no steps scores 0, with the tag `missing_prediction`,
/// `invalid_format` or `missing_steps`. Other tags: `missing_item`, `unexpected_step`, `wrong_order`,
/// `broken_dependency`, `missing_conclusion`. Takes n log n steps.
///
/// Inputs: `parsed` as for `reasoning_consistency`; `reference`, path parameters `steps_field` and `label_field`. Its
/// default is the first that exists of `sample.gt_steps`, `sample.gt_reasoning` and `sample.ground_truth.steps`. The
/// same paths below `sample.metadata` follow, where preprocessors put them. The reference is a list of steps, or an
/// object with `steps`. A reference without steps counts as none.
pub struct ReasoningStepOrder {
    normalizer: Normalizer,
    match_by: MatchBy,
}

impl Metric for ReasoningStepOrder {
    fn name() -> &'static str {
        "reasoning_step_order"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("3", "Checks that all reasoning steps occur, in order")
            .value_name("step_order")
            .sub_score("step_completeness", true)
            .sub_score("step_precision", true)
            .sub_score("kendall_tau", true)
            .sub_score("id_order", true)
            .sub_score("dependency_order", true)
            .sub_score("conclusion", true)
            .params(json!({
                "normalize": Normalizer::schema(),
                "match_by": {
                    "enum": ["auto", "id", "text"],
                    "default": "auto",
                    "description": "how steps are matched: by `id`, by `text`, or (`auto`) by id if steps \
                     have one",
                },
            }));
        with_parsed(spec).input(
            "reference",
            &["steps_field", "label_field"],
            &[
                "sample.gt_steps",
                "sample.gt_reasoning",
                "sample.ground_truth.steps",
                "sample.metadata.gt_steps",
                "sample.metadata.gt_reasoning",
                "sample.metadata.ground_truth.steps",
            ],
            ValueKind::Json,
        )
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let orders = [("auto", MatchBy::Auto), ("id", MatchBy::Id), ("text", MatchBy::Text)];
        let match_by = params.one_of("match_by", &orders, MatchBy::Auto)?;
        Ok(ReasoningStepOrder { normalizer: Normalizer::new(&params)?, match_by })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let parsed = ParsedOutput::read(inputs.value(PARSED))?;
        let reference = gage_text_kit::json::read(inputs.value(REFERENCE), "reference")?;
        let reference = Step::read_all(reference.get("steps").unwrap_or(&reference), self.normalizer);
        if matches!(parsed, ParsedOutput::Missing) && reference.is_empty() {
            let why = "there are neither expected steps nor a parsed output";
            return Ok(ScoreCard::none(why).tag("missing_reference"));
        }
        let ParsedOutput::Object(members) = &parsed else { return Ok(unparsed(&parsed)) };
        let steps = Step::read_all(member(members, "steps"), self.normalizer);
        if steps.is_empty() {
            return Ok(failed("missing_steps", "the parsed output has no steps"));
        }
        if reference.is_empty() {
            let answers = final_answers(member(members, "final_answer"), self.normalizer)?;
            let answer = member(members, "final_answer").as_object();
            let needs = answer.map(|answer| needs(answer, self.normalizer));
            return Ok(internal_order::score(&steps, &answers, &needs.unwrap_or_default()));
        }
        Ok(reference_order::score(&steps, &reference, self.match_by))
    }
}

#[cfg(test)]
mod tests;
