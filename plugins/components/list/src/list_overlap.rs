//! `list_overlap`: overlap of two lists.

use gage_list_kit::{List, Matching, check_size};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::answer::{PredictionField, field_schema, key, with_parsed};
use gage_text_kit::params::{flag_schema, optional_flag_schema};
use gage_text_kit::references::plain;
use gage_text_kit::text::{Normalization, excerpt, quoted};
use gage_text_kit::value::as_text;

const REFERENCE: usize = 1;

/// Maximum number of items that a card names, for both missing and extra ones.
const MAX_NAMED: usize = 8;

/// F1, precision and recall of a list of items.
///
/// Texts are compared after trimming, collapsing white space and ignoring case; numbers and booleans by value; lists
/// and objects member by member. A text is not a number, and null never matches. An item counts once even if repeated,
/// unless `unique` is false; then occurrences are counted. If the order counts, the sub-score `order` is the share of
/// the common items that need not be moved. A reference that is an object may set its own `ordered` and `unique`.
///
/// `normalize: false` compares texts as they are; it overrides `case_sensitive`.
///
/// A text where a list is expected is split at `separator`. Without one it is split at commas, semicolons and line
/// breaks, and an empty one keeps it whole.
///
/// A list of more than 50,000 values is `invalid-input`.
///
/// Two empty lists are equal; a missing list on either side scores 0. Values are rounded to four digits, or to
/// `digits`.
pub struct ListOverlap {
    field: PredictionField,
    normalization: Normalization,
    separator: Option<String>,
    ordered: bool,
    unique: bool,
    digits: usize,
}

impl Metric for ListOverlap {
    fn name() -> &'static str {
        "list_overlap"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("5", "Overlap of two lists")
            .value_name("f1")
            .sub_score("precision", true)
            .sub_score("recall", true)
            .sub_score("order", true)
            .prediction("prediction_field")
            .reference()
            .params(field_schema().into())
            .param("ordered", flag_schema(false, "Compare the order"))
            .param("unique", flag_schema(true, "Count equal items once"))
            .param("case_sensitive", flag_schema(false, "Distinguish upper and lower case"))
            .param(
                "normalize",
                optional_flag_schema("Ignore case and white space in items; overrides `case_sensitive`"),
            )
            .param(
                "separator",
                json!({
                    "type": ["string", "null"], "default": null,
                    "description": "Separator that splits a text that is not a JSON list; by default commas, \
                     semicolons and line breaks",
                }),
            )
            .param(
                "digits",
                json!({
                    "type": ["integer", "string"], "minimum": 0, "maximum": 15, "default": 4,
                    "description": "Number of decimals that values are rounded to",
                }),
            );
        with_parsed(spec)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let case_sensitive = params.flag("case_sensitive", false)?;
        let normalization =
            match params.get("normalize").map(|_| params.flag("normalize", true)).transpose()? {
                Some(true) => Normalization { case_sensitive: false, strip: true, collapse: true },
                Some(false) => Normalization { case_sensitive: true, strip: false, collapse: false },
                None => Normalization { case_sensitive, strip: true, collapse: true },
            };
        Ok(ListOverlap {
            field: PredictionField::new(&params)?,
            normalization,
            separator: params.text("separator")?.map(str::to_owned),
            ordered: params.flag("ordered", false)?,
            unique: params.flag("unique", true)?,
            digits: params.whole("digits", 0..=15, 4)?.into(),
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (prediction, reference) = (self.field.prediction(inputs), plain(inputs.value(REFERENCE)));
        let reference = reference.as_ref();
        check_size(&prediction, self.separator.as_deref(), "prediction")?;
        check_size(reference, self.separator.as_deref(), "reference")?;
        let key = |item: &serde_json::Value| key(item, self.normalization);
        let read = |value| List::read(value, &key, self.separator.as_deref());
        let (predicted, expected) = match (read(&prediction), read(reference)) {
            (Some(predicted), Some(expected)) => (predicted, expected),
            (predicted, _) => return Ok(unreadable(&prediction, reference, predicted.is_none())),
        };
        let ordered = expected.ordered.unwrap_or(self.ordered);
        let unique = expected.unique.unwrap_or(self.unique);
        Ok(self.card(&Matching::new(&predicted.items, &expected.items, unique), ordered))
    }
}

impl ListOverlap {
    fn card(&self, found: &Matching<'_>, ordered: bool) -> ScoreCard {
        let common = found.places.len();
        let is_in_order = !ordered || found.order() == 1.0;
        let named = |items: &[&str]| items.iter().take(MAX_NAMED).map(|item| (*item).into()).collect();
        let detail: serde_json::Map<String, serde_json::Value> = [
            ("common", common.into()),
            ("predicted", found.predicted.into()),
            ("expected", found.expected.into()),
            ("missing", serde_json::Value::Array(named(&found.missing))),
            ("extra", serde_json::Value::Array(named(&found.extra))),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let mut card = ScoreCard::of(self.rounded(found.f1()))
            .pass(found.is_whole() && is_in_order)
            .sub_score("precision", self.rounded(found.precision()))
            .sub_score("recall", self.rounded(found.recall()))
            .detail(&detail);
        if ordered {
            card = card.sub_score("order", self.rounded(found.order()));
        }
        let is_out_of_order = ordered && common > 0 && !is_in_order;
        for (tag, holds) in [
            ("missing_item", !found.missing.is_empty()),
            ("extra_item", !found.extra.is_empty()),
            ("wrong_order", is_out_of_order),
        ] {
            if holds {
                card = card.tag(tag);
            }
        }
        if card.error_tags.is_empty() { card } else { card.explain(explained(found, is_out_of_order)) }
    }

    /// Rounds to the nearest decimal, ties to even, like Python's `round`.
    fn rounded(&self, value: f64) -> f64 {
        if value.fract() == 0.0 {
            return value;
        }
        format!("{value:.*}", self.digits).parse().unwrap_or(value)
    }
}

/// Returns what is wrong with a list, in one line.
fn explained(found: &Matching<'_>, is_out_of_order: bool) -> String {
    /// Maximum number of items of each kind that are named.
    const MAX_QUOTED: usize = 3;
    let mut parts = vec![format!("{} of {} expected items", found.places.len(), found.expected)];
    for (kind, items) in [("missing", &found.missing), ("not expected", &found.extra)] {
        let named: Vec<String> = items.iter().take(MAX_QUOTED).map(|item| quoted(item)).collect();
        let more = if items.len() > MAX_QUOTED { " …" } else { "" };
        if !named.is_empty() {
            parts.push(format!("{kind}: {}{more}", named.join(", ")));
        }
    }
    if is_out_of_order {
        parts.push("in another order".to_owned());
    }
    parts.join("; ")
}

/// Returns the card for a missing list.
fn unreadable(prediction: &Value, reference: &Value, is_prediction: bool) -> ScoreCard {
    let tag = match (prediction, reference) {
        (_, Value::Absent) => "missing_reference",
        (Value::Absent, _) => "missing_prediction",
        _ if is_prediction => "invalid_format",
        _ => "invalid_reference",
    };
    ScoreCard::binary(false)
        .sub_score("precision", 0.0)
        .sub_score("recall", 0.0)
        .tag(tag)
        .explain("a list, or an object with items, is needed on both sides")
        .detail(&json!({ "prediction": shown(prediction), "reference": shown(reference) }))
}

/// Returns an input that is not a list, as a card shows it.
fn shown(value: &Value) -> Option<String> {
    as_text(value).map(|text| excerpt(&text).into_owned())
}

#[cfg(test)]
mod tests;
