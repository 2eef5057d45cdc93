//! How the next token is chosen.

use super::likelihood::most_likely;
use gage_core::SamplingParams;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;

/// The seed of a request that names none, so that every run is reproducible.
pub const DEFAULT_SEED: u32 = 42;

/// Chooses the tokens of one answer.
pub enum Chooser {
    /// Always the most likely token; of equals the one with the smallest number.
    Greedy,
    /// A chain of samplers.
    Chain(LlamaSampler),
}

impl Chooser {
    /// What the parameters ask for, in the order of llama.cpp: penalties, top-k, top-p, min-p,
    /// temperature, and the choice; without a temperature, penalties and the most likely token.
    ///
    /// The repetition penalty sees the prompt and the answer, the presence and the frequency
    /// penalty only the answer; `context_length` bounds how far back they look.
    pub fn new(
        params: &SamplingParams,
        vocabulary_size: i32,
        prompt: &[LlamaToken],
        context_length: usize,
    ) -> Chooser {
        let window = i32::try_from(context_length).unwrap_or(i32::MAX);
        let mut samplers = Vec::new();
        if let Some(repetition) = params.repetition_penalty.filter(|penalty| *penalty != 1.0) {
            let sampler = LlamaSampler::penalties(vocabulary_size, window, single(repetition), 0.0, 0.0);
            samplers.push(sampler.with_tokens(prompt));
        }
        let frequency = single(params.frequency_penalty.unwrap_or(0.0));
        let presence = single(params.presence_penalty.unwrap_or(0.0));
        if frequency != 0.0 || presence != 0.0 {
            samplers.push(LlamaSampler::penalties(vocabulary_size, window, 1.0, frequency, presence));
        }
        if params.is_greedy() {
            if samplers.is_empty() {
                return Chooser::Greedy;
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
        Chooser::Chain(LlamaSampler::chain(samplers, true))
    }

    /// The next token, from the logits in a row of the last call; `None` when they are not
    /// numbers. The row must have been asked for.
    pub fn choose(&mut self, context: &LlamaContext<'_>, row: i32) -> Option<LlamaToken> {
        let logits = context.get_logits_ith(row);
        match self {
            Chooser::Greedy => i32::try_from(most_likely(logits)?).ok().map(LlamaToken::new),
            Chooser::Chain(_) if logits.iter().any(|logit| logit.is_nan()) => None,
            Chooser::Chain(sampler) => Some(sampler.sample(context, row)),
        }
    }
}

/// A seed in the 32 bits that llama.cpp takes. Seeds that fit stay as they are, but for the one
/// that means "at random" there.
fn seed(asked: Option<u64>) -> u32 {
    const AT_RANDOM: u32 = u32::MAX;
    let Some(asked) = asked else { return DEFAULT_SEED };
    let folded = u32::try_from((asked ^ (asked >> 32)) & u64::from(u32::MAX)).unwrap_or(DEFAULT_SEED);
    if folded == AT_RANDOM { AT_RANDOM - 1 } else { folded }
}

/// Rounded to the precision that llama.cpp computes with.
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
        assert!(matches!(Chooser::new(&greedy, 10, &[], 16), Chooser::Greedy));
        let hot = SamplingParams { temperature: Some(0.8), ..greedy };
        assert!(matches!(Chooser::new(&hot, 10, &[], 16), Chooser::Chain(_)));
    }
}
