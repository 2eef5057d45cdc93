//! Samples the next token.

use crate::constrained_choice::Choices;
use crate::gbnf::explain;
use crate::likelihood::{Distribution, check_logits, most_likely};
use crate::tokenizer::{Pieces, Tokenizer};
use gage_core::SamplingParams;
use gage_model_protocol::{
    Constraint, DEFAULT_SEED, GenerateTask, JobError, JobErrorKind, TokenLogprob, to_usize,
};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

/// Sampler of the tokens of one answer.
pub struct Sampler {
    /// Penalties, truncation, temperature and the draw. `None` for greedy sampling.
    chain: Option<LlamaSampler>,
    constraint: Option<SamplingConstraint>,
    logprobs: Option<usize>,
}

/// Constraint on an answer, with its progress.
enum SamplingConstraint {
    Grammar(LlamaSampler),
    Choices(Choices),
}

/// A sampled token.
pub struct SampledToken {
    /// The token.
    pub token: LlamaToken,
    /// Log-probability, if requested.
    pub logprob: Option<TokenLogprob>,
    /// True if the answer can only end here.
    pub is_last: bool,
}

/// Parses a grammar; its root is `root`.
///
/// # Errors
/// If the text is not a grammar.
pub fn grammar(model: &LlamaModel, text: &str) -> Result<LlamaSampler, String> {
    LlamaSampler::grammar(model, text, "root").map_err(|error| {
        let reason = explain(text).unwrap_or_else(|| format!("{error}, for a reason that its log has"));
        format!(
            "llama.cpp refuses the grammar: {reason}; a grammar is GBNF: rules of the form `name ::= …`; \
                    answers start at the rule `root`"
        )
    })
}

impl Sampler {
    /// Creates the sampler for a request.
    ///
    /// # Errors
    /// If its grammar cannot be parsed.
    pub fn new(
        task: &GenerateTask,
        model: &LlamaModel,
        tokenizer: &Tokenizer<'_>,
        prompt: &[LlamaToken],
        context_length: usize,
    ) -> Result<Sampler, JobError> {
        let constraint = match &task.constraint {
            None => None,
            Some(Constraint::Grammar(text)) => Some(SamplingConstraint::Grammar(
                grammar(model, text).map_err(|reason| JobError::new(JobErrorKind::Rejected, reason))?,
            )),
            Some(Constraint::Choices(texts)) => Some(SamplingConstraint::Choices(Choices::new(texts))),
        };
        Ok(Sampler {
            chain: chain(&task.params, tokenizer.size(), prompt, context_length),
            constraint,
            logprobs: task.logprobs.map(to_usize),
        })
    }

    /// Samples the next token from the logits in a row of the last call, which must have been requested.
    ///
    /// # Errors
    /// If the logits are not numbers, or no token is allowed.
    pub fn choose(
        &mut self,
        context: &LlamaContext<'_>,
        row: i32,
        tokenizer: &Tokenizer<'_>,
        pieces: &mut Option<Pieces>,
    ) -> Result<SampledToken, String> {
        let logits = context.get_logits_ith(row);
        check_logits(logits)?;
        let best = most_likely(logits).ok_or("the model's logits are not numbers")?;
        let best = token_of(best);
        let mut is_last = false;
        let token = match (&mut self.constraint, &mut self.chain) {
            (None, None) => best,
            (None, Some(chain)) => chain.sample(context, row),
            (Some(SamplingConstraint::Choices(choices)), chain) => {
                let pieces = pieces.get_or_insert_with(|| tokenizer.pieces());
                let allowed = choices.allowed(pieces);
                let candidates = allowed
                    .into_iter()
                    .filter_map(|token| Some(LlamaTokenData::new(token, logit_of(logits, token)?, 0.0)));
                let token = pick(LlamaTokenDataArray::new(candidates.collect(), false), chain.as_mut())
                    .ok_or("no token leads to one of the choices: the tokenizer cannot produce them")?;
                is_last = choices.accept(token, pieces);
                token
            }
            (Some(SamplingConstraint::Grammar(grammar)), chain) => {
                let token = by_grammar(grammar, chain.as_mut(), logits, best)
                    .ok_or("no token is left that the grammar allows")?;
                grammar.try_accept(token).map_err(|error| format!("the grammar failed: {error}"))?;
                token
            }
        };
        let logprob = match self.logprobs {
            None => None,
            Some(count) => {
                let distribution = Distribution::of(logits).ok_or("the model's logits are not numbers")?;
                let of = |token: LlamaToken, top| TokenLogprob {
                    token: tokenizer.shown(token),
                    // Impossible tokens also get a finite number, since JSON has no infinity.
                    logprob: logit_of(logits, token)
                        .map_or(f64::MIN, |logit| distribution.log_probability(logit).max(f64::MIN)),
                    top,
                };
                let top =
                    most_likely_of(logits, count).into_iter().map(|token| of(token, Vec::new())).collect();
                Some(of(token, top))
            }
        };
        Ok(SampledToken { token, logprob, is_last })
    }
}

