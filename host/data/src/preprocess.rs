//! From rows to Samples: conversion by a component, then validation.

use crate::row::{Row, RowProblem};
use gage_core::{Outcome, Sample};
use gage_plugin::{Converted, ItemError, Preprocessor, RawRow};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// A row on its way into the run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its place in the run.
    pub index: u64,
    /// A short digest of the row.
    pub row_digest: String,
    /// The Sample, or why there is none.
    pub result: Result<Box<Sample>, Rejection>,
}

/// A row that does not enter the run. It keeps its place, and is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// `invalid_sample`, `skipped`, or what the plugin ended with.
    pub outcome: Outcome,
    /// `load` or `preprocess`.
    pub stage: &'static str,
    /// A short name of what went wrong.
    pub kind: String,
    /// The same in words.
    pub message: String,
    /// JSON pointer to what is to blame.
    pub pointer: Option<String>,
    /// The beginning of the row.
    pub row: String,
}

/// Turns rows of one dataset into Samples.
pub struct Preparer {
    preprocessor: Arc<Preprocessor>,
    dataset_id: String,
    dataset_path: String,
    /// How often each id has occurred, by its hash.
    ids: HashMap<u64, u32>,
}

impl Preparer {
    /// A preparer for a dataset. Rows must come in their order, for ids are kept apart.
    pub fn new(preprocessor: Arc<Preprocessor>, dataset_id: &str, dataset_path: &str) -> Preparer {
        Preparer {
            preprocessor,
            dataset_id: dataset_id.to_owned(),
            dataset_path: dataset_path.to_owned(),
            ids: HashMap::new(),
        }
    }

    /// Prepares a batch: one result for each row, in order.
    pub fn prepare(&mut self, rows: Vec<Row>) -> Vec<Prepared> {
        let sound: Vec<RawRow> = rows
            .iter()
            .filter_map(|row| {
                let body = row.body.as_ref().ok()?.clone();
                Some(RawRow { dataset: self.dataset_id.clone(), index: row.number, body })
            })
            .collect();
        let mut converted = self.preprocessor.convert(&sound).into_iter();
        rows.into_iter()
            .map(|row| {
                let result = match row.body {
                    Err(problem) => Err(broken(problem)),
                    Ok(text) => match converted.next() {
                        Some(result) => self.validate(result, &text, row.number).map(Box::new),
                        None => Err(rejection(
                            Outcome::PluginError,
                            "preprocess",
                            "invalid_result",
                            "no result",
                            &text,
                        )),
                    },
                };
                Prepared { index: row.index, row_digest: row.digest, result }
            })
            .collect()
    }

    fn validate(
        &mut self,
        converted: Result<Converted, ItemError>,
        row: &str,
        number: u64,
    ) -> Result<Sample, Rejection> {
        let value = match converted {
            Ok(Converted::Sample(value)) => value,
            Ok(Converted::Skipped(reason)) => {
                return Err(rejection(Outcome::Skipped, "preprocess", "skipped", &reason, row));
            }
            Err(error) => return Err(refused(error, row)),
        };
        let mut sample = Sample::from_value(value).map_err(|problems| {
            let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            let pointer = problems.into_iter().next().map(|problem| problem.pointer);
            Rejection {
                pointer,
                ..rejection(Outcome::InvalidSample, "preprocess", "invalid_sample", &message, row)
            }
        })?;
        self.keep_apart(&mut sample.id);
        sample.dataset_id.get_or_insert_with(|| self.dataset_id.clone());
        for (key, value) in [("path", self.dataset_path.as_str().into()), ("row", number.into())] {
            if !sample.dataset_metadata.contains_key(key) {
                sample.dataset_metadata.insert(key.to_owned(), value);
            }
        }
        Ok(sample)
    }

    /// Gives the second and each further sample of an id a number: `q1`, `q1#2`, `q1#3`.
    fn keep_apart(&mut self, id: &mut String) {
        let count = self.count(id);
        if count == 1 {
            return;
        }
        tracing::debug!(dataset = %self.dataset_id, "the id '{id}' occurs for the {count}th time");
        let mut number = count;
        loop {
            let made = format!("{id}#{number}");
            if self.count(&made) == 1 {
                *id = made;
                return;
            }
            number += 1;
        }
    }

    /// How often an id has occurred, this time included.
    fn count(&mut self, id: &str) -> u32 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let count = self.ids.entry(hasher.finish()).or_insert(0);
        *count += 1;
        *count
    }
}

fn rejection(outcome: Outcome, stage: &'static str, kind: &str, message: &str, row: &str) -> Rejection {
    Rejection {
        outcome,
        stage,
        kind: kind.to_owned(),
        message: message.to_owned(),
        pointer: None,
        row: row.chars().take(2_000).collect(),
    }
}

fn broken(problem: RowProblem) -> Rejection {
    rejection(Outcome::InvalidSample, "load", "invalid_row", &problem.message, &problem.text)
}

/// A row that the plugin could not convert is the row's fault, unless the plugin broke.
fn refused(error: ItemError, row: &str) -> Rejection {
    let is_of_row = matches!(error.kind, "invalid_input" | "missing_field" | "unsupported");
    let outcome = if is_of_row { Outcome::InvalidSample } else { error.outcome };
    Rejection { pointer: error.pointer, ..rejection(outcome, "preprocess", error.kind, &error.message, row) }
}
