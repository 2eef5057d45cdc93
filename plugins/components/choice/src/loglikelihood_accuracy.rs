//! `loglikelihood_accuracy`: whether the right option is the most likely continuation.

use crate::continuations::{Continuation, best};
use crate::metric::with_unknown;
use crate::scored_options::{ScoredOptions, with_continuations};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::text::excerpt;

/// Scores 1 if the option with the highest sum of log-probabilities is a right one.
///
/// Each of several references of the Sample is right, and so is each option of a label that is a list.
///
/// Sub-scores:
/// - `acc_norm`: the same per character of the option's text; a `continuation_prefix` is not counted;
/// - `acc_bytes`: the same per UTF-8 byte;
/// - `probability`: that of the right options among all (softmax of the sums);
/// - `confidence`: the probability of the most likely option, which the aggregator `ece` reads;
/// - `brier`: the sum of the squared distances between the probabilities and the truth, from 0 to 2. The truth is 1 for the
///   right option, or shared equally by several;
/// - `acc_mutual_info`: the same for the pointwise mutual information, the sum less the one after the Sample's
///   `unconditioned_input`. Absent if a Sample has none;
/// - `margin`: the sum of the best right option less that of the best wrong one, in nats; absent if there is no wrong one.
///
/// If options are equally likely, the first wins, as in the answer that the host records. `acc`, `acc_norm`, `acc_bytes` and
/// `brier` (`brier_score`) are the figures of EleutherAI's lm-evaluation-harness.
///
/// Without continuation scores, or if none of them belongs to the reference, there is no score: nothing was measured.
/// The tag `missing_reference` comes before `missing_prediction`.
pub struct LoglikelihoodAccuracy;

impl Metric for LoglikelihoodAccuracy {
    fn name() -> &'static str {
        "loglikelihood_accuracy"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("8", "Checks that the correct option is the most likely continuation")
            .value_name("acc")
            .sub_score("acc_norm", true)
            .sub_score("acc_bytes", true)
            .sub_score("acc_mutual_info", true)
            .sub_score("probability", true)
            .sub_score("confidence", true)
            .sub_score("brier", false)
            .sub_score("margin", true);
        with_continuations(spec)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| LoglikelihoodAccuracy)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let options = match ScoredOptions::read(inputs)? {
            Ok(options) => options,
            Err(card) => return Ok(card),
        };
        let ScoredOptions { continuations, right, unknown, .. } = &options;
        let is_right = |place: usize| right.get(place).copied().unwrap_or(false);
        let share = |place: usize| if is_right(place) { 1.0 } else { 0.0 };
        let chosen = best(continuations, Continuation::logprob);
        let normalized = best(continuations, Continuation::per_character);
        let by_bytes = best(continuations, Continuation::per_byte);
        let label = |place: usize| continuations.get(place).map(|continuation| excerpt(&continuation.id));
        let softmax = options.softmax();
        let card = ScoreCard::binary(is_right(chosen))
            .sub_score("acc_norm", share(normalized))
            .sub_score("acc_bytes", share(by_bytes))
            .sub_score("probability", softmax.right())
            .sub_score("confidence", softmax.largest())
            .sub_score("brier", softmax.brier())
            .detail(&json!({ "prediction": label(chosen), "prediction_normalized": label(normalized) }));
        let card = match options.margin() {
            Some(margin) => card.sub_score("margin", margin),
            None => card,
        };
        let card = match best_by_mutual_information(continuations) {
            Some(place) => card.sub_score("acc_mutual_info", share(place)),
            None => card,
        };
        let card = if is_right(chosen) { card } else { card.tag("wrong_answer") };
        Ok(with_unknown(card, unknown))
    }
}

