//! Reader of GGUF values from bytes.

use super::{Gguf, GgufError, KEPT_ELEMENTS, MAX_ENTRIES, Tensor, TensorType};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// Default alignment of tensors, in bytes, if the file does not specify one.
const DEFAULT_ALIGNMENT: u64 = 32;

/// Maximum number of dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 8;

/// Sequential reader of one file.
pub(super) struct GgufReader<'p> {
    path: &'p Path,
    input: BufReader<File>,
    size: u64,
    at: u64,
}

impl<'p> GgufReader<'p> {
    /// Creates a reader for a file of `size` bytes.
    pub(super) fn new(path: &'p Path, file: File, size: u64) -> GgufReader<'p> {
        GgufReader { path, input: BufReader::with_capacity(1 << 16, file), size, at: 0 }
    }

    /// Reads everything except the tensor data.
    pub(super) fn gguf(mut self) -> Result<Gguf, GgufError> {
        let mut magic = [0_u8; 4];
        if self.size >= 4 {
            self.fill(&mut magic, "its first bytes")?;
        }
        if &magic != b"GGUF" {
            return Err(GgufError::NotGguf { path: self.path.to_owned() });
        }
        let version = self.u32("the version")?;
        if !(2..=3).contains(&version) {
            return Err(GgufError::Version { path: self.path.to_owned(), version });
        }
        let tensor_count = self.u64("the number of tensors")?;
        let key_count = self.u64("the number of keys")?;
        if tensor_count.max(key_count) > MAX_ENTRIES {
            return Err(self.damaged(format!("it claims {tensor_count} tensors and {key_count} keys")));
        }
        let mut metadata = BTreeMap::new();
        for _ in 0..key_count {
            let key = self.string("a key")?;
            let kind = self.u32("the type of a value")?;
            let value = self.value(kind, &key)?;
            metadata.insert(key, value);
        }
        let mut tensors = Vec::new();
        for _ in 0..tensor_count {
            tensors.push(self.tensor()?);
        }
        let alignment =
            metadata.get("general.alignment").and_then(Value::as_u64).unwrap_or(DEFAULT_ALIGNMENT);
        if alignment == 0 || !alignment.is_power_of_two() {
            return Err(self.damaged(format!("its alignment is {alignment}")));
        }
        let begin = self.at.next_multiple_of(alignment);
        for tensor in &tensors {
            let end = tensor.bytes().and_then(|bytes| begin.checked_add(tensor.offset)?.checked_add(bytes));
            if let Some(needed) = end
                && needed > self.size
            {
                return Err(self.truncated(needed, &format!("the tensor `{}`", tensor.name)));
            }
        }
        Ok(Gguf { version, file_bytes: self.size, metadata, tensors })
    }

    fn tensor(&mut self) -> Result<Tensor, GgufError> {
        let name = self.string("the name of a tensor")?;
        let sides = self.u32("the shape of a tensor")?;
        if sides > MAX_DIMENSIONS {
            return Err(self.damaged(format!("the tensor `{}` has {sides} sides", shortened(&name))));
        }
        let mut shape = Vec::new();
        for _ in 0..sides {
            shape.push(self.u64("the shape of a tensor")?);
        }
        let kind = TensorType { number: self.u32("the type of a tensor")? };
        let offset = self.u64("the place of a tensor")?;
        Ok(Tensor { name, shape, kind, offset })
    }

    fn value(&mut self, kind: u32, key: &str) -> Result<Value, GgufError> {
        let what = "a value";
        Ok(match kind {
            0 => self.bytes::<1>(what)?[0].into(),
            1 => i8::from_le_bytes(self.bytes(what)?).into(),
            2 => u16::from_le_bytes(self.bytes(what)?).into(),
            3 => i16::from_le_bytes(self.bytes(what)?).into(),
            4 => self.u32(what)?.into(),
            5 => i32::from_le_bytes(self.bytes(what)?).into(),
            6 => f32::from_le_bytes(self.bytes(what)?).into(),
            7 => (self.bytes::<1>(what)?[0] != 0).into(),
            8 => self.string(what)?.into(),
            9 => return self.list(key),
            10 => self.u64(what)?.into(),
            11 => i64::from_le_bytes(self.bytes(what)?).into(),
            12 => f64::from_le_bytes(self.bytes(what)?).into(),
            _ => return Err(self.damaged(format!("`{}` is of the unknown type {kind}", shortened(key)))),
        })
    }

    fn list(&mut self, key: &str) -> Result<Value, GgufError> {
        let kind = self.u32("the type of a list")?;
        let length = self.u64("the length of a list")?;
        if kind == 9 {
            return Err(self.damaged(format!("`{}` is a list of lists", shortened(key))));
        }
        // Each element takes at least one byte, so a claimed length beyond the end of the file is rejected.
        if length > self.size - self.at {
            return Err(
                self.truncated(self.at.saturating_add(length), &format!("the list `{}`", shortened(key)))
            );
        }
        let mut kept = Vec::new();
        for _ in 0..length {
            let element = self.value(kind, key)?;
            if length <= KEPT_ELEMENTS {
                kept.push(element);
            }
        }
        Ok(if length <= KEPT_ELEMENTS { Value::Array(kept) } else { json!({ "length": length }) })
    }

    fn string(&mut self, what: &str) -> Result<String, GgufError> {
        let length = self.u64(what)?;
        if length > self.size - self.at {
            return Err(self.truncated(self.at.saturating_add(length), what));
        }
        let length =
            usize::try_from(length).map_err(|_| self.damaged(format!("{what} has {length} bytes")))?;
        let mut bytes = vec![0; length];
        self.fill(&mut bytes, what)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn u32(&mut self, what: &str) -> Result<u32, GgufError> {
        Ok(u32::from_le_bytes(self.bytes(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, GgufError> {
        Ok(u64::from_le_bytes(self.bytes(what)?))
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], GgufError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<(), GgufError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match self.input.read_exact(bytes) {
            Ok(()) => {
                self.at += length;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.truncated(self.at.saturating_add(length), what))
            }
            Err(reason) => Err(GgufError::Read { path: self.path.to_owned(), reason }),
        }
    }

    fn truncated(&self, needed: u64, what: &str) -> GgufError {
        GgufError::Truncated { path: self.path.to_owned(), size: self.size, needed, what: shortened(what) }
    }

    fn damaged(&self, reason: String) -> GgufError {
        GgufError::Damaged { path: self.path.to_owned(), reason }
    }
}

/// Shortens a text from the file for use in a message.
fn shortened(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use std::path::PathBuf;

    fn tiny() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf")
    }

    #[test]
    fn the_tiny_model_says_what_it_is() {
        let gguf = Gguf::read(&tiny()).expect("a model");
        assert_eq!(gguf.architecture(), Some("llama"));
        assert_eq!(gguf.of_architecture("block_count"), Some(4));
        assert_eq!(gguf.vocabulary_size(), Some(640));
        assert_eq!(gguf.quantization().as_deref(), Some("Q8_0"));
        assert!(
            gguf.tensor_bytes() < gguf.file_bytes && gguf.tensor_bytes() > 900_000,
            "{}",
            gguf.tensor_bytes()
        );
        assert!((800_000..1_000_000).contains(&gguf.parameters()), "{}", gguf.parameters());
    }

    /// A file truncated at any point gives an error, and no memory is allocated for data that it only claims to have.
    #[test]
    fn a_file_that_is_cut_off_is_told() {
        let whole = std::fs::read(tiny()).expect("the model");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cut.gguf");
        for length in [0, 3, 4, 10, 24, 30, 100, 5_000, 20_000, 100_000, whole.len() - 1] {
            std::fs::write(&file, &whole[..length]).expect("written");
            let error = Gguf::read(&file).expect_err("cut off");
            error.recorded("model_files");
            let is_told = matches!(error, GgufError::Truncated { .. }) || length < 4;
            assert!(is_told, "{length}: {error}");
        }
        let mut claims = whole[..24].to_vec();
        claims[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        std::fs::write(&file, &claims).expect("written");
        assert!(Gguf::read(&file).expect_err("damaged").recorded("model_files").contains("is damaged"));
        let missing = Gguf::read(&folder.path().join("none.gguf")).expect_err("missing");
        assert!(missing.recorded("model_files").starts_with("cannot read the model file"));
        let mut newer = whole;
        newer[4] = 9;
        std::fs::write(&file, &newer).expect("written");
        assert!(matches!(Gguf::read(&file), Err(GgufError::Version { version: 9, .. })));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        /// Reading ends, with or without an error, no matter which bytes of the description are changed.
        #[test]
        fn no_damage_makes_reading_fail_otherwise(changes in proptest::collection::vec((0_usize..30_000, proptest::num::u8::ANY), 1..8)) {
            let mut bytes = std::fs::read(tiny()).expect("the model");
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("damaged.gguf");
            std::fs::write(&file, &bytes).expect("written");
            let _ = Gguf::read(&file);
        }
    }
}
