//! Rows that are prepared together: each is a row, a Sample, or rejected.

use super::{PreparedSample, SampleProjection};
use crate::media::MediaSource;
use crate::rejection::Rejection;
use crate::row::{Row, RowPosition, RowProblem, digest_of as row_digest};
use gage_core::{Outcome, Sample};
use gage_plugin::{ItemError, Preprocessor, PreprocessorOutput, RawRow, SampleText};
use serde_json::Value;
use std::sync::Arc;

/// Rows on their way to Samples.
pub(super) struct Batch<'f> {
    /// Readable rows, which errors show.
    raw: Vec<RawRow>,
    items: Vec<Item>,
    files: &'f [String],
    /// Name of the last preprocessor in messages.
    preprocessor: String,
}

struct Item {
    index: u64,
    number: u64,
    file: usize,
    place: RowPosition,
    text: Text,
    /// Digest of the row as read, if it was extended since.
    read_digest: Option<String>,
    /// Indices of its examples in the pool.
    examples: Vec<u32>,
    state: ItemState,
    /// Media that doc hooks found for its Sample.
    media: Vec<MediaSource>,
}

/// Text of a row.
enum Text {
    /// Position in `raw`.
    Raw(usize),
    /// Digest of an unreadable row.
    Unread(String),
}

enum ItemState {
    /// Row as read.
    Row,
    /// Result of the preprocessors so far.
    Converted(SampleText),
    Sample(Arc<Sample>),
    Rejected(Box<Rejection>),
}

impl<'f> Batch<'f> {
    pub(super) fn new(rows: Vec<Row>, dataset_id: &str, files: &'f [String]) -> Batch<'f> {
        let mut raw = Vec::with_capacity(rows.len());
        let items = rows.into_iter().map(|row| {
            let Row { index, number, file, place, body, examples } = row;
            let (text, state) = match body {
                Ok(body) => {
                    raw.push(RawRow { dataset: dataset_id.to_owned(), index: number, body });
                    (Text::Raw(raw.len() - 1), ItemState::Row)
                }
                Err(RowProblem { message, text, digest }) => {
                    (Text::Unread(digest), Rejection::of_row(message, text).into())
                }
            };
            Item { index, number, file, place, text, read_digest: None, examples, state, media: Vec::new() }
        });
        let items = items.collect();
        Batch { raw, items, files, preprocessor: String::new() }
    }

    /// Returns the rows that were not converted yet.
    pub(super) fn rows(&self) -> Vec<&str> {
        let rows = self.items.iter().filter(|item| matches!(item.state, ItemState::Row));
        rows.filter_map(|item| Some(item.raw(&self.raw)?.body.as_str())).collect()
    }

    /// Returns the indices of the examples of all rows.
    pub(super) fn examples(&self) -> impl Iterator<Item = u32> {
        self.items.iter().flat_map(|item| item.examples.iter().copied())
    }

    /// Replaces each row that was not converted yet. `extend` gets its text and the indices of its examples; an error rejects
    /// it. The digest of the row stays that of the row as read.
    pub(super) fn each_row(&mut self, mut extend: impl FnMut(&str, &[u32]) -> Result<String, Rejection>) {
        for item in &mut self.items {
            let (ItemState::Row, Text::Raw(place)) = (&item.state, &item.text) else { continue };
            let Some(row) = self.raw.get_mut(*place) else { continue };
            match extend(&row.body, &item.examples) {
                Ok(extended) => {
                    item.read_digest.get_or_insert_with(|| row_digest(row.body.as_bytes()));
                    row.body = extended;
                }
                Err(rejection) => item.state = rejection.into(),
            }
        }
    }

    /// Runs a preprocessor on the items that are neither Samples nor rejected.
    pub(super) fn convert(&mut self, preprocessor: &Preprocessor) {
        self.complete_converted();
        let unconverted = self.items.iter().filter(|item| matches!(item.state, ItemState::Row)).count();
        // At first, usually all rows are converted. Rows that were rejected before are left out.
        let pending: Vec<RawRow> = match unconverted == self.raw.len() {
            true => Vec::new(),
            false => self.items.iter().filter_map(|item| item.pending(&self.raw)).collect(),
        };
        let rows = if unconverted == self.raw.len() { &self.raw } else { &pending };
        let mut results = preprocessor.convert(rows).into_iter();
        self.preprocessor = format!("the preprocessor `{}`", preprocessor.name());
        for item in &mut self.items {
            if !matches!(item.state, ItemState::Row | ItemState::Converted(_)) {
                continue;
            }
            item.state = match results.next().unwrap_or_else(|| Err(missing())) {
                Ok(PreprocessorOutput::Sample(text)) => ItemState::Converted(text),
                Ok(PreprocessorOutput::Skipped(reason)) => Rejection::skipped(reason).into(),
                Err(error) => Rejection::of_plugin(&self.preprocessor, error).into(),
            };
        }
    }

    /// Completes the results of a preprocessor before the next one reads them, and rejects those that are not JSON.
    fn complete_converted(&mut self) {
        for item in &mut self.items {
            if let ItemState::Converted(text) = &item.state {
                item.state = match text.with_derived() {
                    Ok(text) => ItemState::Converted(text),
                    Err(error) => Rejection::of_plugin(&self.preprocessor, error).into(),
                };
            }
        }
    }

    /// Converts the preprocessors' results into Samples.
    pub(super) fn validate(
        &mut self,
        complete: impl Fn(&mut Sample, u64, Option<&str>) -> Result<(), Rejection>,
    ) {
        for item in &mut self.items {
            let row = item.raw(&self.raw).map(|row| row.body.as_str());
            let state = std::mem::replace(&mut item.state, ItemState::Row);
            item.state = match state {
                ItemState::Converted(text) => match sample_of(&text, &self.preprocessor) {
                    // There is no other owner yet, so nothing is copied.
                    Ok(mut sample) => match complete(Arc::make_mut(&mut sample), item.number, row) {
                        Ok(()) => ItemState::Sample(sample),
                        Err(rejection) => rejection.into(),
                    },
                    Err(rejection) => rejection.into(),
                },
                other => other,
            };
        }
    }

    /// Returns the existing Samples, in order.
    pub(super) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.items.iter().filter_map(|item| match &item.state {
            ItemState::Sample(sample) => Some(sample.as_ref()),
            ItemState::Row | ItemState::Converted(_) | ItemState::Rejected(_) => None,
        })
    }

