//! Lengths in tokens, as a model's tokenizer counts them.

use std::path::Path;
use tokenizers::Tokenizer;

/// Counts the tokens of texts.
pub struct TokenCounter {
    tokenizer: Tokenizer,
}

impl TokenCounter {
    /// Reads `tokenizer.json`, or the file of that name in a folder.
    ///
    /// # Errors
    /// When it cannot be read or is no tokenizer.
    pub fn read(path: &Path) -> Result<TokenCounter, String> {
        let path = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        let bytes =
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let tokenizer = Tokenizer::from_bytes(bytes)
            .map_err(|error| format!("{} is no tokenizer: {error}", path.display()))?;
        Ok(TokenCounter { tokenizer })
    }

    /// How many tokens a text has, without those that begin and end sequences; nothing where the
    /// tokenizer fails on it.
    pub fn count(&self, text: &str) -> Option<u64> {
        self.tokenizer.encode_fast(text, false).ok().map(|encoding| encoding.len() as u64)
    }
}
