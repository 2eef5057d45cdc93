//! Log-likelihood of a continuation, from servers that return the log-probabilities of a prompt's tokens.
//!
//! The prompt and its continuation are sent as one text. A token counts if it extends beyond the prompt, without the white
//! space at its end. A token across the boundary, which merges the end of one with the start of the other, counts as a
//! whole.

mod reply;

use crate::api::{BackendErrorKind, Continuation};
use crate::http::{AnswerId, HttpFailure, Refusal, ReplyReader, typed_json_of};
use gage_config::{HttpBackendConfig, LikelihoodSource};
use gage_core::{ContinuationScore, Object};
use reply::{EchoedTokens, LikelihoodReply, PromptToken};

/// Builds the body of a request for the tokens of a text.
pub(super) fn body_of(text: &str, source: LikelihoodSource, config: &HttpBackendConfig) -> Object {
    let mut body = Object::from_iter([
        ("model".to_owned(), config.model.as_str().into()),
        ("prompt".to_owned(), text.into()),
        // Some servers reject zero. The generated token is ignored.
        ("max_tokens".to_owned(), 1.into()),
        ("temperature".to_owned(), 0.into()),
    ]);
    match source {
        LikelihoodSource::Echo => {
            body.insert("echo".to_owned(), true.into());
            body.insert("logprobs".to_owned(), 1.into());
        }
        LikelihoodSource::PromptLogprobs => {
            body.insert("prompt_logprobs".to_owned(), 1.into());
        }
    }
    crate::conversation::merge(&mut body, &config.extra_body);
    body
}

/// Original request, used to find the continuation in the answer.
pub(super) struct LikelihoodRequest<'c> {
    pub(super) source: LikelihoodSource,
    /// The prompt and the continuation.
    pub(super) text: &'c str,
    /// Length of that text.
    pub(super) characters: usize,
    /// Length of the prompt without the white space at its end.
    pub(super) prompt_characters: usize,
    pub(super) continuation: &'c Continuation,
}

/// Score of a continuation, and the number of tokens of the whole prompt.
pub(super) struct ScoredTokens {
    pub(super) score: ContinuationScore,
    pub(super) prompt_tokens: u64,
}

pub(super) struct LikelihoodReader<'a>(pub(super) &'a LikelihoodRequest<'a>);

impl ReplyReader for LikelihoodReader<'_> {
    type Output = ScoredTokens;

    /// No tree is built: a value takes at most 80 bytes.
    fn max_values(max_bytes: usize) -> usize {
        max_bytes / 16
    }

    fn read_body(self, body: &[u8], id: &mut Option<AnswerId>) -> Result<ScoredTokens, HttpFailure> {
        let reply: LikelihoodReply<'_> = typed_json_of(body)?;
        *id = reply.id.as_str().and_then(AnswerId::of);
        let choice = reply.choices.into_iter().next();
        let choice = choice.ok_or_else(|| HttpFailure::protocol("the answer has no choices"))?;
        let tokens = match self.0.source {
            LikelihoodSource::Echo => echoed(choice.logprobs, self.0)?,
            LikelihoodSource::PromptLogprobs => of_prompt(choice.prompt_logprobs.or(reply.prompt_logprobs))?,
        };
        score(self.0, &tokens)
    }
}

/// A token of the text that was sent.
struct Token {
    /// End of the token, in characters from the beginning, if known.
    end: Option<usize>,
    characters: usize,
    /// `None` for the first token, which nothing precedes.
    logprob: Option<f64>,
    is_greedy: bool,
}

/// Returns what a server needs whose refusal may mean that it gives no log-probabilities of a prompt.
pub(super) fn remedy(refusal: &Refusal<'_>) -> Option<String> {
    let remedy = "log-likelihood needs a server whose `completions` give the log-probabilities of the prompt \
                  (`loglikelihood: echo` or `loglikelihood: prompt_logprobs`), such as vLLM, or a GGUF file";
    (refusal.kind().0 == BackendErrorKind::Rejected).then(|| remedy.to_owned())
}

fn lacking(what: &str) -> HttpFailure {
    let message = format!(
        "the answer has no {what}: this server does not give the log-probabilities of a prompt in this way; try \
         the other value of `loglikelihood` (`echo`, `prompt_logprobs`), or another backend"
    );
    HttpFailure::lasting(BackendErrorKind::Unsupported, message)
}

/// Returns whether the first token is one that the server puts before every text, such as `<s>`.
fn is_added(token: &str, text: &str) -> bool {
    let is_special = token.starts_with('<') && token.ends_with('>') && !token.starts_with("<0x");
    is_special && !text.starts_with(token)
}

