//! `ifeval`: whether a response follows the instructions of its prompt.

use gage_instruction_kit::{Instruction, Verdicts, follow, instructions};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::value::as_text;

const PREDICTION: usize = 0;
const INSTRUCTIONS: usize = 1;
const ARGUMENTS: usize = 2;

/// Maximum number of instructions that an explanation names.
const MAX_NAMED: usize = 3;

/// Checks the instructions of IFEval, as lm-evaluation-harness does: the 25 of the benchmark, each with the arguments
/// of its row.
///
/// Zhou and others, "Instruction-following evaluation for large language models", 2023.
///
/// At the level `prompt`, the score is 1 if all instructions are followed. At the level `instruction`, it is the share
/// of instructions that are followed, and the weight of the sample is their number. `weighted_mean`, the default
/// aggregation, then gives the accuracy of the benchmark at either level. The sub-score `loose` is the same for the best
/// of eight variants of the response, separately for each instruction: without the first line, the last line or both,
/// and without stars.
///
/// A response passes if it follows all instructions. The tags are those not followed, without what precedes the colon.
/// Without a response, or without instructions, the scores are 0, with the tag `missing_prediction` or
/// `missing_reference`.
pub struct Ifeval {
    level: Level,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Prompt,
    Instruction,
}

impl Metric for Ifeval {
    fn name() -> &'static str {
        "ifeval"
    }

    fn spec() -> MetricSpec {
        let mut spec = MetricSpec::new("1", "Instructions that an answer follows (IFEval)")
            .value_name("strict")
            .sub_score("loose", true)
            .prediction("prediction_field")
            .input(
                "instructions",
                &["instructions_field"],
                &["sample.metadata.instruction_id_list"],
                ValueKind::Json,
            )
            .input("arguments", &["arguments_field"], &["sample.metadata.kwargs"], ValueKind::Json)
            .param(
                "level",
                json!({
                    "enum": ["prompt", "instruction"], "default": "prompt",
                    "description": "Score all instructions of a prompt together, or the share that is followed",
                }),
            );
        spec.default_aggregation = "weighted_mean".to_owned();
        spec
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let levels = [("prompt", Level::Prompt), ("instruction", Level::Instruction)];
        Ok(Ifeval { level: Params::new(params)?.one_of("level", &levels, Level::Prompt)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let instructions = match inputs.value(INSTRUCTIONS) {
            Value::Absent => Vec::new(),
            names => instructions(&names.to_json(), &inputs.json(ARGUMENTS))?,
        };
        if instructions.is_empty() {
            return Ok(ScoreCard::binary(false).sub_score("loose", 0.0).tag("missing_reference"));
        }
        let prediction = as_text(inputs.value(PREDICTION));
        let verdicts = follow(&instructions, prediction.as_deref().unwrap_or_default())?;
        let card = self.card(&instructions, &verdicts);
        Ok(if prediction.is_none() { card.tag("missing_prediction") } else { card })
    }
}

impl Ifeval {
    fn card(&self, instructions: &[Instruction], verdicts: &Verdicts) -> ScoreCard {
        let missed: Vec<&str> = instructions
            .iter()
            .zip(&verdicts.strict)
            .filter(|(_, is_followed)| !**is_followed)
            .map(|(instruction, _)| instruction.name.as_str())
            .collect();
        let mut detail = json!({ "strict": verdicts.strict, "loose": verdicts.loose });
        if let (Level::Instruction, Some(detail)) = (self.level, detail.as_object_mut()) {
            detail.insert("weight".to_owned(), instructions.len().into());
        }
        let mut card = ScoreCard::of(self.score_of(&verdicts.strict))
            .pass(missed.is_empty())
            .sub_score("loose", self.score_of(&verdicts.loose))
            .detail(&detail);
        for name in &missed {
            let tag = name.rsplit(':').next().unwrap_or_default();
            if !card.error_tags.iter().any(|other| other == tag) {
                card = card.tag(tag);
            }
        }
        if missed.is_empty() {
            return card;
        }
        let named = missed.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if missed.len() > MAX_NAMED { " …" } else { "" };
        card.explain(format!("{} of {} not followed: {named}{more}", missed.len(), instructions.len()))
    }

    fn score_of(&self, followed: &[bool]) -> f64 {
        let count = followed.iter().filter(|is_followed| **is_followed).count();
        match self.level {
            Level::Prompt => f64::from(u8::from(count == followed.len())),
            Level::Instruction => count as f64 / followed.len() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["punctuation:no_comma", "detectable_format:title", "startend:quotation"];

    fn card(params: serde_json::Value, prediction: Value, names: Value, arguments: Value) -> ScoreCard {
        let inputs = [prediction, names, arguments];
        Ifeval::prepare(params).and_then(|metric| metric.score(Inputs::new(&inputs))).unwrap()
    }

    fn json(value: serde_json::Value) -> Value {
        Value::Json(value.to_string())
    }

    #[test]
    fn levels_count_prompts_or_instructions() {
        for (level, prediction, strict, loose, weight) in [
            ("prompt", "\"<<A>>\"", 1.0, 1.0, None),
            ("prompt", "Yes, of course:\n\"<<A>>\"", 0.0, 1.0, None),
            ("instruction", "Yes, of course:\n\"<<A>>\"", 1.0 / 3.0, 1.0, Some(3)),
            ("instruction", "A", 1.0 / 3.0, 1.0 / 3.0, Some(3)),
            ("instruction", " ", 0.0, 0.0, Some(3)),
        ] {
            let card = card(json!({ "level": level }), prediction.into(), json(json!(NAMES)), Value::Absent);
            assert_eq!(card.primary_score, Some(strict), "{level} {prediction}");
            assert_eq!(card.sub_scores[0].value, loose, "{level} {prediction}");
            assert_eq!(card.pass, Some(strict == 1.0), "{level} {prediction}");
            let detail: serde_json::Value = serde_json::from_str(&card.detail).unwrap();
            assert_eq!(detail["weight"].as_u64(), weight, "{level} {prediction}");
        }
    }

    #[test]
    fn what_was_not_followed_is_named() {
        let arguments = json(json!([{ "num_words": 3, "relation": "less than" }, {}]));
        let names = json(json!(["length_constraints:number_words", "punctuation:no_comma"]));
        let card = card(json!({}), "a, b c".into(), names, arguments);
        assert_eq!(card.error_tags, ["number_words", "no_comma"]);
        let expected = "2 of 2 not followed: length_constraints:number_words, punctuation:no_comma";
        assert_eq!(card.explain.as_deref(), Some(expected));
        assert_eq!(card.detail, r#"{"strict":[false,false],"loose":[false,false]}"#);
    }

    #[test]
    fn missing_values_score_zero() {
        for (prediction, names, tags) in [
            (Value::Absent, json(json!(["punctuation:no_comma"])), vec!["no_comma", "missing_prediction"]),
            (Value::Absent, Value::Absent, vec!["missing_reference"]),
            ("a".into(), json(json!([])), vec!["missing_reference"]),
        ] {
            let card = card(json!({}), prediction, names, Value::Absent);
            assert_eq!((card.primary_score, card.pass), (Some(0.0), Some(false)));
            assert_eq!(card.error_tags, tags);
        }
    }

    #[test]
    fn unknown_levels_are_refused() {
        assert!(Ifeval::prepare(json!({ "level": "word" })).is_err());
    }
}
