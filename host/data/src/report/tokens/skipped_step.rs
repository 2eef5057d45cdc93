//! The steps of a tokenizer that do not change the number of a text's tokens.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use tokenizers::{Decoder, Encoding, PostProcessor};

/// A post-processor or a decoder that is not built, whatever the file says about it.
pub(super) struct SkippedStep;

impl<'de> Deserialize<'de> for SkippedStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SkippedStep, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| SkippedStep)
    }
}

impl PostProcessor for SkippedStep {
    fn added_tokens(&self, _is_pair: bool) -> usize {
        0
    }

    fn process_encodings(
        &self,
        encodings: Vec<Encoding>,
        _add_special_tokens: bool,
    ) -> tokenizers::Result<Vec<Encoding>> {
        Ok(encodings)
    }
}

impl Decoder for SkippedStep {
    fn decode_chain(&self, tokens: Vec<String>) -> tokenizers::Result<Vec<String>> {
        Ok(tokens)
    }
}