/// Returns the index of the option with the most mutual information; of equal ones, the first. `None` if it is unknown of
/// one of them.
///
/// Holtzman et al., "Surface Form Competition: Why the Highest Probability Answer Isn't Always Right", EMNLP 2021.
fn best_by_mutual_information(continuations: &[Continuation]) -> Option<usize> {
    let values: Vec<f64> =
        continuations.iter().map(Continuation::mutual_information).collect::<Option<_>>()?;
    let values = values.into_iter().enumerate();
    values.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    const OPTIONS_MAP: &str = r#"{"A":"Shark","B":"Dolphin"}"#;

    fn card(continuations: &str, reference: &str, options: &str) -> Result<ScoreCard, PluginError> {
        let json = |text: &str| match text {
            "" => Value::Absent,
            text if text.starts_with(['[', '{']) => Value::Json(text.to_owned()),
            text => Value::Text(text.to_owned()),
        };
        let inputs = [json(continuations), json(reference), json(options), Value::Absent];
        LoglikelihoodAccuracy.score(Inputs::new(&inputs))
    }

    fn sub_scores(card: &ScoreCard) -> Vec<(&str, f64)> {
        card.sub_scores.iter().map(|sub| (sub.name.as_str(), sub.value)).collect()
    }

    #[test]
    fn the_most_likely_option_counts() {
        let half = 0.5_f64.ln();
        let scores = format!(
            r#"[{{"id":"A","logprob":{half},"byte_count":1,"is_greedy":false}},
                {{"id":"B","logprob":{half},"byte_count":7,"token_count":2}}]"#
        );
        for (reference, acc, acc_norm) in [
            ("A", 1.0, 0.0),
            ("B", 0.0, 1.0),
            ("Dolphin", 0.0, 1.0),
            ("b", 0.0, 1.0),
            (r#"["A","B"]"#, 1.0, 1.0),
        ] {
            let Ok(card) = card(&scores, reference, OPTIONS_MAP) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(acc), "{reference}");
            assert_eq!(card.pass, Some(acc == 1.0));
            let of = |name: &str| sub_scores(&card).iter().find(|sub| sub.0 == name).map(|sub| sub.1);
            assert_eq!((of("acc_norm"), of("acc_bytes")), (Some(acc_norm), Some(acc_norm)), "{reference}");
            let (probability, brier, margin) =
                if reference.starts_with('[') { (1.0, 0.0, None) } else { (0.5, 0.5, Some(0.0)) };
            assert_eq!((of("probability"), of("margin")), (Some(probability), margin), "{reference}");
            assert_eq!((of("confidence"), of("brier")), (Some(0.5), Some(brier)), "{reference}");
        }
    }

    #[test]
    fn each_reference_of_a_sample_is_right() {
        let scores = r#"[{"id":"A","logprob":-3},{"id":"B","logprob":-1}]"#;
        let references =
            r#"[{"answer":[{"type":"text","text":"A"}]},{"answer":[{"type":"text","text":"B"}]}]"#;
        for (label, acc) in [("A", 1.0), ("B", 1.0)] {
            let json = |text: &str| Value::Json(text.to_owned());
            let inputs = [json(scores), Value::Text(label.to_owned()), json(OPTIONS_MAP), json(references)];
            let Ok(card) = LoglikelihoodAccuracy.score(Inputs::new(&inputs)) else {
                panic!("a card is made")
            };
            assert_eq!(card.primary_score, Some(acc), "{label}");
        }
    }

    #[test]
    fn sums_far_from_zero_are_compared() {
        let scores =
            r#"[{"id":"0","logprob":-2000,"byte_count":1},{"id":"1","logprob":-2001,"byte_count":1}]"#;
        let Ok(card) = card(scores, "0", "") else { panic!("a card is made") };
        let of = |name: &str| sub_scores(&card).iter().find(|sub| sub.0 == name).map(|sub| sub.1);
        assert_eq!(of("margin"), Some(1.0));
        let expected = 1.0 / (1.0 + (-1.0_f64).exp());
        assert!(of("probability").is_some_and(|value| (value - expected).abs() < 1e-12));
    }

    /// Six Cyrillic letters have twelve bytes: the short option wins per byte, and the long one per character.
    #[test]
    fn characters_and_bytes_differ_outside_of_ascii() {
        let recorded = r#"[{"id":"A","logprob":-6,"byte_count":12,"character_count":6},
            {"id":"B","logprob":-6,"byte_count":9}]"#;
        let of_options = r#"[{"id":"A","logprob":-6},{"id":"B","logprob":-6}]"#;
        let options = r#"{"A":"дерево","B":"evergreen"}"#;
        for scores in [recorded, of_options] {
            for (reference, acc_norm, acc_bytes) in [("A", 0.0, 1.0), ("B", 1.0, 0.0)] {
                let Ok(card) = card(scores, reference, options) else { panic!("a card is made") };
                let found: Vec<f64> = sub_scores(&card).iter().take(2).map(|sub| sub.1).collect();
                assert_eq!(found, [acc_norm, acc_bytes], "{reference} {scores}");
            }
        }
    }

    #[test]
    fn bytes_may_come_from_the_options() {
        let scores = r#"[{"id":"A","logprob":-5},{"id":"B","logprob":-6}]"#;
        let Ok(card) = card(scores, "B", OPTIONS_MAP) else { panic!("a card is made") };
        assert_eq!(sub_scores(&card).first(), Some(&("acc_norm", 1.0)));
    }

    #[test]
    fn what_was_not_measured_has_no_score() {
        for (continuations, reference, tag) in [
            ("", "A", "missing_prediction"),
            ("[]", "A", "missing_prediction"),
            ("[]", "", "missing_reference"),
            ("", "[]", "missing_reference"),
            (r#"[{"id":"A","logprob":-1,"byte_count":1}]"#, "", "missing_reference"),
            (r#"[{"id":"A","logprob":-1,"byte_count":1}]"#, "C", "unknown_reference"),
        ] {
            let Ok(card) = card(continuations, reference, OPTIONS_MAP) else { panic!("a card is made") };
            assert_eq!((card.primary_score, card.error_tags), (None, vec![tag.to_owned()]));
        }
        for continuations in [
            r#"[{"id":"A","logprob":null,"byte_count":1}]"#,
            r#"[{"id":"A","logprob":1e400,"byte_count":1}]"#,
            r#"[{"id":"E","logprob":-1}]"#,
            r#"[{"id":"A"}]"#,
            r#"{"A":-1}"#,
            r"[1]",
        ] {
            assert!(card(continuations, "A", OPTIONS_MAP).is_err(), "{continuations}");
        }
    }

    #[test]
    fn likely_options_lose_to_those_that_the_question_raises() {
        let scores = |unconditioned: [&str; 2]| {
            format!(
                r#"[{{"id":"A","logprob":-1,"byte_count":1,"unconditioned_logprob":{}}},
                    {{"id":"B","logprob":-2,"byte_count":1,"unconditioned_logprob":{}}}]"#,
                unconditioned[0], unconditioned[1]
            )
        };
        for (unconditioned, expected) in [
            (["-1", "-5"], Some(1.0)),
            (["-4", "-5"], Some(0.0)),
            (["-4", "null"], None),
            (["null", "null"], None),
        ] {
            let Ok(card) = card(&scores(unconditioned), "B", OPTIONS_MAP) else { panic!("a card is made") };
            let found = sub_scores(&card).into_iter().find(|(name, _)| *name == "acc_mutual_info");
            assert_eq!(found.map(|(_, value)| value), expected, "{unconditioned:?}");
            assert_eq!(card.primary_score, Some(0.0));
        }
    }
}
