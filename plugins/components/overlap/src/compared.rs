//! Shared parts of this component's metrics: inputs, common parameters, and cards for items with nothing to compare.

use gage_overlap_kit::rouge::Rouge;
use gage_sdk::metric::{Inputs, MetricSpec, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::references::{Accepts, prediction, references};
use gage_text_kit::text::excerpt;
use serde::Serialize;
use std::borrow::Cow;

/// Indices of the inputs in the specification.
pub(crate) const PREDICTION: usize = 0;
pub(crate) const REFERENCES: usize = 1;

/// Default paths of the references.
pub(crate) const REFERENCE_PATHS: [&str; 3] =
    ["sample.references", "sample.metadata.references", "sample.label"];

/// Parameters that name the path of the references.
pub(crate) const REFERENCE_PARAMS: [&str; 3] = ["references_field", "reference_field", "label_field"];

/// Adds the answer and its references as inputs, and the parameters of [`Common`].
pub(crate) fn with_common(spec: MetricSpec) -> MetricSpec {
    let spec = spec.prediction("prediction_field").input(
        "references",
        &REFERENCE_PARAMS,
        &REFERENCE_PATHS,
        ValueKind::Any,
    );
    with_common_params(spec)
}

/// Adds the parameters of [`Common`].
pub(crate) fn with_common_params(spec: MetricSpec) -> MetricSpec {
    spec.param(
        "separator",
        json!({
            "type": ["string", "null"], "default": null,
            "description": "separator that splits a single reference into several",
        }),
    )
    .param(
        "threshold",
        json!({
            "type": ["number", "string", "null"], "default": null,
            "description": "Smallest score that passes; without it, samples neither pass nor fail",
        }),
    )
}

/// Parameters shared by all of the metrics.
pub(crate) struct Common {
    accepts: Accepts,
    separator: Option<String>,
    threshold: Option<f64>,
}

impl Common {
    /// Reads the parameters.
    ///
    /// # Errors
    /// `invalid-config` for an empty separator, and for a threshold that is not a number.
    pub(crate) fn new(params: &Params, accepts: Accepts) -> Result<Common, PluginError> {
        let separator = params.text("separator")?.map(str::to_owned);
        if separator.as_deref() == Some("") {
            let message = "params: 'separator' must not be empty; leave it out to keep the text whole";
            return Err(PluginError::invalid_config(message).at("/separator"));
        }
        Ok(Common { accepts, separator, threshold: params.finite("threshold")? })
    }

    /// Returns the prediction; `None` if there is none.
    ///
    /// # Errors
    /// `invalid-input` for a value of another type.
    pub(crate) fn prediction<'item>(
        &self,
        inputs: Inputs<'item>,
    ) -> Result<Option<Cow<'item, str>>, PluginError> {
        prediction(inputs.value(PREDICTION), self.accepts)
    }

    /// Returns the references; `None` if there are none, empty if the list is.
    ///
    /// # Errors
    /// `invalid-input` for a value of another type.
    pub(crate) fn references<'item>(
        &self,
        inputs: Inputs<'item>,
    ) -> Result<Option<Vec<Cow<'item, str>>>, PluginError> {
        references(inputs.value(REFERENCES), self.separator.as_deref(), self.accepts)
    }

    /// Returns the card of an item, from `compare` if it has a prediction and at least one reference. Otherwise the
    /// score is 0, with a tag that names the missing part: the reference if both are missing.
    ///
    /// # Errors
    /// `invalid-input` for references of another type, and errors of `compare`.
    pub(crate) fn score<'item>(
        &self,
        prediction: Option<Cow<'item, str>>,
        inputs: Inputs<'item>,
        compare: impl FnOnce(&str, &[Cow<'item, str>]) -> Result<ScoreCard, PluginError>,
    ) -> Result<ScoreCard, PluginError> {
        let references = self.references(inputs)?.filter(|references| !references.is_empty());
        Ok(match (prediction, references) {
            (Some(prediction), Some(references)) => self.judge(compare(&prediction, &references)?),
            (_, None) => self.missing("missing_reference"),
            (None, _) => self.missing("missing_prediction"),
        })
    }

    /// Returns the card of an item without a prediction or a reference.
    pub(crate) fn missing(&self, tag: &str) -> ScoreCard {
        ScoreCard { pass: self.threshold.map(|_| false), ..ScoreCard::of(0.0) }.tag(tag)
    }

    /// Sets whether the score passes, and explains a failure.
    pub(crate) fn judge(&self, mut card: ScoreCard) -> ScoreCard {
        if let Some((score, threshold)) = card.primary_score.zip(self.threshold) {
            let pass = score >= threshold;
            card.pass = Some(pass);
            if !pass && card.error_tags.is_empty() {
                return card.tag("low_overlap");
            }
        }
        card
    }
}

/// Notes on a card that texts are too long for ROUGE-L, or have no words.
pub(crate) fn with_notes(mut card: ScoreCard, rouge: &Rouge) -> ScoreCard {
    if rouge.is_partial {
        card = card.explain("some texts are too long for their longest common subsequence");
    }
    empty_tag(rouge.words.0, rouge.words.1).into_iter().fold(card, ScoreCard::tag)
}

/// Returns the reason why two texts have nothing in common if one has no words.
pub(crate) fn empty_tag(prediction_words: usize, reference_words: usize) -> Option<&'static str> {
    match (prediction_words, reference_words) {
        (0, _) => Some("empty_prediction"),
        (_, 0) => Some("empty_reference"),
        _ => None,
    }
}

/// Compared texts, as stored in the detail of a card.
#[derive(Serialize)]
pub(crate) struct ComparedTexts<'item> {
    prediction: Cow<'item, str>,
    /// Reference that gave the score.
    reference: Cow<'item, str>,
}

impl<'item> ComparedTexts<'item> {
    pub(crate) fn new(prediction: &'item str, reference: &'item str) -> ComparedTexts<'item> {
        ComparedTexts { prediction: excerpt(prediction), reference: excerpt(reference) }
    }
}
