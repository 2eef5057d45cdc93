//! Lengths in tokens, as counted by a model's tokenizer. The file is a stranger's, so its size, its effect on the length of
//! a text, and the texts themselves are limited.

mod charsmap;
mod growth;
mod patterns;
mod shape;
mod skipped_step;

use gage_core::foreign_file::{self, FileLimit};
use gage_core::{has_more_values, without_panic};
use growth::TextGrowth;
use skipped_step::SkippedStep;
use std::path::Path;
use tokenizers::{
    ModelWrapper, NormalizedString, Normalizer as _, NormalizerWrapper, PreTokenizerWrapper, TokenizerImpl,
};

/// Maximum size of a tokenizer's file. The largest known ones have 35 MB.
const MAX_TOKENIZER_SIZE: FileLimit = FileLimit::new("a tokenizer", 128 << 20);
/// Maximum number of JSON values in it. The largest known ones have 2 million.
const MAX_FILE_VALUES: usize = 1 << 22;

/// Length of the pieces by which the normalized length of a text is measured, in bytes.
const PIECE_BYTES: usize = 64;

/// A tokenizer that only splits texts. Steps after this are never built, because they can copy a text again and again.
type Tokenizer =
    TokenizerImpl<ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, SkippedStep, SkippedStep>;

/// Counts the tokens of texts.
pub struct TokenCounter {
    tokenizer: Tokenizer,
    growth: TextGrowth,
}

impl TokenCounter {
    /// Reads `tokenizer.json`, or the file of that name in a folder.
    ///
    /// # Errors
    /// When it cannot be read, is not a tokenizer, could make texts very long, or could take very long.
    pub fn read(path: &Path) -> Result<TokenCounter, String> {
        let path = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        let shown = path.display();
        let bytes = foreign_file::read_named(&path, MAX_TOKENIZER_SIZE)
            .map_err(|error| format!("cannot read {shown}: {error}"))?;
        if has_more_values(&bytes, MAX_FILE_VALUES) {
            return Err(format!(
                "{shown} is not a tokenizer: it has more than {MAX_FILE_VALUES} JSON values"
            ));
        }
        let growth =
            TextGrowth::of_tokenizer(&bytes).map_err(|error| format!("{shown} cannot be used: {error}"))?;
        // The crate panics on some damaged files.
        let read = without_panic(|| serde_json::from_slice::<Tokenizer>(&bytes));
        let read = read.ok_or_else(|| format!("{shown} is not a tokenizer: it is damaged"))?;
        let mut tokenizer = read.map_err(|error| format!("{shown} is not a tokenizer: {error}"))?;
        tokenizer.with_post_processor(None::<SkippedStep>);
        // Both would change the count, and padding can be of any length.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| format!("{shown} cannot be used: {error}"))?;
        Ok(TokenCounter { tokenizer, growth })
    }

    /// Returns the number of tokens of a text, without those that begin and end sequences. `None` if the tokenizer
    /// fails, or if the text is too long, before or after its normalization. Most tokenizers split texts of up to 8 MiB.
    pub fn count(&self, text: &str) -> Option<u64> {
        let count = || {
            let encoding = self.fits(text).then(|| self.tokenizer.encode_fast(text, false))?;
            encoding.ok().map(|encoding| encoding.len() as u64)
        };
        // The crate panics on some damaged files.
        without_panic(count).flatten()
    }

