//! A model's output for a sample.

use crate::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done, or came to a stop string.
    Stop,
    /// It came to its limit of tokens.
    Length,
    /// It wants tools to be called.
    ToolCalls,
    /// The provider's filter cut in.
    ContentFilter,
    /// The answer was chosen by log-likelihood, or a whole text was scored; nothing was generated.
    Scored,
    /// Anything else.
    Other,
}

/// How many tokens a request took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the completion.
    pub completion_tokens: u64,
}

/// How likely one continuation of the prompt is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContinuationScore {
    /// The id of the option that the continuation stands for.
    pub id: String,
    /// Sum over the tokens of the natural logarithm of their probability.
    pub logprob: f64,
    /// Number of tokens.
    pub token_count: u32,
    /// Number of UTF-8 bytes of the option's text, without the `continuation_prefix`; it normalises the sum.
    pub byte_count: u32,
    /// Whether greedy decoding would have produced it.
    pub is_greedy: bool,
}

/// How likely a whole text is, each token given what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RollingScore {
    /// Sum over the tokens of the natural logarithm of their probability.
    pub loglikelihood: f64,
    /// The tokens, as the model cuts it.
    pub token_count: u64,
    /// The bytes in UTF-8.
    pub byte_count: u64,
    /// The words: see [`word_count`].
    pub word_count: u64,
}

/// The words of a text as lm-evaluation-harness counts them: the pieces between its stretches of white space, of which
/// those at its ends have an empty piece beyond them (`len(re.split(r"\s+", text))`).
pub fn word_count(text: &str) -> u64 {
    // Python counts the four separators of ASCII among white space.
    let is_space = |character: char| character.is_whitespace() || ('\x1c'..='\x1f').contains(&character);
    let mut was_space = false;
    let mut words = 1;
    for character in text.chars() {
        let now = is_space(character);
        words += u64::from(now && !was_space);
        was_space = now;
    }
    words
}

/// Names in `model_output` that are the host's: under them metrics that ask for it find what varies from run to run, which no
/// output holds.
pub const TIMING_KEYS: [&str; 3] = ["latency_ms", "queue_ms", "attempts"];

/// What a model says about a sample. Holds nothing that varies from run to run; the time that
/// it took is recorded beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOutput {
    /// The final text; for a choice by log-likelihood the id of the most likely option.
    pub answer: String,
    /// For a choice by log-likelihood: the id of the option that is most likely per byte of its text.
    pub answer_normalized: Option<String>,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// How many tokens it took.
    pub usage: Option<Usage>,
    /// The scores of all continuations, in the order of the options.
    pub continuations: Vec<ContinuationScore>,
    /// The score of the whole text, where that is what was asked for.
    pub rolling: Option<RollingScore>,
    /// Whatever else the backend says: `reasoning`, `tool_calls`.
    pub extra: Object,
}

impl ModelOutput {
    /// A generated text.
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

    /// The score of a whole text; there is no answer.
    pub fn of_text(rolling: RollingScore, usage: Option<Usage>) -> ModelOutput {
        let output = ModelOutput::generated(String::new(), FinishReason::Scored, usage);
        ModelOutput { rolling: Some(rolling), ..output }
    }

    /// The choice among continuations: the most likely one, and the most likely one per byte.
    /// Of equals the first wins.
    pub fn chosen(continuations: Vec<ContinuationScore>, usage: Option<Usage>) -> ModelOutput {
        let best = |value: fn(&ContinuationScore) -> f64| {
            continuations
                .iter()
                .reduce(|best, next| if value(next) > value(best) { next } else { best })
                .map(|best| best.id.clone())
        };
        let answer = best(|score| score.logprob).unwrap_or_default();
        let answer_normalized = best(|score| score.logprob / f64::from(score.byte_count.max(1)));
        let output = ModelOutput::generated(answer, FinishReason::Scored, usage);
        ModelOutput { answer_normalized, continuations, ..output }
    }

    /// The output as JSON, as paths such as `model_output.answer` see it.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(id: &str, logprob: f64, byte_count: u32) -> ContinuationScore {
        ContinuationScore { id: id.to_owned(), logprob, token_count: 1, byte_count, is_greedy: false }
    }

    #[test]
    fn words_are_counted_as_python_splits_them() {
        // len(re.split(r"\s+", text)) of Python 3.
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
