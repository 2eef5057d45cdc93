//! How a model is to choose its tokens.

use crate::Object;
use crate::fields::{FieldError, Fields};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Sampling parameters. What is `None` is left to the next lower place: sample over task over
/// role over backend, and at last to the backend's own default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingParams {
    /// Most tokens to generate, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_new_tokens: Option<u32>,
    /// 0 is greedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: keep the most likely tokens with this probability in total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Keep this many of the most likely tokens; 0 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Keep tokens at least this likely, relative to the most likely one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// Seed of the random choice; 0 is a seed like any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which generation ends; they are not part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// Taken from the logit of every token that has occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Taken from the logit of a token for each time that it has occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Divides the logit of every token that has occurred; 1 changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
}

impl SamplingParams {
    /// The names of the parameters.
    pub const NAMES: [&'static str; 10] = [
        "max_new_tokens",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
    ];

    /// Reads the parameters from an object; `max_tokens` is another name of `max_new_tokens`.
    ///
    /// # Errors
    /// Every key that is not known or has a value out of bounds, each with its place.
    pub fn from_object(object: Object) -> Result<SamplingParams, Vec<FieldError>> {
        let mut problems = Vec::new();
        let mut params = SamplingParams::default();
        if let Some(mut fields) = Fields::of(Value::Object(object), String::new(), &mut problems) {
            let longest = whole(&mut fields, "max_new_tokens", 1, u64::from(u32::MAX));
            let alias = whole(&mut fields, "max_tokens", 1, u64::from(u32::MAX));
            params.max_new_tokens = longest.or(alias).and_then(|number| u32::try_from(number).ok());
            params.temperature = number(&mut fields, "temperature", 0.0, 100.0);
            params.top_p = number(&mut fields, "top_p", 0.0, 1.0);
            params.top_k =
                whole(&mut fields, "top_k", 0, 1 << 30).and_then(|number| u32::try_from(number).ok());
            params.min_p = number(&mut fields, "min_p", 0.0, 1.0);
            params.seed = whole(&mut fields, "seed", 0, u64::MAX);
            params.stop = stop(&mut fields);
            params.presence_penalty = number(&mut fields, "presence_penalty", -10.0, 10.0);
            params.frequency_penalty = number(&mut fields, "frequency_penalty", -10.0, 10.0);
            params.repetition_penalty = number(&mut fields, "repetition_penalty", 0.01, 100.0);
            let unknown: Vec<String> = fields.object_keys();
            for key in unknown {
                let hint = crate::nearest(&key, SamplingParams::NAMES)
                    .map(|name| format!("did you mean `{name}`? "))
                    .unwrap_or_default();
                let known = SamplingParams::NAMES.join(", ");
                fields.problem(&key, format!("unknown sampling parameter; {hint}known are: {known}"));
            }
        }
        if problems.is_empty() { Ok(params) } else { Err(problems) }
    }

    /// These parameters, with what they leave open taken from a lower place.
    #[must_use]
    pub fn over(self, lower: &SamplingParams) -> SamplingParams {
        SamplingParams {
            max_new_tokens: self.max_new_tokens.or(lower.max_new_tokens),
            temperature: self.temperature.or(lower.temperature),
            top_p: self.top_p.or(lower.top_p),
            top_k: self.top_k.or(lower.top_k),
            min_p: self.min_p.or(lower.min_p),
            seed: self.seed.or(lower.seed),
            stop: self.stop.or_else(|| lower.stop.clone()),
            presence_penalty: self.presence_penalty.or(lower.presence_penalty),
            frequency_penalty: self.frequency_penalty.or(lower.frequency_penalty),
            repetition_penalty: self.repetition_penalty.or(lower.repetition_penalty),
        }
    }

    /// Whether the most likely token is always taken.
    pub fn is_greedy(&self) -> bool {
        self.temperature.unwrap_or(0.0) == 0.0
    }
}

fn whole(fields: &mut Fields<'_>, key: &str, least: u64, most: u64) -> Option<u64> {
    let value = fields.take(key)?;
    let number = value.as_u64().filter(|number| (least..=most).contains(number));
    if number.is_none() {
        fields.problem(key, format!("expected a whole number from {least} to {most}, found {value}"));
    }
    number
}

fn number(fields: &mut Fields<'_>, key: &str, least: f64, most: f64) -> Option<f64> {
    let value = fields.take(key)?;
    let number = value.as_f64().filter(|number| (least..=most).contains(number));
    if number.is_none() {
        fields.problem(key, format!("expected a number from {least} to {most}, found {value}"));
    }
    number
}

fn stop(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let value = fields.take("stop")?;
    let texts: Option<Vec<String>> = match &value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let texts = texts.filter(|texts| texts.iter().all(|text| !text.is_empty()));
    if texts.is_none() {
        fields.problem(
            "stop",
            format!("expected a string or a list of strings that are not empty, found {value}"),
        );
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<SamplingParams, Vec<String>> {
        let Value::Object(object) = value else { panic!("an object") };
        SamplingParams::from_object(object)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_higher_place_wins_and_a_seed_of_zero_is_a_seed() {
        let sample = read(json!({"seed": 0, "stop": "\n"})).expect("valid");
        let role = read(json!({"seed": 7, "temperature": 0.5, "max_tokens": 9})).expect("valid");
        let merged = sample.over(&role);
        assert_eq!((merged.seed, merged.temperature, merged.max_new_tokens), (Some(0), Some(0.5), Some(9)));
        assert_eq!(merged.stop, Some(vec!["\n".to_owned()]));
        assert!(!merged.is_greedy());
        assert!(SamplingParams::default().is_greedy());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problems = read(json!({"temprature": 1, "top_p": 2, "max_new_tokens": 0, "stop": [""]}))
            .expect_err("four problems");
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(
            problems.iter().any(|problem| problem.contains("did you mean `temperature`?")),
            "{problems:?}"
        );
    }
}
