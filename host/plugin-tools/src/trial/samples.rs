//! Rows of test cases, and the resulting Samples of preprocessors, checked as in a run.

use crate::cases::Case;
use gage_core::{Outcome, Sample};
use gage_plugin::{ItemError, PreprocessorOutput, RawRow};
use serde_json::{Value, json};

/// Converts the output of a preprocessor. Returns an error if a run would reject the Sample.
pub(super) fn converted(converted: PreprocessorOutput, case: &Case) -> Result<Value, ItemError> {
    let text = match converted {
        PreprocessorOutput::Skipped(reason) => return Ok(json!({"skip": reason})),
        PreprocessorOutput::Sample(text) => text,
    };
    let sample: Value = text.parse()?;
    // Input for another preprocessor does not have to be a Sample yet.
    let problems = match (case.get("intermediate").as_bool(), Sample::from_text(text.as_str())) {
        (Some(true), _) => Vec::new(),
        (_, Ok(sample)) => sample.sampling_problems(),
        (_, Err(problems)) => problems,
    };
    match problems.first() {
        None => Ok(json!({"sample": sample})),
        Some(first) => Err(ItemError {
            outcome: Outcome::InvalidSample,
            kind: "invalid_sample",
            message: problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            pointer: Some(first.pointer.clone()),
        }),
    }
}

/// Returns the row of a case.
pub(super) fn raw_row(case: &Case) -> RawRow {
    let dataset = case.get("dataset").as_str().unwrap_or("cases").to_owned();
    RawRow { dataset, index: 0, body: case.get("row").to_string() }
}
