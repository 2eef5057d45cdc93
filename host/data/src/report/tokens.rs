//! Lengths in tokens, as counted by a model's tokenizer.

use gage_core::foreign_file::{self, FileLimit};
use std::path::Path;
use tokenizers::Tokenizer;

/// Maximum size of a tokenizer's file. Those of large vocabularies have 35 MiB.
const MAX_TOKENIZER_SIZE: FileLimit = FileLimit::new("a tokenizer", 256 << 20);

/// Counts the tokens of texts.
pub struct TokenCounter {
    tokenizer: Tokenizer,
}

impl TokenCounter {
    /// Reads `tokenizer.json`, or the file of that name in a folder.
    ///
    /// # Errors
    /// When it cannot be read or is not a tokenizer.
    pub fn read(path: &Path) -> Result<TokenCounter, String> {
        let path = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        let bytes = foreign_file::read_named(&path, MAX_TOKENIZER_SIZE)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let tokenizer = Tokenizer::from_bytes(bytes)
            .map_err(|error| format!("{} is not a tokenizer: {error}", path.display()))?;
        Ok(TokenCounter { tokenizer })
    }

    /// Returns the number of tokens of a text, without those that begin and end sequences. `None` if the tokenizer
    /// fails.
    pub fn count(&self, text: &str) -> Option<u64> {
        self.tokenizer.encode_fast(text, false).ok().map(|encoding| encoding.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_those_of_the_tokenizer() {
        let folder = tempfile::tempdir().map_err(|error| error.to_string());
        let Ok(folder) = folder else { panic!("no folder") };
        let words = json!({
            "version": "1.0",
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": {"two": 0, "and": 1, "?": 2, "[unknown]": 3}, "unk_token": "[unknown]"},
            "added_tokens": [],
        });
        let path = folder.path().join("tokenizer.json");
        assert!(std::fs::write(&path, words.to_string()).is_ok());
        let counter = TokenCounter::read(folder.path());
        let count = |text: &str| counter.as_ref().ok()?.count(text);
        assert_eq!((count("two and two?"), count(""), count("three")), (Some(4), Some(0), Some(1)));
        assert!(std::fs::write(&path, "{}").is_ok());
        let error = TokenCounter::read(&path).err().unwrap_or_default();
        assert!(error.contains("is not a tokenizer"), "{error}");
    }
}
