//! A model's output for a sample.

use crate::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Reason why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model finished, or reached a stop string.
    Stop,
    /// The model reached its token limit.
    Length,
    /// The model requests tool calls.
    ToolCalls,
    /// The provider's filter intervened.
    ContentFilter,
    /// The answer was chosen by log-likelihood, or a whole text was scored, without generating anything.
    Scored,
    /// Anything else.
    Other,
}

/// Token usage of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Number of prompt tokens.
    pub prompt_tokens: u64,
    /// Number of completion tokens.
    pub completion_tokens: u64,
}

/// Likelihood of one continuation of the prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContinuationScore {
    /// Id of the option that the continuation represents.
    pub id: String,
    /// Sum of the natural logarithms of the token probabilities.
    pub logprob: f64,
    /// Log-likelihood after the Sample's `unconditioned_input` instead of the prompt. Absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconditioned_logprob: Option<f64>,
    /// Number of tokens.
    pub token_count: u32,
    /// Number of UTF-8 bytes of the option's text, without the `continuation_prefix`; used to normalize the
    /// sum.
    pub byte_count: u32,
    /// Number of characters of the option's text, without the `continuation_prefix`. Absent if each has one byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub character_count: Option<u32>,
    /// True if greedy decoding would have produced it.
    pub is_greedy: bool,
}

impl ContinuationScore {
    /// Returns the sum per character of the option's text.
    pub fn per_character(&self) -> f64 {
        self.logprob / f64::from(self.character_count.unwrap_or(self.byte_count).max(1))
    }
}

/// Likelihood of a whole text, each token given the tokens before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RollingScore {
    /// Sum of the natural logarithms of the token probabilities.
    pub loglikelihood: f64,
    /// Number of tokens, by the model's tokenizer.
    pub token_count: u64,
    /// Number of UTF-8 bytes.
    pub byte_count: u64,
    /// Number of words, by [`word_count`].
    pub word_count: u64,
}

/// Returns whether a character is white space. Python treats the four ASCII separators as such.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// Splits a text before the white space at its end, which is what Python's `str.rstrip` removes.
pub fn split_trailing_space(text: &str) -> (&str, &str) {
    text.split_at(text.trim_end_matches(is_space).len())
}

/// Counts the words of a text like lm-evaluation-harness: the pieces between runs of white space. White space
/// at either end adds an empty piece (`len(re.split(r"\s+", text))`).
pub fn word_count(text: &str) -> u64 {
    let mut was_space = false;
    let mut words = 1;
    for character in text.chars() {
        let now = is_space(character);
        words += u64::from(now && !was_space);
        was_space = now;
    }
    words
}

/// Keys in `model_output` that are reserved for the host. Metrics that request them get values that vary from
/// run to run, which no stored output contains.
pub const TIMING_KEYS: [&str; 3] = ["latency_ms", "queue_ms", "attempts"];

/// Key of a judge's output with the time of all its requests in milliseconds, for metrics only.
pub const JUDGE_CLOCK: &str = "latency_ms";

/// A model's output for a sample. Holds nothing that varies from run to run; its duration is recorded
/// separately.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOutput {
    /// The final text; for a choice by log-likelihood, the id of the most likely option.
    pub answer: String,
    /// For a choice by log-likelihood: the id of the option that is most likely per character of its text.
    pub answer_normalized: Option<String>,
    /// Reason why the model stopped.
    pub finish_reason: FinishReason,
    /// Token usage.
    pub usage: Option<Usage>,
    /// Scores of all continuations, in the order of the options.
    pub continuations: Vec<ContinuationScore>,
    /// Score of the whole text, if that was requested.
    pub rolling: Option<RollingScore>,
    /// Other output of the backend: `reasoning`, `tool_calls`, `media` (content parts).
    pub extra: Object,
}

impl ModelOutput {
    /// Key of the reply's media in `extra`: a list of content parts.
    pub const MEDIA_KEY: &str = "media";

    /// Key of the name that a server gives to the model that answered.
    pub const SERVED_MODEL_KEY: &str = "served_model";

    /// Key of the name that a server gives to the configuration that the model ran with.
    pub const FINGERPRINT_KEY: &str = "system_fingerprint";

    /// Returns whether the reply has media.
    pub fn has_media(&self) -> bool {
        self.extra
            .get(ModelOutput::MEDIA_KEY)
            .and_then(Value::as_array)
            .is_some_and(|parts| !parts.is_empty())
    }

    /// Creates an output from generated text.
    pub fn generated(answer: String, finish_reason: FinishReason, usage: Option<Usage>) -> ModelOutput {
        ModelOutput {
            answer,
            answer_normalized: None,
            finish_reason,
            usage,
            continuations: Vec::new(),
            rolling: None,
            extra: Object::new(),
        }
    }

    /// Creates an output from the score of a whole text; there is no answer.
    pub fn of_text(rolling: RollingScore, usage: Option<Usage>) -> ModelOutput {
        let output = ModelOutput::generated(String::new(), FinishReason::Scored, usage);
        ModelOutput { rolling: Some(rolling), ..output }
    }

    /// Chooses among continuations: the most likely one, and the most likely one per character. Ties go
    /// to the first.
    pub fn chosen(continuations: Vec<ContinuationScore>, usage: Option<Usage>) -> ModelOutput {
        let best = |value: fn(&ContinuationScore) -> f64| {
            continuations
                .iter()
                .reduce(|best, next| if value(next) > value(best) { next } else { best })
                .map(|best| best.id.clone())
        };
        let answer = best(|score| score.logprob).unwrap_or_default();
        let answer_normalized = best(ContinuationScore::per_character);
        let output = ModelOutput::generated(answer, FinishReason::Scored, usage);
        ModelOutput { answer_normalized, continuations, ..output }
    }

    /// Returns the output as JSON, as seen by paths such as `model_output.answer`.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(id: &str, logprob: f64, byte_count: u32) -> ContinuationScore {
        ContinuationScore {
            id: id.to_owned(),
            logprob,
            unconditioned_logprob: None,
            token_count: 1,
            byte_count,
            character_count: None,
            is_greedy: false,
        }
    }

    #[test]
    fn words_are_counted_as_python_splits_them() {
        // From len(re.split(r"\s+", text)) in Python 3.
        for (text, words) in [
            ("", 1),
            ("one", 1),
            ("one two\n three", 3),
            (" one ", 3),
            ("one\u{a0}two\u{3000}three", 3),
            ("one\u{1f}\u{1c}two", 2),
            ("one\u{200b}two", 1),
            (" ", 2),
        ] {
            assert_eq!(word_count(text), words, "{text:?}");
        }
    }

    #[test]
    fn the_most_likely_wins_and_of_equals_the_first() {
        let cases = [
            (vec![score("A", -2.0, 2), score("B", -1.0, 1)], "B", "A"),
            (vec![score("A", -1.0, 1), score("B", -1.0, 1)], "A", "A"),
            (vec![score("A", -4.0, 8), score("B", -3.0, 2)], "B", "A"),
        ];
        for (scores, answer, normalized) in cases {
            let output = ModelOutput::chosen(scores, None);
            assert_eq!(
                (output.answer.as_str(), output.answer_normalized.as_deref()),
                (answer, Some(normalized))
            );
        }
    }
}
