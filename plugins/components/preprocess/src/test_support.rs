//! For tests: a preprocessor as the host runs it.

use crate::roles::{Conversion, Standard};
use gage_sdk::PluginError;
use gage_sdk::preprocessor::{Preprocessor, Row, RowOutcome};
use gage_sdk::serde_json::Value;

/// Converts a row.
pub(crate) fn convert<C: Conversion>(params: Value, body: Value) -> Result<Value, PluginError> {
    let Value::Object(body) = body else { panic!("a row is an object") };
    let row = Row { dataset: "d".to_owned(), index: 0, body };
    match Standard::<C>::prepare(params)?.convert(row)? {
        RowOutcome::Sample(sample) => Ok(sample),
        RowOutcome::Skip(reason) => panic!("nothing is skipped: {reason}"),
    }
}