/// Builds llama.cpp's sampler chain for the parameters.
///
/// The order is llama.cpp's: penalties, top-k, top-p, min-p, temperature, and the draw. Without a temperature, only
/// penalties and the most likely token remain. `None` if only the most likely token is needed.
///
/// The repetition penalty sees the prompt and the answer. The presence and frequency penalties see only the answer.
/// `context_length` bounds how far back they look.
fn chain(
    params: &SamplingParams,
    vocabulary_size: i32,
    prompt: &[LlamaToken],
    context_length: usize,
) -> Option<LlamaSampler> {
    let window = i32::try_from(context_length).unwrap_or(i32::MAX);
    let mut samplers = Vec::new();
    if let Some(repetition) = params.repetition_penalty.filter(|penalty| *penalty != 1.0) {
        let sampler = LlamaSampler::penalties(vocabulary_size, window, single(repetition), 0.0, 0.0);
        // Images have no tokens that an answer could repeat.
        samplers.push(sampler.with_tokens(prompt.iter().filter(|token| token.0 >= 0)));
    }
    let frequency = single(params.frequency_penalty.unwrap_or(0.0));
    let presence = single(params.presence_penalty.unwrap_or(0.0));
    if frequency != 0.0 || presence != 0.0 {
        samplers.push(LlamaSampler::penalties(vocabulary_size, window, 1.0, frequency, presence));
    }
    if params.is_greedy() {
        if samplers.is_empty() {
            return None;
        }
        samplers.push(LlamaSampler::greedy());
    } else {
        if let Some(top_k) = params.top_k.filter(|top_k| *top_k > 0) {
            samplers.push(LlamaSampler::top_k(i32::try_from(top_k).unwrap_or(i32::MAX)));
        }
        if let Some(top_p) = params.top_p.filter(|top_p| *top_p < 1.0) {
            samplers.push(LlamaSampler::top_p(single(top_p), 1));
        }
        if let Some(min_p) = params.min_p.filter(|min_p| *min_p > 0.0) {
            samplers.push(LlamaSampler::min_p(single(min_p), 1));
        }
        samplers.push(LlamaSampler::temp(single(params.temperature.unwrap_or(1.0))));
        samplers.push(LlamaSampler::dist(seed(params.seed)));
    }
    Some(LlamaSampler::chain(samplers, true))
}

