//! Reads the metadata of a GGUF file without loading the model.
//!
//! A file consists of the magic `GGUF`, a version (2 or 3), the number of tensors, and the number of keys. The keys with
//! their values, a description of each tensor, and, after alignment padding, the tensors follow. All numbers are
//! little-endian. Lengths claimed by a damaged file are trusted only up to the size of the file.

mod purpose;
mod quantization;
mod reader;
mod tensor;

pub use purpose::Purpose;
pub use quantization::name as quantization_name;
pub use tensor::{Tensor, TensorType};

use gage_core::foreign_file::{self, FileLimit};
use reader::GgufReader;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of keys, and of tensors, that is accepted.
const MAX_ENTRIES: u64 = 1 << 20;

/// Maximum number of list elements kept. For longer lists, only the length is kept.
const KEPT_ELEMENTS: u64 = 64;

/// Error for a file that cannot be loaded as a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The file cannot be read.
    #[error("cannot read the model file {path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        reason: std::io::Error,
    },
    /// The file is not in the GGUF format.
    #[error("the model file {path} is not in the GGUF format: it does not begin with `GGUF`")]
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// The version is unknown.
    #[error(
        "the model file {path} is of the GGUF version {version}; 2 and 3 are supported, so convert the model again"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version.
        version: u32,
    },
    /// The file is truncated.
    #[error(
        "the model file {path} is cut off: it has {size} bytes and needs {needed} or more for {what}; \
         fetch or copy it again"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Size of the file in bytes.
        size: u64,
        /// Minimum size that it needs, in bytes.
        needed: u64,
        /// Part of the file that needs this size.
        what: String,
    },
    /// The file contradicts itself.
    #[error("the model file {path} is damaged: {reason}; fetch or copy it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the contradiction.
        reason: String,
    },
}

/// Metadata of a GGUF file.
#[derive(Clone, Debug)]
pub struct Gguf {
    /// Version of the format.
    pub version: u32,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Values by key. For a long list, only its number of elements.
    pub metadata: BTreeMap<String, Value>,
    /// Tensors, in file order.
    pub tensors: Vec<Tensor>,
}

impl Gguf {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    /// If the file is missing, has another format, is truncated or contradicts itself.
    pub fn read(path: &Path) -> Result<Gguf, GgufError> {
        let failed = |reason| GgufError::Read { path: path.to_owned(), reason };
        let file = foreign_file::open_named(path, FileLimit::NONE).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        GgufReader::new(path, file, metadata.len()).gguf()
    }

    /// Returns a non-empty text value.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns an integer, or the largest of a list, which models with unequal layers have.
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            Value::Array(numbers) => numbers.iter().filter_map(Value::as_u64).max(),
            value => value.as_u64(),
        }
    }

    /// Returns the number of elements of a list.
    pub fn length(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            Value::Array(elements) => u64::try_from(elements.len()).ok(),
            value => value.get("length").and_then(Value::as_u64),
        }
    }

    /// Returns the architecture, such as `llama`.
    pub fn architecture(&self) -> Option<&str> {
        self.text("general.architecture")
    }

    /// Returns an integer stored under the architecture's prefix, such as `block_count`.
    pub fn of_architecture(&self, key: &str) -> Option<u64> {
        self.number(&format!("{}.{key}", self.architecture()?))
    }

    /// Returns the number of parameters.
    pub fn parameters(&self) -> u64 {
        self.tensors.iter().map(Tensor::elements).fold(0, u64::saturating_add)
    }

    /// Returns the size of all tensors in bytes.
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors.iter().filter_map(Tensor::bytes).fold(0, u64::saturating_add)
    }

    /// Returns the quantization: the name given by the file, or else the most common type by parameters.
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

    /// Returns the number of tokens in the vocabulary.
    pub fn vocabulary_size(&self) -> Option<u64> {
        self.length("tokenizer.ggml.tokens").or_else(|| self.of_architecture("vocab_size"))
    }
}
