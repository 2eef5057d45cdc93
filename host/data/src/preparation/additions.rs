//! Fields that a dataset adds to its rows before they are converted: computed ones, and examples.

use super::batch::Batch;
use crate::examples::{ExamplePool, with_fields};
use crate::loader::MAX_ROW_BYTES;
use crate::object_text::with_member;
use crate::rejection::Rejection;
use gage_config::FEW_SHOT_FIELD;
use gage_template::FieldExpressions;

/// Adds the computed fields to each row.
pub(super) fn compute_fields(batch: &mut Batch<'_>, fields: &FieldExpressions) {
    let mut computed = with_fields(&batch.rows(), fields).into_iter();
    batch.each_row(|_, _| {
        let missing = || Err("their computation returned no result".to_owned());
        checked(computed.next().unwrap_or_else(missing))
    });
}

/// Adds its examples to each row.
pub(super) fn add_examples(batch: &mut Batch<'_>, pool: &ExamplePool, fields: Option<&FieldExpressions>) {
    if let Some(fields) = fields {
        pool.compute(batch.examples(), fields);
    }
    batch.each_row(|body, examples| {
        let texts = examples.iter().map(|number| pool.text(*number)).collect::<Result<Vec<&str>, String>>();
        checked(texts.map(|texts| with_member(body, FEW_SHOT_FIELD, &format!("[{}]", texts.join(",")))))
    });
}

/// Returns the text of an extended row, or its rejection.
fn checked(extended: Result<String, String>) -> Result<String, Rejection> {
    let invalid = |message: String| Rejection::of_sample("invalid_row", message, None);
    match extended {
        Ok(text) if text.len() >= MAX_ROW_BYTES => {
            Err(invalid(format!("with its added fields, the row is longer than {MAX_ROW_BYTES} bytes")))
        }
        Ok(text) => Ok(text),
        Err(message) => Err(invalid(message)),
    }
}
