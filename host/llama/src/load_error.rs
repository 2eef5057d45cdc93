//! Load errors: why a model could not be loaded.

use gage_model_protocol::gguf::GgufError;
use std::path::PathBuf;

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read, or is not a model.
    #[error("{0}")]
    File(#[from] GgufError),
    /// An option is out of bounds.
    #[error("{0}")]
    Setting(String),
    /// llama.cpp does not start.
    #[error("llama.cpp cannot be initialised: {0}")]
    Runtime(String),
    /// llama.cpp refuses the file.
    #[error("llama.cpp cannot load the model file {path}: {reason}")]
    Load {
        /// The file.
        path: PathBuf,
        /// What llama.cpp says.
        reason: String,
    },
    /// There is not enough memory.
    #[error("{0}")]
    Memory(String),
}
