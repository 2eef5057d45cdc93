//! Preparation of Samples from rows: conversion by components, validation, hooks, media, and the prompt if a
//! tokenizer renders it.

mod additions;
mod batch;
mod hooks;
mod prompts;

use crate::examples::ExamplePool;
use crate::loader::MAX_ROW_VALUES;
use crate::media::MediaStore;
use crate::rejection::Rejection;
use crate::row::Row;
use batch::Batch;
use gage_core::{AnswerProblem, OptionDisplay, Sample, parse_json};
use gage_plugin::{DocHook, Preprocessor};
use gage_template::{FieldExpressions, ROW_KEY, TokenizerTemplate};
use std::sync::Arc;

/// A row prepared for the run.
#[derive(Clone, Debug)]
pub struct PreparedSample<K = Arc<Sample>> {
    /// Position in the run.
    pub index: u64,
    /// Short digest of the row.
    pub row_digest: String,
    /// Share of the row in the time to prepare its batch, in milliseconds. Varies from run to run.
    pub preprocess_ms: f64,
    /// The Sample or its projection, or the reason for its rejection.
    pub result: Result<K, Box<Rejection>>,
}

/// Part of a prepared Sample that is kept.
pub trait SampleProjection: Send + Sized {
    /// Returns the ID, if it is kept.
    fn id(&mut self) -> Option<&mut String>;
}

impl SampleProjection for Arc<Sample> {
    fn id(&mut self) -> Option<&mut String> {
        // There is no other owner yet, so nothing is copied.
        Some(&mut Arc::make_mut(self).id)
    }
}

/// Projection of a valid Sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidSample {
    /// ID of the Sample.
    pub id: String,
    /// Reason why metrics may find nothing to compare answers with.
    pub answer_problem: Option<AnswerProblem>,
}

impl SampleProjection for ValidSample {
    fn id(&mut self) -> Option<&mut String> {
        Some(&mut self.id)
    }
}

impl From<Arc<Sample>> for ValidSample {
    fn from(sample: Arc<Sample>) -> ValidSample {
        ValidSample { answer_problem: sample.answer_problem(), id: Arc::unwrap_or_clone(sample).id }
    }
}

/// Projection that is true if a Sample refers to media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HasMedia(pub bool);

impl SampleProjection for HasMedia {
    fn id(&mut self) -> Option<&mut String> {
        None
    }
}

/// Converts the rows of a dataset into Samples. Keeps no state between rows, so any number of threads may use it.
pub struct Preparation {
    /// Computes fields of the rows, before the preprocessors.
    pub fields: Option<Arc<FieldExpressions>>,
    /// Preprocessors, applied in order.
    pub chain: Vec<Arc<Preprocessor>>,
    /// Provides the messages of each Sample.
    pub doc_to_text: Option<Arc<DocHook>>,
    /// Provide media for Samples that have none.
    pub doc_to_media: Vec<Arc<DocHook>>,
    /// Checks and lists media.
    pub media: Arc<MediaStore>,
    /// True if media are fetched and checked. Otherwise, the media that hooks find are left out.
    pub fetches_media: bool,
    /// Renders the prompt of each Sample.
    pub tokenizer: Option<Arc<TokenizerTemplate>>,
    /// Says if such a prompt shows the options of its Sample.
    pub option_display: OptionDisplay,
    /// True if a prompt reads the row of a Sample. Samples then hold it under [`ROW_KEY`].
    pub keeps_row: bool,
    /// Name of the dataset within the suite.
    pub dataset_id: String,
    /// Origin of the dataset, recorded in the Samples.
    pub dataset_path: String,
    /// Names of its files, as rows refer to them.
    pub files: Vec<String>,
}

impl Preparation {
    /// Prepares rows: one result for each, in order, with the kept part of its Sample. Their examples are in the pool. IDs
    /// are as in the rows; see `IdDeduplicator`. `None` if it was stopped while waiting for media.
    pub(crate) fn prepare<K: SampleProjection>(
        &self,
        rows: Vec<Row>,
        pool: Option<&ExamplePool>,
        keep: &impl Fn(Arc<Sample>) -> K,
        is_stopped: &dyn Fn() -> bool,
    ) -> Option<Vec<PreparedSample<K>>> {
        let mut batch = Batch::new(rows, &self.dataset_id, &self.files);
        if let Some(fields) = &self.fields {
            additions::compute_fields(&mut batch, fields);
        }
        if let Some(pool) = pool {
            additions::add_examples(&mut batch, pool, self.fields.as_deref());
        }
        for preprocessor in &self.chain {
            batch.convert(preprocessor);
        }
        batch.validate(|sample, number, row| self.complete(sample, number, row));
        batch.each(check_sampling);
        if let Some(hook) = &self.doc_to_text {
            hooks::set_text(&mut batch, hook);
        }
        hooks::find_media(&mut batch, &self.doc_to_media);
        if self.fetches_media {
            self.media.prefetch(batch.samples(), is_stopped);
            if is_stopped() {
                return None;
            }
            batch.each_with_media(|sample, media| {
                self.media
                    .settle(sample, std::mem::take(media))
                    .map_err(|error| Rejection::of_sample(error.kind.name(), error.message, error.pointer))
            });
        }
        if let Some(tokenizer) = &self.tokenizer {
            prompts::render(&mut batch, tokenizer, self.option_display);
        }
        Some(batch.finish(keep))
    }

    /// Records in a Sample its dataset, the number of its row and, if prompts read it, the row itself.
    fn complete(&self, sample: &mut Sample, number: u64, row: Option<&str>) -> Result<(), Rejection> {
        // A row must not override its own origin.
        sample.dataset_id = Some(self.dataset_id.clone());
        let metadata = &mut sample.dataset_metadata;
        metadata.insert("path".to_owned(), self.dataset_path.as_str().into());
        metadata.insert("row".to_owned(), number.into());
        if let Some(row) = row.filter(|_| self.keeps_row) {
            let row = parse_json(row.as_bytes(), MAX_ROW_VALUES).map_err(|error| {
                Rejection::of_sample("invalid_row", format!("no prompt can read the row: {error}"), None)
            })?;
            sample.extra.insert(ROW_KEY.to_owned(), row);
        }
        Ok(())
    }
}

/// Checks that a model can be queried with the sampling parameters of a Sample.
fn check_sampling(sample: &mut Sample) -> Result<(), Rejection> {
    let problems = sample.sampling_problems();
    let Some(first) = problems.first() else { return Ok(()) };
    let message: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Rejection::of_sample("sampling_params", message.join("; "), Some(first.pointer.clone())))
}
