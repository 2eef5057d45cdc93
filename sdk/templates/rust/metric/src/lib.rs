//! The share of the reference's words that the answer contains.

use gage_sdk::base::{Compare, Comparison};
use gage_sdk::metric::MetricSpec;
use gage_sdk::text::{strip_thought_tags, words};
use gage_sdk::{PluginError, ScoreCard, json};
use std::collections::BTreeSet;

/// The parameters in a suite.
#[derive(serde::Deserialize)]
struct WordRecall {
    #[serde(default)]
    case_sensitive: bool,
}

impl Compare for WordRecall {
    fn name() -> &'static str {
        "{{snake}}"
    }

    // Increase the version, "1", when a score could change.
    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Share of the reference's words that the answer contains")
            .sub_score("found", true)
            .sub_score("wanted", true)
            .param("case_sensitive", json!({ "type": "boolean", "default": false }))
    }

    fn compare(&self, prediction: &str, reference: &str) -> Result<ScoreCard, PluginError> {
        let cased = |text: &str| if self.case_sensitive { text.to_owned() } else { text.to_lowercase() };
        let (prediction, reference) = (cased(&strip_thought_tags(prediction)), cased(reference));
        let given: BTreeSet<&str> = words(&prediction).collect();
        let wanted: BTreeSet<&str> = words(&reference).collect();
        if wanted.is_empty() {
            return Ok(ScoreCard::none("the reference has no words"));
        }
        let (found, wanted) = (wanted.intersection(&given).count() as f64, wanted.len() as f64);
        let card = ScoreCard::of(found / wanted)
            .pass(found == wanted)
            .sub_score("found", found)
            .sub_score("wanted", wanted);
        Ok(if found < wanted { card.tag("missing_words") } else { card })
    }
}

// `Comparison` takes the answer and the label from the sample. For other shapes see `gage_sdk::base`; for
// arbitrary inputs implement `gage_sdk::metric::Metric`. The list may hold several metrics.
gage_sdk::metrics!(
    name: "{{name}}",
    description: "Whether an answer says what its reference says",
    metrics: [Comparison<WordRecall>],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_words() {
        let card = WordRecall { case_sensitive: false }.compare("a Fox", "quick fox").unwrap();
        assert_eq!(card.primary_score, Some(0.5));
        assert_eq!(card.error_tags, ["missing_words"]);
    }
}
