//! The tokens of texts, by the vocabulary of a model file; its weights are not loaded.

use crate::captured_log::captured;
use crate::load_error::LoadError;
use crate::runtime::runtime;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use std::path::Path;

/// The vocabulary of a model file.
pub struct Vocabulary(LlamaModel);

impl Vocabulary {
    /// Reads the vocabulary of a GGUF file.
    ///
    /// # Errors
    /// When the file cannot be read, or llama.cpp refuses it.
    pub fn read(path: &Path) -> Result<Vocabulary, String> {
        // llama.cpp says of a file that is not there that it is no model.
        std::fs::metadata(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let parameters = LlamaModelParams::default().with_vocab_only(true);
        let runtime = runtime().map_err(|error: LoadError| error.to_string())?;
        let (loaded, _) = captured(|| LlamaModel::load_from_file(runtime, path, &parameters));
        loaded.map(Vocabulary).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns how many tokens a text has, without those that begin and end sequences.
    pub fn count(&self, text: &str) -> u64 {
        let mut tokens = Vec::with_capacity(text.len() / 3 + 8);
        self.0.vocab().tokenize_into(text.as_bytes(), &mut tokens, false, false);
        tokens.len() as u64
    }
}