fn echoed(
    logprobs: Option<EchoedTokens<'_>>,
    asked: &LikelihoodRequest<'_>,
) -> Result<Vec<Token>, HttpFailure> {
    let logprobs = logprobs.ok_or_else(|| lacking("`logprobs`"))?;
    let EchoedTokens { tokens, token_logprobs, text_offset, top_logprobs } = logprobs;
    let tokens = tokens.ok_or_else(|| lacking("`logprobs.tokens`"))?;
    let values = token_logprobs.ok_or_else(|| lacking("`logprobs.token_logprobs`"))?;
    let offsets = text_offset.filter(|offsets| offsets.len() == tokens.len());
    let top = top_logprobs.unwrap_or_default();
    let first = tokens.first().and_then(|token| token.as_str()).unwrap_or_default();
    let added = usize::from(is_added(first, asked.text));
    // Offsets may count from the prompt's beginning or from somewhere before it.
    let base = offsets.as_ref().and_then(|offsets| offsets.get(added)?.as_u64()).unwrap_or(0);
    let mut read = Vec::with_capacity(tokens.len());
    let mut at = 0;
    for (index, (token, value)) in tokens.iter().zip(&values).enumerate() {
        let text = token.as_str().unwrap_or_default();
        let length = if index < added { 0 } else { text.chars().count() };
        let offset = |index: usize| {
            let offset = offsets.as_ref()?.get(index)?.as_u64()?;
            usize::try_from(offset.saturating_sub(base)).ok()
        };
        let start = offset(index).unwrap_or(at);
        if start >= asked.characters {
            break;
        }
        let end = offset(index + 1).unwrap_or(start + length);
        at = end;
        let logprob = value.as_f64();
        let best = top.get(index).and_then(|best| best.0);
        let is_greedy = matches!((logprob, best), (Some(own), Some(best)) if own >= best);
        read.push(Token { end: Some(end), characters: length, logprob, is_greedy });
    }
    if !read.iter().any(|token| token.logprob.is_some()) {
        return Err(lacking("log-probabilities of the prompt's tokens (`echo`)"));
    }
    Ok(read)
}

/// Reads vLLM's list: null for the first token, then an object per token, whose first entry is the token itself.
fn of_prompt(list: Option<Vec<PromptToken>>) -> Result<Vec<Token>, HttpFailure> {
    let list = list.ok_or_else(|| lacking("`prompt_logprobs`"))?;
    let mut read = Vec::with_capacity(list.len());
    for PromptToken { own, best, is_described } in list {
        if !is_described {
            read.push(Token { end: None, characters: 0, logprob: None, is_greedy: false });
            continue;
        }
        let own = own.ok_or_else(|| HttpFailure::protocol("a token has no log-probability"))?;
        let logprob = own.logprob.ok_or_else(|| HttpFailure::protocol("a token has no log-probability"))?;
        let is_greedy = match own.rank {
            Some(rank) => rank == 1,
            None => best.is_none_or(|best| logprob >= best),
        };
        let characters = own.characters.ok_or_else(|| lacking("`decoded_token`"))?;
        read.push(Token { end: None, characters, logprob: Some(logprob), is_greedy });
    }
    Ok(read)
}

