//! Checksums of the rows of the index.

use gage_core::Digest;
use rusqlite::Row;
use rusqlite::types::ValueRef;

/// Returns the checksum of the columns of a row, in their order. `None` is NULL.
pub(crate) fn checksum<'c>(columns: impl IntoIterator<Item = Option<&'c [u8]>>) -> String {
    let mut bytes = Vec::new();
    for column in columns {
        // The length keeps neighbouring columns apart.
        bytes.extend_from_slice(&column.map_or(u64::MAX, |column| column.len() as u64).to_le_bytes());
        bytes.extend_from_slice(column.unwrap_or_default());
    }
    Digest::of_bytes(&bytes).to_string()
}

/// Returns true if the last column of a row is the checksum of the others.
pub(crate) fn is_intact(row: &Row<'_>, columns: usize) -> bool {
    let column = |index: usize| match row.get_ref(index) {
        Ok(ValueRef::Null) => Some(None),
        Ok(ValueRef::Text(text)) => Some(Some(text)),
        _ => None,
    };
    let found: Option<Vec<Option<&[u8]>>> = (0..columns).map(column).collect();
    match (found, column(columns)) {
        (Some(found), Some(Some(expected))) => checksum(found).as_bytes() == expected,
        _ => false,
    }
}
