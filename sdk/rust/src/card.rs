//! Short ways to make score cards.

use crate::{ScoreCard, SubScore};
use serde::Serialize;
use serde_json::{Map, Value};

impl ScoreCard {
    /// A card with a primary score and nothing else.
    pub fn of(primary_score: f64) -> ScoreCard {
        ScoreCard {
            primary_score: Some(primary_score),
            pass: None,
            sub_scores: Vec::new(),
            error_tags: Vec::new(),
            explain: None,
            detail: "{}".to_owned(),
        }
    }

    /// 1 and passed, or 0 and not passed.
    pub fn binary(pass: bool) -> ScoreCard {
        ScoreCard::of(if pass { 1.0 } else { 0.0 }).pass(pass)
    }

    /// A card that says why there is nothing to score; the sample stays out of the mean.
    pub fn none(explain: impl Into<String>) -> ScoreCard {
        ScoreCard { primary_score: None, ..ScoreCard::of(0.0) }.explain(explain)
    }

    /// Says whether the answer is good enough.
    #[must_use]
    pub fn pass(mut self, pass: bool) -> ScoreCard {
        self.pass = Some(pass);
        self
    }

    /// Adds a sub-score.
    #[must_use]
    pub fn sub_score(mut self, name: &str, value: f64) -> ScoreCard {
        self.sub_scores.push(SubScore { name: name.to_owned(), value });
        self
    }

    /// Adds a tag that says why the score is low.
    #[must_use]
    pub fn tag(mut self, tag: &str) -> ScoreCard {
        self.error_tags.push(tag.to_owned());
        self
    }

    /// Says in words how the score came about.
    #[must_use]
    pub fn explain(mut self, text: impl Into<String>) -> ScoreCard {
        self.explain = Some(text.into());
        self
    }

    /// Sets what the scorer saw: a JSON object, or a structure that is written as one. What cannot be
    /// written as JSON is said in its place.
    #[must_use]
    pub fn detail(mut self, detail: &(impl Serialize + ?Sized)) -> ScoreCard {
        self.detail = serde_json::to_string(detail)
            .unwrap_or_else(|error| serde_json::json!({ "detail_error": error.to_string() }).to_string());
        self
    }

    /// Adds to the detail what it does not hold yet.
    pub(crate) fn add_detail<const N: usize>(mut self, members: [(&str, Value); N]) -> ScoreCard {
        let mut detail: Map<String, Value> = serde_json::from_str(&self.detail).unwrap_or_default();
        for (name, value) in members {
            detail.entry(name).or_insert(value);
        }
        self.detail = Value::Object(detail).to_string();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_author_said_stays() {
        let card =
            ScoreCard::of(1.0).detail(&json!({ "b": 1 })).add_detail([("b", 2.into()), ("a", 3.into())]);
        assert_eq!(card.detail, r#"{"b":1,"a":3}"#);
    }
}
