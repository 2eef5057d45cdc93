//! Reads what a GGUF file says about itself, without loading the model.
//!
//! The format: `GGUF`, a version (2 or 3), the number of tensors, the number of keys, the keys with
//! their values, a description of each tensor, and after an alignment the tensors. All numbers are
//! little-endian. What a broken file claims is believed only as far as its length allows.

mod purpose;
mod quantization;
mod reader;
mod tensor;

pub use purpose::Purpose;
pub use quantization::name as quantization_name;
pub use tensor::{Tensor, TensorType};

use reader::GgufReader;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Most keys, and most tensors, that are believed.
const MAX_ENTRIES: u64 = 1 << 20;

/// Most elements of a list that are kept; of longer ones only the length is.
const KEPT_ELEMENTS: u64 = 64;

/// Why a file is no model that can be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// It cannot be read.
    #[error("cannot read the model file {path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: std::io::Error,
    },
    /// It is something else.
    #[error("the model file {path} is not in the GGUF format: it does not begin with `GGUF`")]
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// The version is not known.
    #[error(
        "the model file {path} is of the GGUF version {version}; 2 and 3 are supported, so convert the model again"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version.
        version: u32,
    },
    /// It ends too early.
    #[error(
        "the model file {path} is cut off: it has {size} bytes and needs {needed} or more for {what}; \
         fetch or copy it again"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The bytes.
        size: u64,
        /// The bytes that it needs at least.
        needed: u64,
        /// What for.
        what: String,
    },
    /// It contradicts itself.
    #[error("the model file {path} is damaged: {reason}; fetch or copy it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How.
        reason: String,
    },
}

/// What a file says about itself.
#[derive(Clone, Debug)]
pub struct Gguf {
    /// The version of the format.
    pub version: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The values by key. A list of many elements is the number of them.
    pub metadata: BTreeMap<String, Value>,
    /// The tensors, in the order of the file.
    pub tensors: Vec<Tensor>,
}

impl Gguf {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is missing, is something else, is cut off or contradicts itself.
    pub fn read(path: &Path) -> Result<Gguf, GgufError> {
        let failed = |reason| GgufError::Read { path: path.to_owned(), reason };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        GgufReader::new(path, file, metadata.len()).gguf()
    }

    /// A text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A whole number, or the first of a list, which models with unequal layers have.
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            Value::Array(numbers) => numbers.iter().filter_map(Value::as_u64).max(),
            value => value.as_u64(),
        }
    }

    /// Returns how many elements a list has.
    pub fn length(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            Value::Array(elements) => u64::try_from(elements.len()).ok(),
            value => value.get("length").and_then(Value::as_u64),
        }
    }

    /// The architecture, such as `llama`.
    pub fn architecture(&self) -> Option<&str> {
        self.text("general.architecture")
    }

    /// A value below the name of the architecture, such as `block_count`.
    pub fn of_architecture(&self, key: &str) -> Option<u64> {
        self.number(&format!("{}.{key}", self.architecture()?))
    }

    /// Number of parameters.
    pub fn parameters(&self) -> u64 {
        self.tensors.iter().map(Tensor::elements).fold(0, u64::saturating_add)
    }

    /// Bytes of all tensors.
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors.iter().filter_map(Tensor::bytes).fold(0, u64::saturating_add)
    }

    /// Returns how most parameters are stored: the name that the file gives, else the type of most of them.
    pub fn quantization(&self) -> Option<String> {
        if let Some(number) = self.number("general.file_type") {
            return Some(quantization::name(number));
        }
        let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
        for tensor in &self.tensors {
            *by_type.entry(tensor.kind.name()).or_default() += tensor.elements();
        }
        by_type.into_iter().max_by_key(|(_, elements)| *elements).map(|(name, _)| name.to_owned())
    }

    /// Number of tokens.
    pub fn vocabulary_size(&self) -> Option<u64> {
        self.length("tokenizer.ggml.tokens").or_else(|| self.of_architecture("vocab_size"))
    }
}
