//! Sampling parameters of a model.

use crate::Object;
use crate::fields::FieldError;
use crate::json_decode::FieldReader;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Sampling parameters. `None` falls through to the next level: sample, task, role, backend, and finally the
/// backend's own default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingParams {
    /// Maximum number of tokens to generate, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_new_tokens: Option<u32>,
    /// Temperature; 0 is greedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: keep the most likely tokens up to this cumulative probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Keep this many of the most likely tokens; 0 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Keep tokens at least this likely, relative to the most likely one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// Random seed; 0 is a seed like any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts that end generation; they are not part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// Subtracted from the logit of every token that has occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Subtracted from the logit of a token for each of its occurrences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Divisor for the logit of every token that has occurred; 1 has no effect.
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

    /// Reads the parameters from an object; `max_tokens` is an alias of `max_new_tokens`.
    ///
    /// # Errors
    /// All keys that are unknown or have a value out of bounds, each with its place.
    pub fn from_object(object: Object) -> Result<SamplingParams, Vec<FieldError>> {
        let mut problems = Vec::new();
        let mut reader = ParamReader { object, reading: FieldReader::document(&mut problems) };
        let longest = reader.whole("max_new_tokens", 1, u64::from(u32::MAX));
        let alias = reader.whole("max_tokens", 1, u64::from(u32::MAX));
        let params = SamplingParams {
            max_new_tokens: longest.or(alias).and_then(|number| u32::try_from(number).ok()),
            temperature: reader.number("temperature", 0.0, 100.0),
            top_p: reader.number("top_p", 0.0, 1.0),
            top_k: reader.whole("top_k", 0, 1 << 30).and_then(|number| u32::try_from(number).ok()),
            min_p: reader.number("min_p", 0.0, 1.0),
            seed: reader.whole("seed", 0, u64::MAX),
            stop: reader.stop(),
            presence_penalty: reader.number("presence_penalty", -10.0, 10.0),
            frequency_penalty: reader.number("frequency_penalty", -10.0, 10.0),
            repetition_penalty: reader.number("repetition_penalty", 0.01, 100.0),
        };
        reader.refuse_unknown();
        if problems.is_empty() { Ok(params) } else { Err(problems) }
    }

    /// Returns these parameters, with missing ones taken from a lower level.
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

    /// Returns whether the most likely token is always chosen.
    pub fn is_greedy(&self) -> bool {
        self.temperature.unwrap_or(0.0) == 0.0
    }
}

/// The parameters of an object that have not been read yet.
struct ParamReader<'r> {
    object: Object,
    reading: FieldReader<'r>,
}

impl ParamReader<'_> {
    /// Reads a parameter; null counts as missing.
    fn read<T>(
        &mut self,
        key: &str,
        expected: fmt::Arguments<'_>,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.object.shift_remove(key).filter(|value| !value.is_null())?;
        let param = read(&value);
        if param.is_none() {
            self.reading.key(key).problem(format!("expected {expected}, found {value}"));
        }
        param
    }

    fn whole(&mut self, key: &str, least: u64, most: u64) -> Option<u64> {
        let expected = format_args!("a whole number from {least} to {most}");
        self.read(key, expected, |value| value.as_u64().filter(|number| (least..=most).contains(number)))
    }

    fn number(&mut self, key: &str, least: f64, most: f64) -> Option<f64> {
        let expected = format_args!("a number from {least} to {most}");
        self.read(key, expected, |value| value.as_f64().filter(|number| (least..=most).contains(number)))
    }

    fn stop(&mut self) -> Option<Vec<String>> {
        let expected = format_args!("a string or a list of strings that are not empty");
        self.read("stop", expected, |value| {
            let texts: Vec<&str> = match value {
                Value::Array(items) => items.iter().map(Value::as_str).collect::<Option<_>>()?,
                text => vec![text.as_str()?],
            };
            texts.into_iter().map(|text| (!text.is_empty()).then(|| text.to_owned())).collect()
        })
    }

    /// Reports every parameter that was not read.
    fn refuse_unknown(mut self) {
        for (key, _) in self.object.iter().filter(|(_, value)| !value.is_null()) {
            let hint = crate::nearest(key, SamplingParams::NAMES)
                .map(|name| format!("did you mean `{name}`? "))
                .unwrap_or_default();
            let known = SamplingParams::NAMES.join(", ");
            let message = format!("unknown sampling parameter; {hint}expected one of: {known}");
            self.reading.key(key).problem(message);
        }
    }
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
