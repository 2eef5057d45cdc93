//! `confusion`: which categories are taken for which.

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
/// The categories are the members `prediction` and `reference` of a card's detail (parameters; where
/// there is no `reference`, `expected`), as the metric compared them: in the form under `normalized`, where the detail has one,
/// and where the card passes the prediction is the category of its reference, for the metric has taken the one for
/// the other. Where a parameter names another member its texts count as they stand, but for white space at the ends. Anything
/// else than a text counts in its JSON spelling. A row without a reference does not count. One without a prediction counts
/// as wrong: against the recall of its category, and for no category's precision.
///
/// Figures, their count being that of the rows: `accuracy`; `macro_precision`, `macro_recall` and
/// `macro_f1`, the means over all categories that occur on either side; `weighted_f1`, weighted by the
/// references of each; `micro_f1`, of all decisions together; `cohen_kappa` (Cohen 1960), where "no
/// prediction" is an answer like others, left out where chance explains everything; `categories`. Then
/// `precision: X`, `recall: X`, `f1: X` of the categories with most references (of equals the first in
/// order of text), up to `per_category`, default 12, at most 16, counted by the references of X. A
/// share of nothing is 0. In the names of figures what is neither letter, digit nor one of `_-.@/`
/// becomes `_`, and names are cut to 40 characters; where that makes two the same a number follows.
///
/// More than 1000 different categories are `limit-exceeded`: free text is no category. Rows count once,
/// whatever their weight.
pub struct Confusion {
    prediction: String,
    reference: Option<String>,
    per_category: usize,
}

/// The member of a detail that holds what was predicted.
const PREDICTION: &str = "prediction";
/// Most different categories.
const MAX_CATEGORIES: usize = 1000;
/// Three figures each, beside eight others; the host allows 64.
const MAX_SHOWN: u8 = 16;

/// Counts by reference and prediction; the empty text is no prediction.
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
            "prediction": { "type": "string", "default": "prediction" },
            "reference": {
                "type": ["string", "null"],
                "default": null,
                "description": "member of the detail; reference, else expected",
            },
            "per_category": { "type": "integer", "minimum": 0, "maximum": MAX_SHOWN, "default": 12 },
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
}

#[cfg(test)]
mod tests;
