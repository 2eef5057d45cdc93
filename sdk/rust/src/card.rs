//! Constructors and builder methods for score cards.

use crate::component::json_text;
use crate::{ScoreCard, SubScore};
use serde::Serialize;
use serde_json::{Map, Value};

impl ScoreCard {
    /// Creates a card with only a primary score.
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

    /// Creates a card with 1 and passed, or 0 and not passed.
    pub fn binary(pass: bool) -> ScoreCard {
        ScoreCard::of(if pass { 1.0 } else { 0.0 }).pass(pass)
    }

    /// Creates a card that explains why there is no score; the sample is excluded from the mean.
    pub fn none(explain: impl Into<String>) -> ScoreCard {
        ScoreCard { primary_score: None, ..ScoreCard::of(0.0) }.explain(explain)
    }

    /// Sets whether the answer is good enough.
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

    /// Adds a short tag with a reason for a low score.
    #[must_use]
    pub fn tag(mut self, tag: &str) -> ScoreCard {
        self.error_tags.push(tag.to_owned());
        self
    }

    /// Sets an explanation of the score.
    #[must_use]
    pub fn explain(mut self, text: impl Into<String>) -> ScoreCard {
        self.explain = Some(text.into());
        self
    }

    /// Sets the evidence for the score: a JSON object, or a struct that serializes to one. A serialization
    /// error is stored in its place.
    #[must_use]
    pub fn detail(mut self, detail: &(impl Serialize + ?Sized)) -> ScoreCard {
        self.detail = serde_json::to_string(detail)
            .unwrap_or_else(|error| serde_json::json!({ "detail_error": error.to_string() }).to_string());
        self
    }

    /// Adds members to the detail, unless they are already present.
    pub(crate) fn add_detail<const N: usize>(mut self, members: [(&str, Value); N]) -> ScoreCard {
        let mut detail: Map<String, Value> = serde_json::from_str(&self.detail).unwrap_or_default();
        for (name, value) in members {
            detail.entry(name).or_insert(value);
        }
        self.detail = json_text(&Value::Object(detail));
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
