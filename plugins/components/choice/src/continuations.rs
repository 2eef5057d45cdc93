//! Continuations scored by log-likelihood, as recorded by the host.

use gage_choice_kit::Choices;
use gage_sdk::metric::Value;
use gage_sdk::{PluginError, serde_json};
use serde::Deserialize;

/// Score of one option.
#[derive(Debug, Deserialize)]
pub(crate) struct Continuation {
    /// Label of the option.
    pub(crate) id: String,
    /// Sum of the natural logarithms of the token probabilities; null if the sum is not finite.
    logprob: Option<f64>,
    /// Log-likelihood after the Sample's `unconditioned_input` instead of the prompt.
    unconditioned_logprob: Option<f64>,
    byte_count: Option<u32>,
    /// Number of characters of the text; absent if each has one byte.
    character_count: Option<u32>,
}

impl Continuation {
    /// Returns the sum of the log-probabilities, in nats.
    pub(crate) fn logprob(&self) -> f64 {
        self.logprob.unwrap_or(f64::NEG_INFINITY)
    }

    /// Returns the pointwise mutual information of the prompt and the option, in nats. `None` if the likelihood without
    /// the prompt is unknown.
    pub(crate) fn mutual_information(&self) -> Option<f64> {
        self.unconditioned_logprob
            .filter(|logprob| logprob.is_finite())
            .map(|logprob| self.logprob() - logprob)
    }

    /// Returns the sum per character of the text.
    pub(crate) fn per_character(&self) -> f64 {
        self.logprob() / f64::from(self.character_count.or(self.byte_count).unwrap_or(1).max(1))
    }

    /// Returns the sum per byte of the text.
    pub(crate) fn per_byte(&self) -> f64 {
        self.logprob() / f64::from(self.byte_count.unwrap_or(1).max(1))
    }
}

/// Reads the scores. If the number of bytes was not recorded, the length of the option's text is used.
///
/// # Errors
/// `invalid-input` if a score is unusable: a guess among the others would not be a measurement.
pub(crate) fn read(value: &Value, choices: &Choices) -> Result<Vec<Continuation>, PluginError> {
    let Value::Json(json) = value else { return Ok(Vec::new()) };
    let refuse = |what: String| {
        PluginError::invalid_input(format!("continuations: {what}; run the step with request: loglikelihood"))
    };
    let mut continuations: Vec<Continuation> = serde_json::from_str::<Option<_>>(json)
        .map_err(|error| refuse(format!("must be a list of {{id, logprob, byte_count}}: {error}")))?
        .unwrap_or_default();
    for continuation in &mut continuations {
        let id = continuation.id.as_str();
        if !continuation.logprob.is_some_and(f64::is_finite) {
            return Err(refuse(format!("the option '{id}' must have a finite logprob")));
        }
        if continuation.byte_count.is_none() {
            let text = choices.text(id).ok_or_else(|| {
                refuse(format!("the option '{id}' must have a byte_count, or a text in the options"))
            })?;
            continuation.byte_count = u32::try_from(text.len()).ok();
            continuation.character_count = u32::try_from(text.chars().count()).ok();
        }
    }
    Ok(continuations)
}

/// Returns the index of the largest value, or 0 for no continuations; of equal ones, the first.
pub(crate) fn best(continuations: &[Continuation], value: fn(&Continuation) -> f64) -> usize {
    let values = continuations.iter().map(value).enumerate();
    values.reduce(|best, next| if next.1 > best.1 { next } else { best }).map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equals_the_first_wins() {
        let value = Value::Json(
            r#"[{"id":"A","logprob":-2,"byte_count":4},{"id":"B","logprob":-1,"byte_count":1},
                {"id":"C","logprob":-1,"byte_count":2}]"#
                .to_owned(),
        );
        let Ok(continuations) = read(&value, &Choices::default()) else { panic!("they are read") };
        assert_eq!(best(&continuations, Continuation::logprob), 1);
        assert_eq!(best(&continuations, Continuation::per_byte), 0);
    }
}
