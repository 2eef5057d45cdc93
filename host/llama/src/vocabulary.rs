//! Tokenizes texts with the vocabulary of a model file, without loading its weights.

use crate::captured_log::captured;
use crate::load_error::LoadError;
use crate::runtime::runtime;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use std::path::Path;

/// Vocabulary of a model file.
pub struct Vocabulary(LlamaModel);

impl Vocabulary {
    /// Reads the vocabulary of a GGUF file.
    ///
    /// # Errors
    /// If the file cannot be read, or llama.cpp refuses it.
    pub fn read(path: &Path) -> Result<Vocabulary, String> {
        // For a missing file, llama.cpp would report that it is not a model.
        std::fs::metadata(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let parameters = LlamaModelParams::default().with_vocab_only(true);
        let runtime = runtime().map_err(|error: LoadError| error.to_string())?;
        let (loaded, _) = captured(|| LlamaModel::load_from_file(runtime, path, &parameters));
        loaded.map(Vocabulary).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the number of tokens of a text, without those that begin and end sequences.
    pub fn count(&self, text: &str) -> u64 {
        let mut tokens = Vec::with_capacity(text.len() / 3 + 8);
        self.0.vocab().tokenize_into(text.as_bytes(), &mut tokens, false, false);
        tokens.len() as u64
    }
}
