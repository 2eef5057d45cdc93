//! Errors of loading a model.

use gage_model_protocol::gguf::GgufError;
use std::path::PathBuf;

/// Error of loading a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read, or is not a model.
    #[error("{0}")]
    File(#[from] GgufError),
    /// An option is out of range.
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
        /// llama.cpp's reason.
        reason: String,
    },
    /// Memory does not suffice.
    #[error("{0}")]
    Memory(String),
}
