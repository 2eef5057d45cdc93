//! Metadata of samples by which a list can be filtered.

use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of keys in a block; further ones are left out.
const MAX_KEYS: usize = 32;
/// Maximum number of different values of a key in a block. A key with more is not for filters.
const MAX_VALUES: usize = 200;
/// Maximum size of a value, in bytes. A key with longer ones is not for filters.
const MAX_VALUE_BYTES: usize = 120;
/// In a packed block, the byte of a sample without a value. It is larger than [`MAX_VALUES`].
const NO_VALUE: u8 = u8::MAX;

/// Values of the samples of a block, by key.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct MetadataColumns {
    columns: BTreeMap<String, MetadataColumn>,
}

/// Values of one key.
#[derive(Debug, Default, Serialize)]
struct MetadataColumn {
    /// Different values, as text.
    values: Vec<String>,
    /// Pairs of a sample's index in the block and the index of its value.
    of: Vec<(usize, usize)>,
    /// True if the key has too many values, or too long ones: then it has none here.
    is_unlisted: bool,
}

impl MetadataColumns {
    /// Adds a value of a sample.
    pub(super) fn add(&mut self, number: usize, key: &str, value: &str) {
        if let Some(column) = self.columns.get_mut(key) {
            column.add(number, value);
        } else if self.columns.len() < MAX_KEYS {
            self.columns.entry(key.to_owned()).or_default().add(number, value);
        }
    }
}

/// A key of a packed block. The values of the samples follow the head, with a byte for each.
#[derive(Serialize)]
pub(super) struct PackedKey<'a> {
    key: &'a str,
    values: &'a [String],
    is_unlisted: bool,
}

impl MetadataColumns {
    /// Returns the keys for the head of a packed block.
    pub(super) fn keys(&self) -> Vec<PackedKey<'_>> {
        let columns = self.columns.iter();
        columns
            .map(|(key, column)| PackedKey {
                key: key.as_str(),
                values: &column.values,
                is_unlisted: column.is_unlisted,
            })
            .collect()
    }

    /// Appends the values of each key, in the order of the keys, for a number of samples.
    pub(super) fn pack(&self, rows: usize, packed: &mut Vec<u8>) {
        for column in self.columns.values() {
            let mut bytes = vec![NO_VALUE; rows];
            for (number, value) in &column.of {
                if let Some(byte) = bytes.get_mut(*number) {
                    *byte = u8::try_from(*value).unwrap_or(NO_VALUE);
                }
            }
            packed.extend_from_slice(&bytes);
        }
    }
}

impl MetadataColumn {
    fn add(&mut self, number: usize, value: &str) {
        if self.is_unlisted {
            return;
        }
        let known = self.values.iter().position(|other| *other == value);
        if value.len() > MAX_VALUE_BYTES || (known.is_none() && self.values.len() >= MAX_VALUES) {
            *self = MetadataColumn { is_unlisted: true, ..MetadataColumn::default() };
            return;
        }
        let place = known.unwrap_or_else(|| {
            self.values.push(value.to_owned());
            self.values.len() - 1
        });
        self.of.push((number, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_with_few_short_values_are_for_filters() {
        let mut metadata = MetadataColumns::default();
        for number in 1..=MAX_VALUES + 1 {
            metadata.add(number, "level", &(number % 2).to_string());
            metadata.add(number, "id", &number.to_string());
            metadata.add(number, "text", &"x".repeat(number));
        }
        let shown = serde_json::to_value(&metadata).unwrap();
        let keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "level", "text"]);
        assert_eq!(shown["level"]["values"], json!(["1", "0"]));
        assert_eq!(shown["level"]["of"].as_array().unwrap()[..2], [json!([1, 0]), json!([2, 1])]);
        for key in ["id", "text"] {
            assert_eq!(shown[key], json!({"values": [], "of": [], "is_unlisted": true}), "{key}");
        }
    }
}
