//! Comparisons of several runs with the first of them, as shown on a page.

use crate::{CompareError, CompareOptions, Comparison, ComparisonWarning, compare};
use gage_figures::RecordedRun;

/// Compares each further run with the first, by the gate of its own suite.
///
/// # Errors
/// If a run cannot be read.
pub fn comparisons_with_first(sources: &[RecordedRun]) -> Result<Vec<Comparison>, CompareError> {
    let Some((base, others)) = sources.split_first() else { return Ok(Vec::new()) };
    let with_base = |new: &RecordedRun| {
        let (gate, gate_before) = (new.gate(), base.gate());
        match compare(base, new, &CompareOptions { gate, gate_before, ..CompareOptions::default() }) {
            // An invalid gate must not prevent the comparison from being shown.
            Err(
                error @ (CompareError::UnknownInGate { .. }
                | CompareError::NeverCompared { .. }
                | CompareError::MarginTooWide { .. }),
            ) => {
                let mut comparison = compare(base, new, &CompareOptions::default())?;
                let what = format!("the gate of the new run has no effect: {error}");
                comparison.warnings.push(ComparisonWarning { task_id: None, what });
                Ok(comparison)
            }
            other => other,
        }
    };
    others.iter().map(with_base).collect()
}
