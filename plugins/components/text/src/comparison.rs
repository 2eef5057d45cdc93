//! Shared parts of the metrics that compare a prediction with a reference.

use gage_sdk::metric::Value;
use gage_sdk::serde_json::{self, Map};
use gage_sdk::{PluginError, ScoreCard};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::references::any_reference_schema;
use gage_text_kit::text::{Normalization, excerpt, quoted};
use gage_text_kit::value::{DisplayValue, as_text, shown};
use serde::Serialize;

/// Indices of the two inputs in the specification.
pub(crate) const PREDICTION: usize = 0;
pub(crate) const REFERENCE: usize = 1;

/// Returns the schema of the parameters for comparing texts.
pub(crate) fn normalization_schema() -> Map<String, serde_json::Value> {
    Map::from_iter([
        ("case_sensitive".to_owned(), flag_schema(false, "Distinguish upper and lower case")),
        ("strip_whitespace".to_owned(), flag_schema(true, "Ignore leading and trailing white space")),
        any_reference_schema(),
    ])
}

/// Reads the parameters for comparing texts.
pub(crate) fn normalization(params: &Params, collapse: bool) -> Result<Normalization, PluginError> {
    Ok(Normalization {
        case_sensitive: params.flag("case_sensitive", false)?,
        strip: params.flag("strip_whitespace", true)?,
        collapse,
    })
}

/// Detail of a comparison.
#[derive(Serialize)]
struct ComparisonResult<'item> {
    prediction: DisplayValue<'item>,
    reference: DisplayValue<'item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    normalized: Option<NormalizedTexts>,
}

/// Texts that change when normalized, for aggregators that count categories.
#[derive(Serialize)]
struct NormalizedTexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    prediction: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

impl NormalizedTexts {
    fn new(prediction: &Value, reference: &Value, normalization: Normalization) -> Option<NormalizedTexts> {
        let changed = |value: &Value| match value {
            // A longer text is not a category, and is cut in a card.
            Value::Text(text) if excerpt(text) == text.as_str() => {
                let normalized = normalization.apply(text);
                (normalized != text.as_str()).then(|| normalized.into_owned())
            }
            _ => None,
        };
        let (prediction, reference) = (changed(prediction), changed(reference));
        (prediction.is_some() || reference.is_some()).then_some(NormalizedTexts { prediction, reference })
    }
}

/// Returns the card of a comparison, with the compared values and the reason for a failure. `relation` is what the
/// prediction should have done to the reference. Without a reference the tag is `missing_reference`, even if the
/// prediction is missing too.
pub(crate) fn card(
    prediction: &Value,
    reference: &Value,
    pass: bool,
    normalization: Normalization,
    relation: &str,
) -> ScoreCard {
    let normalized = NormalizedTexts::new(prediction, reference, normalization);
    let detail = ComparisonResult { prediction: shown(prediction), reference: shown(reference), normalized };
    let card = ScoreCard::binary(pass).detail(&detail);
    match (prediction, reference) {
        _ if pass => card,
        (_, Value::Absent) => card.tag("missing_reference").explain("there is no reference"),
        (Value::Absent, _) => card.tag("missing_prediction").explain("there is no prediction"),
        _ => {
            let said = |value: &Value| quoted(&as_text(value).unwrap_or_default());
            card.tag("wrong_answer").explain(format!(
                "{} does not {relation} {}",
                said(prediction),
                said(reference)
            ))
        }
    }
}
