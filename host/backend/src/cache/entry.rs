//! An answer as it is kept: JSON, of which nothing is lost on the way back.

use crate::api::{EmbedOutput, LoglikelihoodOutput, RollingOutput};
use gage_core::{ContinuationScore, FinishReason, ModelOutput, Object, RollingScore, Usage};
use serde::{Deserialize, Serialize};

/// An answer that can be kept.
pub(super) trait CacheEntry: Sized + Send + 'static {
    /// Whether it is an answer that would be given again, rather than a failure of another kind.
    fn is_whole(&self) -> bool;

    /// Its text.
    fn write(&self) -> String;

    /// The answer of a text; nothing where it is another text.
    fn read(text: &str) -> Option<Self>;
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedCompletion {
    answer: String,
    answer_normalized: Option<String>,
    finish_reason: FinishReason,
    usage: Option<Usage>,
    continuations: Vec<ContinuationScore>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rolling: Option<RollingScore>,
    extra: Object,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedScores {
    scores: Vec<ContinuationScore>,
    usage: Option<Usage>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedRolling {
    logprob: f64,
    token_count: u64,
    byte_count: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedEmbedding {
    vectors: Vec<Vec<f32>>,
    usage: Option<Usage>,
}

/// JSON can hold all of these.
fn text_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl CacheEntry for ModelOutput {
    /// What a filter cut off, what ended for a reason that nobody knows, and an answer that is empty are asked for again.
    fn is_whole(&self) -> bool {
        match self.finish_reason {
            FinishReason::Stop | FinishReason::Length => !self.answer.trim().is_empty(),
            FinishReason::ToolCalls | FinishReason::Scored => true,
            FinishReason::ContentFilter | FinishReason::Other => false,
        }
    }

    fn write(&self) -> String {
        let ModelOutput { answer, answer_normalized, finish_reason, usage, continuations, rolling, extra } =
            self.clone();
        text_of(&CachedCompletion {
            answer,
            answer_normalized,
            finish_reason,
            usage,
            continuations,
            rolling,
            extra,
        })
    }

    fn read(text: &str) -> Option<ModelOutput> {
        let CachedCompletion {
            answer,
            answer_normalized,
            finish_reason,
            usage,
            continuations,
            rolling,
            extra,
        } = serde_json::from_str(text).ok()?;
        Some(ModelOutput { answer, answer_normalized, finish_reason, usage, continuations, rolling, extra })
    }
}

impl CacheEntry for LoglikelihoodOutput {
    /// JSON has no infinities, which a server may mean by a score of null.
    fn is_whole(&self) -> bool {
        self.scores.iter().all(|score| score.logprob.is_finite())
    }

    fn write(&self) -> String {
        text_of(&CachedScores { scores: self.scores.clone(), usage: self.usage })
    }

    fn read(text: &str) -> Option<LoglikelihoodOutput> {
        let CachedScores { scores, usage } = serde_json::from_str(text).ok()?;
        Some(LoglikelihoodOutput { scores, usage })
    }
}

impl CacheEntry for RollingOutput {
    fn is_whole(&self) -> bool {
        self.logprob.is_finite()
    }

    fn write(&self) -> String {
        let RollingOutput { logprob, token_count, byte_count } = *self;
        text_of(&CachedRolling { logprob, token_count, byte_count })
    }

    fn read(text: &str) -> Option<RollingOutput> {
        let CachedRolling { logprob, token_count, byte_count } = serde_json::from_str(text).ok()?;
        Some(RollingOutput { logprob, token_count, byte_count })
    }
}

impl CacheEntry for EmbedOutput {
    fn is_whole(&self) -> bool {
        self.vectors.iter().flatten().all(|number| number.is_finite())
    }

    fn write(&self) -> String {
        text_of(&CachedEmbedding { vectors: self.vectors.clone(), usage: self.usage })
    }

    fn read(text: &str) -> Option<EmbedOutput> {
        let CachedEmbedding { vectors, usage } = serde_json::from_str(text).ok()?;
        Some(EmbedOutput { vectors, usage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_was_no_answer_is_not_kept() {
        let output = |answer: &str, finish| ModelOutput::generated(answer.to_owned(), finish, None);
        for (answer, finish, is_whole) in [
            ("4", FinishReason::Stop, true),
            ("4", FinishReason::Length, true),
            ("", FinishReason::ToolCalls, true),
            (" \n", FinishReason::Stop, false),
            ("", FinishReason::Length, false),
            ("4", FinishReason::ContentFilter, false),
            ("4", FinishReason::Other, false),
        ] {
            assert_eq!(output(answer, finish).is_whole(), is_whole, "{answer:?} {finish:?}");
        }
        let scores = vec![ContinuationScore { id: "a".to_owned(), logprob: f64::NEG_INFINITY, ..score(0.0) }];
        assert!(!LoglikelihoodOutput { scores, usage: None }.is_whole());
        assert!(!RollingOutput { logprob: f64::NAN, token_count: 1, byte_count: 1 }.is_whole());
    }

    fn score(logprob: f64) -> ContinuationScore {
        ContinuationScore { id: "b".to_owned(), logprob, token_count: 2, byte_count: 3, is_greedy: true }
    }

    proptest! {
        #[test]
        fn an_answer_comes_back_as_it_was(
            answer in ".*",
            logprob in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
            vector in proptest::collection::vec(proptest::num::f32::NORMAL, 0..4),
            tokens: u64,
        ) {
            let usage = Some(Usage { prompt_tokens: tokens, completion_tokens: 1 });
            let extra = json!({"z": [logprob, tokens], "a": {"reasoning": answer}});
            let output = ModelOutput {
                extra: extra.as_object().cloned().unwrap_or_default(),
                continuations: vec![score(logprob)],
                ..ModelOutput::generated(answer, FinishReason::Stop, usage)
            };
            let read = ModelOutput::read(&output.write());
            // The keys in their order, as they are written into files.
            prop_assert_eq!(
                read.as_ref().map(|read| serde_json::to_string(&read.extra).ok()),
                Some(serde_json::to_string(&output.extra).ok())
            );
            prop_assert_eq!(read, Some(output));
            let output = LoglikelihoodOutput { scores: vec![score(logprob)], usage };
            prop_assert_eq!(LoglikelihoodOutput::read(&output.write()), Some(output));
            let output = RollingOutput { logprob, token_count: tokens, byte_count: tokens };
            prop_assert_eq!(RollingOutput::read(&output.write()), Some(output));
            let output = EmbedOutput { vectors: vec![vector], usage };
            prop_assert_eq!(EmbedOutput::read(&output.write()), Some(output));
        }
    }
}
