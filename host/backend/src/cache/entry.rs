//! Format of a cached answer: JSON that round-trips without loss.

use crate::api::{EmbedOutput, LoglikelihoodOutput, RollingOutput};
use gage_core::{
    ContinuationScore, FinishReason, ModelOutput, Object, RollingScore, Usage, count_json_values, parse_json,
};
use serde::{Deserialize, Serialize};

/// Maximum number of JSON values in the `extra` of an answer that is cached. Their tree takes at most 320 MB.
const MAX_EXTRA_VALUES: usize = 1 << 20;
/// Maximum number of JSON values in a cached answer.
const MAX_JSON_VALUES: usize = 2 * MAX_EXTRA_VALUES;

/// An answer that can be cached.
pub(super) trait CacheEntry: Sized + Send + 'static {
    /// Returns true if this is an answer that would be given again, rather than another form of failure.
    fn is_whole(&self) -> bool;

    /// Serializes the answer.
    fn write(&self) -> String;

    /// Parses an answer; `None` if the text is not one.
    fn read(text: &str) -> Option<Self>;
}

/// Cached fields of a [`ModelOutput`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelOutput", deny_unknown_fields)]
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

/// An answer that serde writes and reads as [`CachedCompletion`].
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct KeptOutput(#[serde(with = "CachedCompletion")] ModelOutput);

/// Serializes an answer. JSON can represent all of these.
fn text_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl CacheEntry for ModelOutput {
    /// Filtered answers, answers with an unknown finish reason, empty answers and very large ones are requested again.
    fn is_whole(&self) -> bool {
        if self.extra.values().map(count_json_values).sum::<usize>() > MAX_EXTRA_VALUES {
            return false;
        }
        match self.finish_reason {
            FinishReason::Stop | FinishReason::Length => !self.answer.trim().is_empty(),
            FinishReason::ToolCalls | FinishReason::Scored => true,
            FinishReason::ContentFilter | FinishReason::Other => false,
        }
    }

    fn write(&self) -> String {
        text_of(&KeptOutput(self.clone()))
    }

    fn read(text: &str) -> Option<ModelOutput> {
        parse_json(text.as_bytes(), MAX_JSON_VALUES).ok().map(|KeptOutput(output)| output)
    }
}

impl CacheEntry for LoglikelihoodOutput {
    /// JSON has no infinities, which a server may mean by a null score.
    fn is_whole(&self) -> bool {
        self.scores.iter().all(|score| score.logprob.is_finite())
    }

    fn write(&self) -> String {
        text_of(self)
    }

    fn read(text: &str) -> Option<LoglikelihoodOutput> {
        serde_json::from_str(text).ok()
    }
}

impl CacheEntry for RollingOutput {
    fn is_whole(&self) -> bool {
        self.logprob.is_finite()
    }

    fn write(&self) -> String {
        text_of(self)
    }

    fn read(text: &str) -> Option<RollingOutput> {
        serde_json::from_str(text).ok()
    }
}

impl CacheEntry for EmbedOutput {
    fn is_whole(&self) -> bool {
        self.vectors.iter().flatten().all(|number| number.is_finite())
    }

    fn write(&self) -> String {
        text_of(self)
    }

    fn read(text: &str) -> Option<EmbedOutput> {
        serde_json::from_str(text).ok()
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

    #[test]
    fn an_entry_with_too_many_values_is_no_answer() {
        let text = |values: usize| {
            let extra = format!("{{\"a\":[{}0]}}", "0,".repeat(values));
            let answer = ModelOutput::generated("4".to_owned(), FinishReason::Stop, None).write();
            answer.replace("\"extra\":{}", &format!("\"extra\":{extra}"))
        };
        assert!(ModelOutput::read(&text(3)).is_some_and(|output| output.is_whole()));
        assert!(ModelOutput::read(&text(MAX_JSON_VALUES)).is_none());
    }

    fn score(logprob: f64) -> ContinuationScore {
        ContinuationScore {
            id: "b".to_owned(),
            logprob,
            unconditioned_logprob: None,
            character_count: None,
            token_count: 2,
            byte_count: 3,
            is_greedy: true,
        }
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
            // Keys stay in order, as they are written to files.
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
