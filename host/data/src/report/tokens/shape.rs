//! The members of a `tokenizer.json` that decide how much time and memory it needs.

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;

#[derive(Deserialize)]
pub(super) struct TokenizerShape {
    #[serde(default)]
    pub(super) normalizer: Option<Value>,
    #[serde(default)]
    pub(super) pre_tokenizer: Option<Value>,
    #[serde(default)]
    pub(super) added_tokens: Option<AddedTokensShape>,
    #[serde(default)]
    pub(super) model: Option<ModelShape>,
}

#[derive(Deserialize)]
pub(super) struct ModelShape {
    #[serde(default)]
    pub(super) max_input_chars_per_word: Option<u64>,
    #[serde(default)]
    pub(super) continuing_subword_prefix: Option<String>,
    #[serde(default)]
    pub(super) end_of_word_suffix: Option<String>,
    #[serde(default)]
    pub(super) vocab: Option<VocabularyShape>,
}

/// A normalizer or a pre-tokenizer.
#[derive(Deserialize)]
pub(super) struct StepShape {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    normalizers: Vec<StepShape>,
    #[serde(default)]
    pretokenizers: Vec<StepShape>,
    #[serde(default)]
    pub(super) pattern: Option<PatternShape>,
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) prepend: Option<String>,
    #[serde(default)]
    pub(super) precompiled_charsmap: Option<String>,
    #[serde(default)]
    pub(super) length: Option<u64>,
}

impl StepShape {
    pub(super) fn inner(&self) -> impl Iterator<Item = &StepShape> {
        self.normalizers.iter().chain(&self.pretokenizers)
    }

    /// Returns the number of steps, the inner ones included.
    pub(super) fn count(&self) -> usize {
        1 + self.inner().map(StepShape::count).sum::<usize>()
    }
}

#[derive(Deserialize)]
pub(super) struct PatternShape {
    #[serde(default, rename = "String")]
    pub(super) text: Option<String>,
    #[serde(default, rename = "Regex")]
    pub(super) expression: Option<String>,
}

/// The vocabulary of a model: a mapping from tokens to ids, or the list of pieces of a Unigram model.
#[derive(Default)]
pub(super) struct VocabularyShape {
    /// Length of the longest piece of a Unigram model; 0 for others.
    pub(super) longest_piece_bytes: u64,
}

impl<'de> Deserialize<'de> for VocabularyShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VocabularyShape, D::Error> {
        deserializer.deserialize_any(VocabularyVisitor)
    }
}

struct VocabularyVisitor;

impl<'de> Visitor<'de> for VocabularyVisitor {
    type Value = VocabularyShape;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a vocabulary")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<VocabularyShape, M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(VocabularyShape::default())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut pieces: S) -> Result<VocabularyShape, S::Error> {
        let mut longest_piece_bytes = 0;
        while let Some((piece, _)) = pieces.next_element::<(String, IgnoredAny)>()? {
            longest_piece_bytes = longest_piece_bytes.max(piece.len() as u64);
        }
        Ok(VocabularyShape { longest_piece_bytes })
    }
}

/// The tokens that a tokenizer has beside its model.
#[derive(Default)]
pub(super) struct AddedTokensShape {
    pub(super) bytes: u64,
    /// Bytes of those that the normalizer changes.
    pub(super) normalized_bytes: u64,
}

#[derive(Deserialize)]
struct AddedTokenShape {
    content: String,
    #[serde(default)]
    normalized: bool,
}

impl<'de> Deserialize<'de> for AddedTokensShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AddedTokensShape, D::Error> {
        deserializer.deserialize_seq(AddedTokensVisitor)
    }
}

struct AddedTokensVisitor;

impl<'de> Visitor<'de> for AddedTokensVisitor {
    type Value = AddedTokensShape;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tokens")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut tokens: S) -> Result<AddedTokensShape, S::Error> {
        let mut shape = AddedTokensShape::default();
        while let Some(token) = tokens.next_element::<AddedTokenShape>()? {
            let bytes = token.content.len() as u64;
            shape.bytes += bytes;
            shape.normalized_bytes += if token.normalized { bytes } else { 0 };
        }
        Ok(shape)
    }
}
