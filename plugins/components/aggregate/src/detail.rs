//! Readers of the score cards of rows.

use gage_sdk::aggregator::Row;
use gage_sdk::serde_json::{self, Map, Value};
use gage_sdk::{PluginError, ScoreCard};
use serde::de::DeserializeOwned;

/// Returns a sub-score by its name.
pub(crate) fn sub_score(card: &ScoreCard, name: &str) -> Option<f64> {
    sub_scores(card, name).find(|(other, _)| *other == name).map(|(_, value)| value)
}

/// Returns the sub-scores whose names begin with a prefix, in the order of the card.
pub(crate) fn sub_scores<'card>(
    card: &'card ScoreCard,
    prefix: &str,
) -> impl Iterator<Item = (&'card str, f64)> {
    let all = card.sub_scores.iter().map(|sub| (sub.name.as_str(), sub.value));
    all.filter(move |(name, _)| name.starts_with(prefix))
}

/// Detail of a row's card, written by a metric.
pub(crate) struct Detail<'row> {
    row: &'row Row,
    members: Map<String, Value>,
}

impl Detail<'_> {
    /// Reads the detail of a row.
    ///
    /// # Errors
    /// `invalid-input` if it is not a JSON object.
    pub(crate) fn read(row: &Row) -> Result<Detail<'_>, PluginError> {
        let members = serde_json::from_str(&row.card.detail)
            .map_err(|error| refuse(row, &format!("has a detail that cannot be read: {error}")))?;
        Ok(Detail { row, members })
    }

    /// Returns a member as the name of a category: texts without white space at the ends, anything else in its JSON
    /// spelling, numbers by value. `None` if it is missing, null or blank.
    pub(crate) fn category(&self, name: &str) -> Option<String> {
        let text = match self.members.get(name)? {
            Value::Null => return None,
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) if number.is_f64() => gage_text_kit::number::float_text(number.as_f64()?),
            other => other.to_string(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// Returns the member in the form that the metric compared, if its detail says so.
    pub(crate) fn compared(&self, name: &str) -> Option<String> {
        let normalized = self.members.get("normalized").and_then(|normalized| normalized.get(name)?.as_str());
        let normalized = normalized.map(str::trim).filter(|text| !text.is_empty());
        normalized.map(str::to_owned).or_else(|| self.category(name))
    }

    /// Returns a member that one of our metrics wrote. `None` if the card lacks it, as for samples without a prediction
    /// or a reference.
    ///
    /// # Errors
    /// `invalid-input` if the member holds something else.
    pub(crate) fn counts<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, PluginError> {
        let read = |counts| {
            T::deserialize(counts).map_err(|error| {
                refuse(self.row, &format!("has a detail that cannot be read as counts of {name}: {error}"))
            })
        };
        self.members.get(name).map(read).transpose()
    }
}

/// Returns the error of a row that is unusable, or does not fit the others.
pub(crate) fn refuse(row: &Row, problem: &str) -> PluginError {
    PluginError::invalid_input(format!("sample '{}' {problem}", row.sample_id))
}

/// Checks the weight of a row.
///
/// # Errors
/// `invalid-input` if it is below 0 or not finite.
pub(crate) fn weight(sample_id: &str, weight: f64) -> Result<f64, PluginError> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(weight);
    }
    Err(PluginError::invalid_input(format!(
        "the weight of sample '{sample_id}' must be a number from 0 up, not {weight}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::row;
    use gage_sdk::json;

    #[test]
    fn details() {
        let row_of = |detail: &str| {
            let mut row = row("a", ScoreCard::of(1.0).sub_score("judge_a", 0.5).sub_score("judge_ab", 1.0));
            row.card.detail = detail.to_owned();
            row
        };
        let whole = row_of(r#"{"text":" a ","number":1.0,"list":[1],"blank":" ","null":null}"#);
        let Ok(detail) = Detail::read(&whole) else { panic!("an object is read") };
        for (name, expected) in [
            ("text", Some("a")),
            ("number", Some("1")),
            ("list", Some("[1]")),
            ("blank", None),
            ("null", None),
            ("absent", None),
        ] {
            assert_eq!(detail.category(name).as_deref(), expected, "{name}");
        }
        assert_eq!(detail.counts::<Vec<u64>>("list"), Ok(Some(vec![1])));
        assert_eq!(detail.counts::<Vec<u64>>("absent"), Ok(None));
        assert!(detail.counts::<Vec<u64>>("text").is_err_and(|error| error.message.contains("'a'")));
        assert_eq!((sub_score(&whole.card, "judge_a"), sub_score(&whole.card, "judge")), (Some(0.5), None));
        assert_eq!(sub_scores(&whole.card, "judge_").count(), 2);
        for broken in ["", "{", "[1]", &json!(1).to_string()] {
            assert!(Detail::read(&row_of(broken)).is_err(), "{broken}");
        }
    }
}