/// Sums the tokens that extend beyond the prompt.
fn score(asked: &LikelihoodRequest<'_>, tokens: &[Token]) -> Result<ScoredTokens, HttpFailure> {
    let mut score = ContinuationScore {
        id: asked.continuation.id.clone(),
        logprob: 0.0,
        unconditioned_logprob: None,
        character_count: None,
        token_count: 0,
        byte_count: u32::try_from(asked.continuation.text.len()).unwrap_or(u32::MAX),
        is_greedy: true,
    };
    // Work backwards, since both texts match for certain at the end: special tokens may precede the beginning.
    let mut end = asked.characters;
    for token in tokens.iter().rev() {
        if token.end.unwrap_or(end) <= asked.prompt_characters {
            break;
        }
        end = end.saturating_sub(token.characters);
        let Some(logprob) = token.logprob else {
            let message = "no token precedes the text to score, so its first token has no log-probability; set \
                `text_start` to a token that the model knows, such as `<|endoftext|>`";
            return Err(HttpFailure::lasting(BackendErrorKind::Rejected, message));
        };
        if logprob > 0.0 {
            let message = format!("a token has the log-probability {logprob}, which is above 0");
            return Err(HttpFailure::lasting(BackendErrorKind::Protocol, message));
        }
        score.logprob += logprob;
        score.token_count += 1;
        score.is_greedy &= token.is_greedy;
    }
    if score.token_count == 0 {
        return Err(HttpFailure::protocol("the answer has no token of the continuation"));
    }
    Ok(ScoredTokens { score, prompt_tokens: tokens.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(
        source: LikelihoodSource,
        prompt: &str,
        continuation: &str,
        reply: Value,
    ) -> Result<(f64, u32, bool), String> {
        let continuation = Continuation { id: "a".to_owned(), text: continuation.to_owned() };
        let text = format!("{prompt}{}", continuation.text);
        let asked = LikelihoodRequest {
            source,
            text: &text,
            characters: prompt.chars().count() + continuation.text.chars().count(),
            prompt_characters: prompt.chars().count(),
            continuation: &continuation,
        };
        let body = reply.to_string();
        match LikelihoodReader(&asked).read_body(body.as_bytes(), &mut None) {
            Ok(scored) => Ok((scored.score.logprob, scored.score.token_count, scored.score.is_greedy)),
            Err(failure) => Err(failure.message),
        }
    }

    fn echo(tokens: Value, offsets: Value, logprobs: Value, top: Value) -> Value {
        json!({"choices": [{"logprobs": {
            "tokens": tokens, "text_offset": offsets, "token_logprobs": logprobs, "top_logprobs": top,
        }}]})
    }

    #[test]
    fn echoed_tokens_beyond_the_prompt_are_added_up() {
        let source = LikelihoodSource::Echo;
        let top = json!([null, {"b": -0.5}, {" c": -0.25}, {"x": -0.1}, {"!": -0.1}]);
        let all = |offsets| {
            echo(
                json!(["a", "b", " c", "é", "!"]),
                offsets,
                json!([null, -0.5, -0.25, -1.0, -0.1]),
                top.clone(),
            )
        };
        for offsets in [json!([0, 1, 2, 4, 5]), json!([7, 8, 9, 11, 12]), json!(null)] {
            assert_eq!(read(source, "ab", " cé", all(offsets.clone())), Ok((-1.25, 2, false)), "{offsets}");
            assert_eq!(read(source, "ab", " c", all(offsets)), Ok((-0.25, 1, true)));
        }
        // A token across the boundary counts as a whole.
        assert_eq!(read(source, "ab ", "cé", all(json!([0, 1, 2, 4, 5]))), Ok((-1.25, 2, false)));
    }

    /// Offsets of some servers count the token that they put before every text, and others do not.
    #[test]
    fn a_token_that_the_server_adds_is_no_part_of_the_text() {
        let values = json!([null, -0.5, -0.25, -1.0, -9.0]);
        for offsets in [json!([0, 3, 4, 5, 7]), json!([0, 0, 1, 2, 4]), json!(null)] {
            let reply =
                echo(json!(["<s>", "a", "b", " c", "!"]), offsets.clone(), values.clone(), json!(null));
            let source = LikelihoodSource::Echo;
            assert_eq!(read(source, "ab", " c", reply.clone()), Ok((-1.0, 1, false)), "{offsets}");
            assert_eq!(read(source, "", "ab c", reply), Ok((-1.75, 3, false)), "{offsets}");
        }
        for (token, text, expected) in [
            ("<s>", "<s>ab", false),
            ("<|begin_of_text|>", "ab", true),
            ("<0xE2>", "\u{2603}", false),
            ("\u{2581}ab", "ab", false),
        ] {
            assert_eq!(is_added(token, text), expected, "{token} {text}");
        }
    }

    #[test]
    fn the_tokens_of_a_prompt_are_found_from_its_end() {
        let token = |text: &str, logprob: f64, rank: u64| json!({"7": {"logprob": logprob, "rank": rank, "decoded_token": text}, "8": {"logprob": -0.01, "rank": 1, "decoded_token": "?"}});
        let list = json!([null, token("ab", -3.0, 2), token(" c", -0.5, 1), token("é", -1.0, 1)]);
        let reply = json!({"choices": [{"prompt_logprobs": list}]});
        assert_eq!(read(LikelihoodSource::PromptLogprobs, "ab", " cé", reply.clone()), Ok((-1.5, 2, true)));
        assert_eq!(read(LikelihoodSource::PromptLogprobs, "", "ab cé", reply), Ok((-4.5, 3, false)));
    }

    #[test]
    fn servers_without_logprobs_differ_from_broken_ones() {
        for (source, reply, part) in [
            (LikelihoodSource::Echo, json!({"choices": [{"text": "x"}]}), "no `logprobs`"),
            (LikelihoodSource::Echo, echo(json!(["a"]), json!([0]), json!([null]), json!(null)), "(`echo`)"),
            (LikelihoodSource::PromptLogprobs, json!({"choices": [{"text": "x"}]}), "no `prompt_logprobs`"),
            (LikelihoodSource::Echo, json!({}), "no choices"),
        ] {
            let message = read(source, "a", "b", reply).expect_err(part);
            assert!(message.contains(part), "{message}");
        }
        let above = echo(json!(["a", "b"]), json!([0, 1]), json!([null, 0.5]), json!(null));
        let message = read(LikelihoodSource::Echo, "a", "b", above).expect_err("above 0");
        assert!(message.contains("above 0"), "{message}");
        let first = echo(json!(["ab"]), json!([0]), json!([null]), json!(null));
        assert!(read(LikelihoodSource::Echo, "", "ab", first).is_err());
    }
}
