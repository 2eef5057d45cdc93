//! The language of a text.

use langdetect::{DetectorFactory, Seed};

/// Code of English.
pub(crate) const ENGLISH: &str = "en";

/// Seed of the random numbers that the detector draws.
const SEED: u128 = 0;

/// Returns the code of the most probable language, as `langdetect` 1.0.9 does with the seed 0: `en`, `pt`, `zh-cn`.
/// `None` if no part of the text belongs to a language.
///
/// The detector multiplies the probabilities of parts of the text that it draws at random. Without a seed, it does not
/// always give the same language for a short text, or one that mixes languages.
pub(crate) fn detect(text: &str) -> Option<String> {
    let mut detector = DetectorFactory::builtin().create().ok()?;
    detector.seed = Seed::Int(SEED);
    detector.append(text);
    detector.detect().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_found() {
        for (text, expected) in [
            ("The weather is lovely today, and we are going to the beach.", Some("en")),
            ("O tempo está ótimo hoje e nós vamos à praia.", Some("pt")),
            ("Leo ni siku nzuri sana na tunakwenda ufukweni.", Some("sw")),
            ("आज मौसम बहुत अच्छा है और हम समुद्र तट पर जा रहे हैं।", Some("hi")),
            ("12345 !?", None),
            ("", None),
        ] {
            assert_eq!(detect(text).as_deref(), expected, "{text}");
        }
    }
}