/// Returns the most likely token if the grammar allows it, which is usual and cheap to check.
///
/// Otherwise samples among all tokens that the grammar allows, which requires checking the whole vocabulary.
fn by_grammar(
    grammar: &mut LlamaSampler,
    chain: Option<&mut LlamaSampler>,
    logits: &[f32],
    best: LlamaToken,
) -> Option<LlamaToken> {
    if chain.is_none() {
        let mut alone = LlamaTokenDataArray::new(vec![LlamaTokenData::new(best, 0.0, 0.0)], false);
        grammar.apply(&mut alone);
        if alone.data.first().is_some_and(|data| data.logit().is_finite()) {
            return Some(best);
        }
    }
    let all =
        logits.iter().enumerate().map(|(token, logit)| LlamaTokenData::new(token_of(token), *logit, 0.0));
    let mut all = LlamaTokenDataArray::new(all.collect(), false);
    grammar.apply(&mut all);
    all.data.retain(|data| data.logit() > f32::NEG_INFINITY);
    pick(all, chain)
}

/// Chooses among candidates; `None` if there are none.
fn pick(mut candidates: LlamaTokenDataArray, chain: Option<&mut LlamaSampler>) -> Option<LlamaToken> {
    match chain {
        None => {
            let best = candidates
                .data
                .iter()
                .reduce(|best, next| if next.logit() > best.logit() { next } else { best });
            best.map(LlamaTokenData::id)
        }
        Some(_) if candidates.data.is_empty() => None,
        Some(chain) => {
            candidates.apply_sampler(chain);
            let token = candidates.selected_token()?;
            chain.accept(token);
            Some(token)
        }
    }
}

/// Returns the tokens with the largest logits, largest first.
fn most_likely_of(logits: &[f32], count: usize) -> Vec<LlamaToken> {
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(count + 1);
    for (token, logit) in logits.iter().copied().enumerate() {
        if best.len() < count || best.last().is_some_and(|(_, least)| logit > *least) {
            let place = best.partition_point(|(_, larger)| *larger >= logit);
            best.insert(place, (token, logit));
            best.truncate(count);
        }
    }
    best.into_iter().map(|(token, _)| token_of(token)).collect()
}

fn token_of(index: usize) -> LlamaToken {
    LlamaToken::new(i32::try_from(index).unwrap_or(i32::MAX))
}

fn logit_of(logits: &[f32], token: LlamaToken) -> Option<f32> {
    logits.get(usize::try_from(token.0).ok()?).copied()
}

/// Reduces a seed to the 32 bits that llama.cpp takes.
///
/// Seeds that fit are unchanged, except for the one that means "at random" in llama.cpp.
fn seed(asked: Option<u64>) -> u32 {
    const AT_RANDOM: u32 = u32::MAX;
    let Some(asked) = asked else { return DEFAULT_SEED };
    let folded = u32::try_from((asked ^ (asked >> 32)) & u64::from(u32::MAX)).unwrap_or(DEFAULT_SEED);
    if folded == AT_RANDOM { AT_RANDOM - 1 } else { folded }
}

/// Rounds to the precision that llama.cpp computes with.
fn single(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_stay_as_they_are_where_they_fit() {
        for (asked, expected) in [
            (None, DEFAULT_SEED),
            (Some(0), 0),
            (Some(7), 7),
            (Some(u64::from(u32::MAX)), u32::MAX - 1),
            (Some(1 << 32), 1),
            (Some(u64::MAX), 0),
        ] {
            assert_eq!(seed(asked), expected, "{asked:?}");
        }
    }

    #[test]
    fn without_a_temperature_the_choice_is_greedy() {
        let greedy = SamplingParams { top_p: Some(0.5), seed: Some(1), ..SamplingParams::default() };
        assert!(chain(&greedy, 10, &[], 16).is_none());
        let hot = SamplingParams { temperature: Some(0.8), ..greedy };
        assert!(chain(&hot, 10, &[], 16).is_some());
    }

    #[test]
    fn the_largest_are_found_and_of_equals_the_first() {
        let logits = [1.0, 5.0, 3.0, 5.0, f32::NEG_INFINITY];
        let found =
            |count| most_likely_of(&logits, count).into_iter().map(|token| token.0).collect::<Vec<_>>();
        assert_eq!(found(0), [0; 0]);
        assert_eq!(found(3), [1, 3, 2]);
        assert_eq!(found(9), [1, 3, 2, 0, 4]);
    }
}
