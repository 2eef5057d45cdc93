//! What the metrics leave in the detail of their cards.

use gage_sdk::aggregator::Row;
use gage_sdk::{PluginError, serde_json};
use serde::de::DeserializeOwned;

/// A member of the detail of a row's card; `None` where the card has no such member, which is so
/// for samples without a prediction or a reference.
///
/// # Errors
/// `invalid-input` for a detail that cannot be read, or holds something else under that name.
pub(crate) fn member<T: DeserializeOwned>(row: &Row, name: &str) -> Result<Option<T>, PluginError> {
    let refuse = |error: serde_json::Error| {
        PluginError::invalid_input(format!(
            "the detail of sample '{}' cannot be read as counts of {name}: {error}",
            row.sample_id
        ))
    };
    let detail: serde_json::Value = serde_json::from_str(&row.card.detail).map_err(refuse)?;
    detail.get(name).map(|counts| T::deserialize(counts).map_err(refuse)).transpose()
}

/// The error of a row that does not fit the others.
pub(crate) fn refuse(row: &Row, problem: &str) -> PluginError {
    PluginError::invalid_input(format!("sample '{}' {problem}", row.sample_id))
}
