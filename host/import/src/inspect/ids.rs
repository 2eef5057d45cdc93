//! Ids of samples, which are texts here. Inspect also has numbers, and tells `1` from `"1"`.

use super::InspectLogError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Ids of the samples and rows of a log, each different from the others.
#[derive(Default)]
pub(super) struct SampleIds {
    /// The id of each sample, by its id in the log as JSON.
    samples: BTreeMap<String, String>,
    /// Ids of samples.
    sample_ids: BTreeSet<String>,
    /// Ids of rows.
    row_ids: BTreeSet<String>,
    /// Samples with their epochs.
    epochs: BTreeSet<(String, u64)>,
    /// True if ids were equal as texts, and one got a number.
    pub(super) has_numbered: bool,
}

impl SampleIds {
    /// Returns the id of a sample, and the id of its row.
    ///
    /// # Errors
    /// If there is no id, or the log has the sample twice in an epoch.
    pub(super) fn add(&mut self, id: &Value, epoch: u64) -> Result<(String, String), InspectLogError> {
        let text = match id {
            Value::String(id) if !id.is_empty() => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => return Err(InspectLogError::NoId),
        };
        let json = id.to_string();
        let sample = match self.samples.get(&json) {
            Some(known) => known.clone(),
            None => {
                let sample = distinct(&text, &mut self.sample_ids);
                self.has_numbered |= sample != text;
                self.samples.insert(json, sample.clone());
                sample
            }
        };
        if !self.epochs.insert((sample.clone(), epoch)) {
            return Err(InspectLogError::SameSample { id: text, epoch });
        }
        let row = if epoch > 1 { format!("{sample}#{epoch}") } else { sample.clone() };
        let row = distinct(&row, &mut self.row_ids);
        Ok((sample, row))
    }

    /// Returns the number of samples, each with all its epochs.
    pub(super) fn count(&self) -> usize {
        self.samples.len()
    }
}

/// Returns a text that is not taken: the text itself, or the text with a number.
fn distinct(text: &str, taken: &mut BTreeSet<String>) -> String {
    let mut id = text.to_owned();
    let mut number = 2_u64;
    while !taken.insert(id.clone()) {
        id = format!("{text}-{number}");
        number += 1;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_of_samples_and_rows_are_distinct() {
        let mut ids = SampleIds::default();
        for (id, epoch, sample, row) in [
            (json!(1), 1, "1", "1"),
            (json!("1"), 1, "1-2", "1-2"),
            (json!(1), 2, "1", "1#2"),
            (json!("1"), 2, "1-2", "1-2#2"),
            (json!("1#2"), 1, "1#2", "1#2-2"),
        ] {
            let found = ids.add(&id, epoch).expect("a new sample");
            assert_eq!(found, (sample.to_owned(), row.to_owned()), "{id} {epoch}");
        }
        assert!(ids.has_numbered);
    }
}