    /// Returns whether a text is short enough after normalization. It is only normalized for this, piece by piece, if it
    /// could be too long.
    fn fits(&self, text: &str) -> bool {
        let TextGrowth { normalizer, pre_tokenizer, max_text_bytes } = self.growth;
        let is_within = |length: u64, times: u64| length.saturating_mul(times) <= max_text_bytes;
        let length = text.len() as u64;
        if !is_within(length, 1) || is_within(length, normalizer.saturating_mul(pre_tokenizer)) {
            return is_within(length, 1);
        }
        let (mut normalized, mut rest) = (0, text);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
            let mut piece = NormalizedString::from(piece);
            if let Some(normalizer) = self.tokenizer.get_normalizer()
                && normalizer.normalize(&mut piece).is_err()
            {
                return false;
            }
            normalized += piece.get().len() as u64;
            if !is_within(normalized, pre_tokenizer) {
                return false;
            }
            rest = after;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Reads a tokenizer of words, with other members.
    fn counter(members: Value) -> Result<TokenCounter, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut words = json!({
            "version": "1.0",
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": {"two": 0, "and": 1, "?": 2, "[unknown]": 3}, "unk_token": "[unknown]"},
            "added_tokens": [],
        });
        for (key, value) in members.as_object().into_iter().flatten() {
            words[key] = value.clone();
        }
        std::fs::write(folder.path().join("tokenizer.json"), words.to_string()).expect("written");
        TokenCounter::read(folder.path())
    }

    fn doubling(times: usize) -> Value {
        let step = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
        json!({"normalizer": {"type": "Sequence", "normalizers": vec![step; times]}})
    }

    #[test]
    fn tokens_are_those_of_the_tokenizer() {
        let counter = counter(json!({})).expect("a tokenizer");
        let count = |text: &str| counter.count(text);
        assert_eq!((count("two and two?"), count(""), count("three")), (Some(4), Some(0), Some(1)));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, "{}").expect("written");
        let error = TokenCounter::read(&path).err().unwrap_or_default();
        assert!(error.contains("is not a tokenizer"), "{error}");
    }

    #[test]
    fn tokenizers_that_make_texts_long_are_refused() {
        let error = counter(doubling(24)).err().unwrap_or_default();
        assert!(
            error.contains("tokenizer.json cannot be used") && error.contains("16777216 times"),
            "{error}"
        );
        let error = counter(
            json!({"normalizer": {"type": "Sequence", "normalizers": vec![json!({"type": "Strip"}); 300]}}),
        );
        assert!(error.err().unwrap_or_default().contains("302 steps"));
    }

    #[test]
    fn long_texts_are_not_counted() {
        let counter = counter(doubling(10)).expect("a tokenizer");
        assert_eq!(counter.count(&"a".repeat(9_000)), None, "it would be nine times 1,024 thousand bytes");
        assert_eq!(counter.count(&"b ".repeat(9_000)), Some(9_000), "it does not grow");
        assert_eq!(counter.count(&"b ".repeat(5 << 20)), None);
    }

    #[test]
    fn post_processors_are_never_built() {
        let piece = json!({"Sequence": {"id": "A", "type_id": 0}});
        let template = json!({"type": "TemplateProcessing", "single": vec![piece; 1_000], "pair": [], "special_tokens": {}});
        let nested = json!({"type": "Sequence", "processors": vec![template; 2]});
        let processed = counter(json!({"post_processor": nested})).expect("a tokenizer");
        assert_eq!(
            processed.count("two and two"),
            Some(3),
            "and not a thousand times a thousand times as many"
        );
        let unknown = json!({"type": "None of those that the crate knows"});
        let skipped = counter(json!({"post_processor": unknown, "decoder": unknown})).expect("a tokenizer");
        assert_eq!(skipped.count("two and two"), Some(3));
    }

    #[test]
    fn texts_of_slow_tokenizers_are_short() {
        let split = json!({"type": "Split", "pattern": {"Regex": "[a-z]+o| "}, "behavior": "Removed", "invert": false});
        let counter = counter(json!({"pre_tokenizer": split})).expect("a tokenizer");
        assert_eq!(counter.count("and two"), Some(1), "`two` is removed");
        assert_eq!(counter.count(&"a".repeat(200_000)), None);
    }

    #[test]
    fn padding_and_truncation_do_not_count() {
        let padding = json!({"strategy": {"Fixed": 1_u64 << 40}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"});
        let truncation =
            json!({"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0});
        let counter = counter(json!({"padding": padding, "truncation": truncation})).expect("a tokenizer");
        assert_eq!(counter.count("two and two"), Some(3));
    }
}
