//! Labels that lie in a file of their own, one a line.

use crate::row::DataError;
use gage_core::Object;
use std::path::Path;

/// The lines of a labels file, joined to rows by their number.
pub(crate) struct Labels {
    lines: Vec<String>,
    field: String,
}

impl Labels {
    pub(crate) fn read(path: &Path, field: &str) -> Result<Labels, DataError> {
        let text = std::fs::read_to_string(path).map_err(|error| DataError::unreadable(path, error))?;
        let lines = text.lines().map(|line| line.trim().to_owned()).collect();
        Ok(Labels { lines, field: field.to_owned() })
    }

    /// Adds the label of a row to its object.
    pub(crate) fn join(&self, number: u64, body: &str) -> Result<String, String> {
        let label = usize::try_from(number).ok().and_then(|number| self.lines.get(number));
        let label = label
            .ok_or_else(|| format!("the labels file has {} lines, none for this row", self.lines.len()))?;
        let mut object: Object = serde_json::from_str(body).map_err(|error| error.to_string())?;
        if object.contains_key(&self.field) {
            return Err(format!("the row has a field '{}' of its own, beside the labels file", self.field));
        }
        // Numbers stay numbers, so that `0` in the file is the index 0.
        let value = match label.parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => label.as_str().into(),
        };
        object.insert(self.field.clone(), value);
        serde_json::to_string(&object).map_err(|error| error.to_string())
    }
}
