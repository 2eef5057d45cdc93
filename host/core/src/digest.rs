//! Content digests, and the canonical JSON from which they are computed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Returns the digest of everything that was fed to a hasher.
    pub fn of_hasher(hasher: Sha256) -> Digest {
        Digest(hasher.finalize().into())
    }

    /// Computes the digest of a JSON value, using [`canonical_json`].
    pub fn of_json(value: &Value) -> Digest {
        Digest::of_bytes(canonical_json(value).as_bytes())
    }

    /// Computes the digest of a reader's content.
    ///
    /// # Errors
    /// If the reader fails.
    pub fn of_reader(mut reader: impl std::io::Read) -> std::io::Result<Digest> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0_u8; 1 << 16];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(Digest::of_hasher(hasher)),
                length => hasher.update(&buffer[..length]),
            }
        }
    }

    /// Returns the first 16 hexadecimal digits, as a short name.
    pub fn short(&self) -> String {
        hexadecimal(&self.0[..8])
    }

    /// Returns the 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hexadecimal(&self.0)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

impl std::fmt::Display for Digest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "sha256:{}", self.hex())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}

impl std::str::FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        let mut bytes = [0_u8; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return Err(format!("'{text}' is not a SHA-256 digest: 64 hexadecimal digits are expected"));
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).unwrap_or_default();
            *byte = u8::from_str_radix(pair, 16)
                .map_err(|_| format!("'{text}' is not a SHA-256 digest: '{pair}' is not hexadecimal"))?;
        }
        Ok(Digest(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Returns the nesting depth of a JSON value; 0 if it contains no other value.
pub fn json_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(json_depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(json_depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns JSON without blanks and with sorted object keys, so that equal values have the same text.
pub fn canonical_json(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digest_is_that_of_sha256sum_and_comes_back() {
        let digest = Digest::of_bytes(b"abc");
        assert_eq!(
            digest.to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(Digest::of_reader(&b"abc"[..]).ok(), Some(digest));
        assert!("sha256:12".parse::<Digest>().is_err());
        assert!(format!("sha256:{}", "zz".repeat(32)).parse::<Digest>().is_err());
    }

    #[test]
    fn canonical_json_does_not_depend_on_the_order_of_keys() {
        let one = json!({"b": [1, {"y": 1, "x": "é\n"}], "a": null});
        let two = json!({"a": null, "b": [1, {"x": "é\n", "y": 1}]});
        assert_eq!(canonical_json(&one), r#"{"a":null,"b":[1,{"x":"é\n","y":1}]}"#);
        assert_eq!(Digest::of_json(&one), Digest::of_json(&two));
        assert_ne!(Digest::of_json(&one), Digest::of_json(&json!({})));
    }
}
