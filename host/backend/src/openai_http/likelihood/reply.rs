//! The parts of a reply that score a prompt's tokens. Everything else is skipped without being built, because the replies
//! for long prompts have hundreds of thousands of JSON values.

use crate::openai_http::lenient::{LenientValue, ScalarValue, read_lenient};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess};

/// A reply to a request for the tokens of a prompt.
#[derive(serde::Deserialize)]
pub(super) struct LikelihoodReply<'b> {
    #[serde(borrow, default)]
    pub(super) id: ScalarValue<'b>,
    #[serde(borrow, default)]
    pub(super) choices: Vec<LikelihoodChoice<'b>>,
    #[serde(default)]
    pub(super) prompt_logprobs: Option<Vec<PromptToken>>,
}

/// An answer of a reply.
#[derive(serde::Deserialize)]
pub(super) struct LikelihoodChoice<'b> {
    #[serde(borrow, default)]
    pub(super) logprobs: Option<EchoedTokens<'b>>,
    #[serde(default)]
    pub(super) prompt_logprobs: Option<Vec<PromptToken>>,
}

/// Parallel lists of an answer with `echo`.
#[derive(serde::Deserialize)]
pub(super) struct EchoedTokens<'b> {
    #[serde(borrow, default)]
    pub(super) tokens: Option<Vec<ScalarValue<'b>>>,
    #[serde(borrow, default)]
    pub(super) token_logprobs: Option<Vec<ScalarValue<'b>>>,
    #[serde(borrow, default)]
    pub(super) text_offset: Option<Vec<ScalarValue<'b>>>,
    #[serde(default)]
    pub(super) top_logprobs: Option<Vec<BestLogprob>>,
}

/// The highest log-probability among the alternatives of a token, if there are any.
#[derive(Clone, Copy, Default)]
pub(super) struct BestLogprob(pub(super) Option<f64>);

/// A token of a prompt, as vLLM describes it.
#[derive(Clone, Copy, Default)]
pub(super) struct PromptToken {
    /// The token itself, which is the first entry; `None` for a token without entries.
    pub(super) own: Option<TokenEntry>,
    /// The highest log-probability of all entries.
    pub(super) best: Option<f64>,
    /// True if the token is described by an object. The first token of a prompt is null.
    pub(super) is_described: bool,
}

/// A token or one of its alternatives.
#[derive(Clone, Copy, Default)]
pub(super) struct TokenEntry {
    pub(super) logprob: Option<f64>,
    pub(super) rank: Option<u64>,
    /// Length of its text, if that is given.
    pub(super) characters: Option<usize>,
}

fn higher(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

impl<'j> LenientValue<'j> for BestLogprob {
    fn from_scalar(_: ScalarValue<'j>) -> BestLogprob {
        BestLogprob::default()
    }

    fn from_members<A: MapAccess<'j>>(mut members: A) -> Result<BestLogprob, A::Error> {
        let mut best = None;
        while let Some((_, value)) = members.next_entry::<IgnoredAny, ScalarValue<'j>>()? {
            best = higher(best, value.as_f64());
        }
        Ok(BestLogprob(best))
    }
}

impl<'j> LenientValue<'j> for PromptToken {
    fn from_scalar(_: ScalarValue<'j>) -> PromptToken {
        PromptToken::default()
    }

    fn from_members<A: MapAccess<'j>>(mut members: A) -> Result<PromptToken, A::Error> {
        let mut token = PromptToken { is_described: true, ..PromptToken::default() };
        while let Some((_, entry)) = members.next_entry::<IgnoredAny, TokenEntry>()? {
            token.best = higher(token.best, entry.logprob);
            token.own.get_or_insert(entry);
        }
        Ok(token)
    }
}

impl<'j> LenientValue<'j> for TokenEntry {
    fn from_scalar(value: ScalarValue<'j>) -> TokenEntry {
        TokenEntry { logprob: value.as_f64(), ..TokenEntry::default() }
    }

    fn from_members<A: MapAccess<'j>>(mut members: A) -> Result<TokenEntry, A::Error> {
        let mut entry = TokenEntry::default();
        while let Some((key, value)) = members.next_entry::<ScalarValue<'j>, ScalarValue<'j>>()? {
            match key.as_str() {
                Some("logprob") => entry.logprob = value.as_f64(),
                Some("rank") => entry.rank = value.as_u64(),
                Some("decoded_token") => entry.characters = value.as_str().map(|text| text.chars().count()),
                _ => {}
            }
        }
        Ok(entry)
    }
}

impl<'de> Deserialize<'de> for BestLogprob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BestLogprob, D::Error> {
        read_lenient(deserializer)
    }
}

impl<'de> Deserialize<'de> for PromptToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PromptToken, D::Error> {
        read_lenient(deserializer)
    }
}

impl<'de> Deserialize<'de> for TokenEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TokenEntry, D::Error> {
        read_lenient(deserializer)
    }
}
