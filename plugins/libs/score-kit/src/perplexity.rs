//! Likelihood of whole texts: the card details of its metrics, and the figures of a corpus.
//!
//! The figures are those of EleutherAI's lm-evaluation-harness (`word_perplexity`, `byte_perplexity`, `bits_per_byte`:
//! `lm_eval/api/metrics.py`, `weighted_perplexity` and `bits_per_byte`), and the perplexity per token (F. Jelinek et
//! al., "Perplexity: a measure of the difficulty of speech recognition tasks", 1977).

use serde::{Deserialize, Serialize};

/// Key of a [`TextLikelihood`] in the detail of a card.
pub const DETAIL_KEY: &str = "perplexity";

/// Measure computed from the likelihood of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// e to the power of the loss per word.
    WordPerplexity,
    /// e to the power of the loss per byte.
    BytePerplexity,
    /// e to the power of the loss per token. It cannot compare models with different tokenizers.
    TokenPerplexity,
    /// Loss per byte, in bits.
    BitsPerByte,
}

impl Measure {
    /// Returns the name of the metric and of its figure.
    pub fn name(self) -> &'static str {
        match self {
            Measure::WordPerplexity => "word_perplexity",
            Measure::BytePerplexity => "byte_perplexity",
            Measure::TokenPerplexity => "token_perplexity",
            Measure::BitsPerByte => "bits_per_byte",
        }
    }

    /// Converts a loss per unit, in nats, to the measure; not finite if a perplexity is too large for a float.
    pub fn of(self, loss: f64) -> f64 {
        match self {
            Measure::BitsPerByte => loss / std::f64::consts::LN_2,
            _ => loss.exp(),
        }
    }

    /// Returns the derivative of the measure by the loss per unit, which converts the error of the loss.
    pub fn slope(self, loss: f64) -> f64 {
        match self {
            Measure::BitsPerByte => std::f64::consts::LN_2.recip(),
            _ => loss.exp(),
        }
    }
}

/// Likelihood of a text, for one measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextLikelihood {
    /// The measure.
    pub measure: Measure,
    /// Sum of the natural logarithms of the token probabilities.
    pub loglikelihood: f64,
    /// Number of words, bytes or tokens in the text, depending on the measure; above 0.
    pub units: u64,
}

impl TextLikelihood {
    /// Returns whether a figure can be computed from these numbers.
    pub fn is_sound(&self) -> bool {
        self.loglikelihood.is_finite() && self.units > 0
    }

    /// Returns the measure of this text alone; not finite if a perplexity is too large for a float.
    pub fn value(&self) -> f64 {
        // Texts have far fewer than 2^53 units.
        self.measure.of(-self.loglikelihood / self.units as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four words of 16 bytes, at two bits a byte.
    #[test]
    fn measures() {
        let bits = -2.0 * std::f64::consts::LN_2 * 16.0;
        for (measure, units, expected) in [
            (Measure::BitsPerByte, 16, 2.0),
            (Measure::BytePerplexity, 16, 4.0),
            (Measure::TokenPerplexity, 8, 16.0),
            (Measure::WordPerplexity, 4, 256.0),
        ] {
            let value = TextLikelihood { measure, loglikelihood: bits, units }.value();
            assert!((value - expected).abs() < 1e-9, "{}: {value}", measure.name());
            let (step, loss) = (1e-6, -bits / units as f64);
            let slope = (measure.of(loss + step) - measure.of(loss - step)) / (2.0 * step);
            assert!((slope / measure.slope(loss) - 1.0).abs() < 1e-6, "{}", measure.name());
        }
        assert!(
            !TextLikelihood { measure: Measure::WordPerplexity, loglikelihood: -1e6, units: 1 }
                .value()
                .is_finite()
        );
    }
}