    /// Applies a function to each Sample, in order; an error rejects it.
    pub(super) fn each(&mut self, mut work: impl FnMut(&mut Sample) -> Result<(), Rejection>) {
        self.each_with_media(|sample, _| work(sample));
    }

    /// Same as [`Batch::each`], with the media that doc hooks found for the Sample.
    pub(super) fn each_with_media(
        &mut self,
        mut work: impl FnMut(&mut Sample, &mut Vec<MediaSource>) -> Result<(), Rejection>,
    ) {
        for item in &mut self.items {
            let ItemState::Sample(sample) = &mut item.state else { continue };
            if let Err(rejection) = work(Arc::make_mut(sample), &mut item.media) {
                item.state = rejection.into();
            }
        }
    }

    pub(super) fn finish<K: SampleProjection>(
        self,
        keep: &impl Fn(Arc<Sample>) -> K,
    ) -> Vec<PreparedSample<K>> {
        let Batch { raw, items, files, .. } = self;
        let finish = |item: Item| {
            let (index, number, row_digest) = (item.index, item.number, item.digest(&raw));
            let row = item.raw(&raw).map(|row| row.body.as_str());
            let rejection = match item.state {
                ItemState::Sample(sample) => {
                    return PreparedSample {
                        index,
                        row_digest,
                        preprocess_ms: 0.0,
                        result: Ok(keep(sample)),
                    };
                }
                ItemState::Rejected(rejection) => *rejection,
                // Without a preprocessor no row becomes a Sample.
                ItemState::Row | ItemState::Converted(_) => {
                    Rejection::of_plugin("no preprocessor", missing())
                }
            };
            // For an unreadable row, the reader has already named its place.
            let rejection = match row {
                Some(row) => {
                    let place = files.get(item.file).map(|file| format!("{} of {file}", item.place));
                    rejection.at(&place.unwrap_or_else(|| item.place.to_string()), row)
                }
                None => rejection,
            };
            let result = Err(Box::new(Rejection { id: format!("row-{number}"), ..rejection }));
            PreparedSample { index, row_digest, preprocess_ms: 0.0, result }
        };
        items.into_iter().map(finish).collect()
    }
}

impl Item {
    /// Returns the row for the next preprocessor: the result of the one before, if any.
    fn pending(&self, raw: &[RawRow]) -> Option<RawRow> {
        let RawRow { dataset, index, body } = self.raw(raw)?;
        let body = match &self.state {
            ItemState::Row => body.as_str(),
            ItemState::Converted(text) => text.as_str(),
            ItemState::Sample(_) | ItemState::Rejected(_) => return None,
        };
        Some(RawRow { dataset: dataset.clone(), index: *index, body: body.to_owned() })
    }

    /// Returns the row, if it could be read.
    fn raw<'r>(&self, raw: &'r [RawRow]) -> Option<&'r RawRow> {
        match self.text {
            Text::Raw(place) => raw.get(place),
            Text::Unread(_) => None,
        }
    }

    /// Returns the digest of its row. If its Sample refers to media, their digests are included, so that a changed
    /// file is noticed.
    fn digest(&self, raw: &[RawRow]) -> String {
        let of_row = match (&self.text, &self.read_digest) {
            (Text::Unread(digest), _) | (Text::Raw(_), Some(digest)) => digest.clone(),
            (Text::Raw(_), None) => {
                self.raw(raw).map(|row| row_digest(row.body.as_bytes())).unwrap_or_default()
            }
        };
        match &self.state {
            ItemState::Sample(sample) if !sample.media_meta.is_empty() => {
                let media = Value::from(sample.media_meta.clone());
                row_digest(format!("{of_row} {media}").as_bytes())
            }
            _ => of_row,
        }
    }
}

impl From<Rejection> for ItemState {
    fn from(rejection: Rejection) -> ItemState {
        ItemState::Rejected(Box::new(rejection))
    }
}

/// Parses the Sample of a text. The error says whether the plugin or the row is at fault.
fn sample_of(text: &SampleText, preprocessor: &str) -> Result<Arc<Sample>, Rejection> {
    Sample::from_text(text.as_str()).map_err(|problems| {
        // Invalid JSON is the plugin's fault, not the row's.
        if let Err(error) = text.parse() {
            return Rejection::of_plugin(preprocessor, error);
        }
        let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let message = format!("{message} (in the Sample that {preprocessor} made)");
        let pointer = problems.into_iter().next().map(|problem| problem.pointer);
        Rejection::of_sample("invalid_sample", message, pointer)
    })
}

fn missing() -> ItemError {
    ItemError {
        outcome: Outcome::PluginError,
        kind: "invalid_result",
        message: "there is no result".to_owned(),
        pointer: None,
    }
}
