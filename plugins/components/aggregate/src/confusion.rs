//! `confusion`: which categories are mistaken for which.

mod table;

use crate::detail::Detail;
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::{ErrorKind, MemberSpec, PluginError, json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// Precision, recall and F1 of categories, and the agreement with the reference beyond chance.
///
/// The categories are the members `prediction` and `reference` of a card's detail (parameters; `expected` if there is
/// no `reference`), as the metric compared them. This is the form under `normalized`, if the detail has one. If the
/// card passes, the prediction is the category of its reference, because the metric accepted one as the other.
///
/// A parameter that names another member uses its texts as they are, except for white space at the ends. Anything other
/// than a text counts in its JSON spelling. A row without a reference is ignored. A row without a prediction counts as
/// wrong: against the recall of its category, and for no category's precision.
///
/// Figures, whose count is the number of rows:
///
/// - `accuracy`
/// - `macro_precision`, `macro_recall` and `macro_f1`: means over all categories on either side
/// - `weighted_f1`: weighted by the number of references per category
/// - `micro_f1`: over all decisions
/// - `cohen_kappa` (Cohen 1960): "no prediction" is an answer like any other; omitted if chance explains everything
/// - `categories`
/// - `precision: X`, `recall: X`, `f1: X`: for the categories with most references (ties in order of text), up to
///   `per_category` (default 12, at most 16); their count is the number of references of X
///
/// A share of nothing is 0. In names of figures, characters other than letters, digits and `_-.@/` become `_`, and
/// names are cut to 40 characters. A number is appended to duplicates.
///
/// More than 1000 distinct categories are `limit-exceeded`: free text is not a category. Rows count once, regardless of
/// their weight.
pub struct Confusion {
    prediction: String,
    reference: Option<String>,
    per_category: usize,
}

/// Detail member that holds the prediction.
const PREDICTION: &str = "prediction";
/// Maximum number of distinct categories.
const MAX_CATEGORIES: usize = 1000;
/// Three figures each, next to eight others; the host allows 64.
const MAX_SHOWN: u8 = 16;

/// Counts by reference and prediction; the empty text means no prediction.
#[derive(Default, Serialize, Deserialize)]
pub struct ConfusionState {
    counts: BTreeMap<String, BTreeMap<String, u64>>,
    categories: BTreeSet<String>,
}

impl Aggregator for Confusion {
    type State = ConfusionState;

    fn name() -> &'static str {
        "confusion"
    }

    fn spec() -> MemberSpec {
        let properties = json!({
            "prediction": {
                "type": "string",
                "default": "prediction",
                "description": "field of the score's detail with the answer",
            },
            "reference": {
                "type": ["string", "null"],
                "default": null,
                "description": "field of the score's detail with the reference; by default `reference`, else \
                 `expected`",
            },
            "per_category": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_SHOWN,
                "default": 12,
                "description": "number of categories with figures of their own, the most frequent first",
            },
        });
        MemberSpec::new("2", "Precision, recall and F1 of categories, and Cohen's kappa", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?.known(|| ["prediction", "reference", "per_category"])?;
        Ok(Confusion {
            prediction: params.text_or("prediction", PREDICTION)?,
            reference: params.parsed("reference")?,
            per_category: params.whole("per_category", 0..=MAX_SHOWN, 12)?.into(),
        })
    }

    fn add(&self, state: &mut ConfusionState, row: Row) -> Result<(), PluginError> {
        let detail = Detail::read(&row)?;
        let reference = match &self.reference {
            Some(name) => detail.category(name),
            None => detail.compared("reference").or_else(|| detail.category("expected")),
        };
        let Some(reference) = reference else { return Ok(()) };
        let is_compared = self.reference.is_none() && self.prediction == PREDICTION;
        let prediction = match detail.compared(&self.prediction) {
            Some(_) if is_compared && row.card.pass == Some(true) => reference.clone(),
            prediction => prediction.unwrap_or_default(),
        };
        for name in [&reference, &prediction] {
            if !name.is_empty() && !state.categories.contains(name) {
                state.categories.insert(name.clone());
            }
        }
        if state.categories.len() > MAX_CATEGORIES {
            let message = format!(
                "there are more than {MAX_CATEGORIES} categories; confusion needs labels, not free text"
            );
            return Err(PluginError::new(ErrorKind::LimitExceeded, message));
        }
        *state.counts.entry(reference).or_default().entry(prediction).or_default() += 1;
        Ok(())
    }

    fn finish(&self, state: ConfusionState) -> Result<Vec<Figure>, PluginError> {
        let table = Table::new(&state.counts, &state.categories);
        Ok(table.figures(self.per_category))
    }

    fn merge(&self, state: &mut ConfusionState, other: &ConfusionState) -> Result<(), PluginError> {
        for (reference, predictions) in &other.counts {
            let counts = state.counts.entry(reference.clone()).or_default();
            for (prediction, count) in predictions {
                *counts.entry(prediction.clone()).or_default() += count;
            }
        }
        state.categories.extend(other.categories.iter().cloned());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
