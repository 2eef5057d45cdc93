//! Labels in a separate file, one per line.

use crate::loader::{self, LoaderError};
use crate::row::DataError;
use crate::source::{DataFile, LabelsFile};
use gage_core::Object;
use serde_json::Value;

/// Maximum size of a labels file, which is held in memory.
const MAX_LABELS_BYTES: u64 = 512 << 20;

/// Lines of a labels file, joined to rows by their number.
pub(crate) struct Labels {
    file: DataFile,
    lines: Vec<String>,
    field: String,
}

impl Labels {
    pub(crate) fn read(labels: &LabelsFile) -> Result<Labels, DataError> {
        let text = loader::read_text(&labels.file, MAX_LABELS_BYTES).map_err(|fault| match fault {
            LoaderError::Unreadable(source) => DataError::unreadable(&labels.file, source),
            LoaderError::Damaged(message) | LoaderError::Unsuited(message) => {
                DataError::of_change(&labels.file)
                    .unwrap_or_else(|| DataError::Unsuited { file: labels.file.named(), message })
            }
        })?;
        let lines = text.lines().map(|line| line.trim().to_owned()).collect();
        Ok(Labels { file: labels.file.clone(), lines, field: labels.field.clone() })
    }

    /// Returns the number of labels. Blank lines at the end are ignored.
    fn count(&self) -> u64 {
        self.lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last as u64 + 1)
    }

    /// Checks that there are as many labels as rows, once all rows are counted.
    pub(crate) fn check(&self, rows: u64) -> Result<(), DataError> {
        let lines = self.count();
        match lines == rows {
            true => Ok(()),
            false => Err(DataError::OtherLabels { file: self.file.named(), lines, rows }),
        }
    }

    /// Checks that a row has a label. The missing line could be any line, which would shift all later labels.
    /// Therefore this is an error of the file, not of one row.
    pub(crate) fn check_row(&self, number: u64) -> Result<(), DataError> {
        let lines = self.count();
        match number < lines {
            true => Ok(()),
            false => Err(DataError::MissingLabels { file: self.file.named(), lines }),
        }
    }

    /// Adds the label of a row to its object.
    pub(crate) fn join(&self, number: u64, object: &mut Object) -> Result<(), String> {
        let label = usize::try_from(number).ok().and_then(|number| self.lines.get(number));
        let label = label
            .ok_or_else(|| format!("the labels file has {} lines, none for this row", self.lines.len()))?;
        if object.contains_key(&self.field) {
            return Err(format!(
                "the row already has the field '{}', which the labels file would add",
                self.field
            ));
        }
        // Numbers stay numbers, so that `0` in the file is the index 0; `01` is a name.
        let number = label.parse::<i64>().ok().filter(|number| number.to_string() == *label);
        let value = number.map_or_else(|| label.as_str().into(), Value::from);
        object.insert(self.field.clone(), value);
        Ok(())
    }
}
