//! Comparisons of several runs with the first of them, as a page shows them.

use crate::{CompareError, CompareOptions, Comparison, ComparisonWarning, compare};
use gage_figures::RecordedRun;

/// Compares each further run with the first, by the gate of its own suite.
///
/// # Errors
/// When a run cannot be read.
pub fn comparisons_with_first(sources: &[RecordedRun]) -> Result<Vec<Comparison>, CompareError> {
    let Some((base, others)) = sources.split_first() else { return Ok(Vec::new()) };
    let with_base = |new: &RecordedRun| {
        let (gate, gate_before) = (new.gate(), base.gate());
        match compare(base, new, &CompareOptions { gate, gate_before, ..CompareOptions::default() }) {
            // A gate that cannot be asked is no reason not to show them.
            Err(
                error @ (CompareError::UnknownInGate { .. }
                | CompareError::LevelTooSmall { .. }
                | CompareError::NeverCompared { .. }
                | CompareError::MarginTooWide { .. }),
            ) => {
                let mut comparison = compare(base, new, &CompareOptions::default())?;
                let what = format!("the gate of the new run judges nothing: {error}");
                comparison.warnings.push(ComparisonWarning { task_id: None, what });
                Ok(comparison)
            }
            other => other,
        }
    };
    others.iter().map(with_base).collect()
}
