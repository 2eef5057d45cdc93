//! `majority_vote`: the score of the most frequent answer among the attempts at a sample.

use crate::detail::Detail;
use crate::pass_at_k::mean;
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Mean over samples of the score of the most frequent answer (self-consistency, Wang et al. 2022).
///
/// Rows with the same sample id are attempts at it. The answer is the member `prediction` (parameter) of the card's
/// detail, as a text without white space at the ends, or in its JSON spelling. A card without an answer or without a
/// score is not a vote. If answers tie, the first wins. If the same answer has several scores, its first counts.
///
/// Figures: `majority_score`, and `agreement`, the winner's mean share of the votes; their count is the number of
/// samples with a vote. The state takes the length of the distinct answers and some 20 bytes each.
pub struct MajorityVote {
    prediction: String,
}

/// Distinct answers to each sample: text, votes and score, in the order of first occurrence.
#[derive(Default, Serialize, Deserialize)]
pub struct MajorityState(BTreeMap<String, Vec<(String, u64, f64)>>);

impl Aggregator for MajorityVote {
    type State = MajorityState;

    fn name() -> &'static str {
        "majority_vote"
    }

    fn spec() -> MemberSpec {
        let description = "field of the score's detail with the answer";
        let properties = json!({
            "prediction": { "type": "string", "default": "prediction", "description": description },
        });
        MemberSpec::new("1", "Score of the most frequent answer (majority vote)", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?.known(|| ["prediction"])?;
        Ok(MajorityVote { prediction: params.text_or("prediction", "prediction")? })
    }

    fn add(&self, state: &mut MajorityState, row: Row) -> Result<(), PluginError> {
        let answer = Detail::read(&row)?.category(&self.prediction);
        let Some((answer, score)) = answer.zip(row.card.primary_score) else { return Ok(()) };
        let answers = state.0.entry(row.sample_id).or_default();
        match answers.iter_mut().find(|(other, _, _)| *other == answer) {
            Some((_, votes, _)) => *votes += 1,
            None => answers.push((answer, 1, score)),
        }
        Ok(())
    }

    fn finish(&self, MajorityState(samples): MajorityState) -> Result<Vec<Figure>, PluginError> {
        let (mut scores, mut shares) = (Vec::new(), Vec::new());
        for answers in samples.values() {
            let votes: u64 = answers.iter().map(|(_, votes, _)| votes).sum();
            let most = answers.iter().map(|(_, votes, _)| *votes).max().unwrap_or(0);
            if let Some((_, _, score)) = answers.iter().find(|(_, votes, _)| *votes == most) {
                scores.push(*score);
                shares.push(most as f64 / votes as f64);
            }
        }
        Ok(mean("majority_score".to_owned(), &scores)
            .into_iter()
            .chain(mean("agreement".to_owned(), &shares))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, figures, row};
    use gage_sdk::ScoreCard;

    #[test]
    fn the_most_frequent_answer_counts() {
        let vote = |id: &str, answer: Value, score: f64| {
            row(id, ScoreCard::of(score).detail(&json!({ "prediction": answer })))
        };
        let rows = vec![
            vote("a", json!("B"), 0.0),
            vote("b", json!(3), 1.0),
            vote("a", json!(" A "), 1.0),
            vote("a", json!("A"), 1.0),
            // A tie: the first wins.
            vote("b", json!("4"), 0.0),
            vote("b", json!(null), 0.0),
            row("c", ScoreCard::none("?").detail(&json!({ "prediction": "A" }))),
            row("d", ScoreCard::of(0.0)),
        ];
        let Ok(found) = figures::<MajorityVote>(json!({}), rows) else { panic!("rows are taken in") };
        assert_near(&found, "majority_score", 1.0, 1e-12);
        assert_near(&found, "agreement", (2.0 / 3.0 + 0.5) / 2.0, 1e-12);
        assert_eq!(found.first().map(|figure| figure.count), Some(2));
        assert_eq!(figures::<MajorityVote>(json!({}), Vec::new()), Ok(Vec::new()));
        assert!(MajorityVote::prepare(json!({ "answer": "x" })).is_err());
    }
}
