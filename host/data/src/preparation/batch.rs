//! Rows that are prepared together: each is a row, a Sample, or rejected.

use super::Prepared;
use crate::rejection::Rejection;
use crate::row::{Place, Row};
use gage_core::{Digest, Outcome, Sample};
use gage_plugin::{Converted, ItemError, Preprocessor, RawRow, SampleText};
use serde_json::Value;

/// Rows on their way to Samples.
pub(super) struct Batch<'f> {
    /// The rows that could be read, which errors show.
    raw: Vec<RawRow>,
    items: Vec<Item>,
    files: &'f [String],
}

struct Item {
    index: u64,
    digest: String,
    number: u64,
    file: usize,
    place: Place,
    /// Where its text is in `raw`.
    raw: usize,
    state: State,
}

enum State {
    /// As it was read.
    Row,
    /// What the preprocessors made of it so far, and the name of the last of them.
    Converted(SampleText, String),
    Sample(Box<Sample>),
    Rejected(Rejection),
}

impl<'f> Batch<'f> {
    pub(super) fn new(rows: Vec<Row>, dataset_id: &str, files: &'f [String]) -> Batch<'f> {
        let mut raw = Vec::with_capacity(rows.len());
        let items = rows.into_iter().map(|row| {
            let place = raw.len();
            let state = match row.body {
                Ok(body) => {
                    raw.push(RawRow { dataset: dataset_id.to_owned(), index: row.number, body });
                    State::Row
                }
                Err(problem) => State::Rejected(Rejection::of_row(problem.message, problem.text)),
            };
            let Row { index, digest, number, file, place: line, .. } = row;
            Item { index, digest, number, file, place: line, raw: place, state }
        });
        let items = items.collect();
        Batch { raw, items, files }
    }

    /// Lets a preprocessor convert what is neither a Sample yet nor rejected.
    pub(super) fn convert(&mut self, preprocessor: &Preprocessor) {
        let is_first = self.items.iter().all(|item| matches!(item.state, State::Row | State::Rejected(_)))
            && self.items.iter().any(|item| matches!(item.state, State::Row));
        self.check_converted();
        let later: Vec<RawRow> = self
            .items
            .iter()
            .filter_map(|item| match &item.state {
                State::Converted(text, _) => {
                    let RawRow { dataset, index, .. } = &self.raw[item.raw];
                    Some(RawRow { dataset: dataset.clone(), index: *index, body: text.as_str().to_owned() })
                }
                State::Row | State::Sample(_) | State::Rejected(_) => None,
            })
            .collect();
        // All are rows at first, and all are converted later.
        let rows = if is_first { &self.raw } else { &later };
        let mut results = preprocessor.convert(rows).into_iter();
        let name = format!("the preprocessor `{}`", preprocessor.name());
        for item in &mut self.items {
            if !matches!(item.state, State::Row | State::Converted(..)) {
                continue;
            }
            let result = results.next().unwrap_or_else(|| Err(missing()));
            item.state = match result {
                Ok(Converted::Sample(text)) => State::Converted(text, name.clone()),
                Ok(Converted::Skipped(reason)) => {
                    rejected(item, self.files, &self.raw, Rejection::skipped(reason))
                }
                Err(error) => rejected(item, self.files, &self.raw, Rejection::of_plugin(&name, error)),
            };
        }
    }

    /// Rejects what a preprocessor returned that is no JSON, before another one is to read it.
    fn check_converted(&mut self) {
        for item in &mut self.items {
            if let State::Converted(text, name) = &item.state
                && let Err(error) = text.parse()
            {
                let rejection = Rejection::of_plugin(name, error);
                item.state = rejected(item, self.files, &self.raw, rejection);
            }
        }
    }

    /// Makes Samples of what the preprocessors returned.
    pub(super) fn validate(&mut self, complete: impl Fn(&mut Sample, u64)) {
        for item in &mut self.items {
            let state = std::mem::replace(&mut item.state, State::Row);
            item.state = match state {
                State::Converted(text, name) => match sample_of(&text, &name) {
                    Ok(mut sample) => {
                        complete(&mut sample, item.number);
                        State::Sample(sample)
                    }
                    Err(rejection) => rejected(item, self.files, &self.raw, rejection),
                },
                other => other,
            };
        }
    }

    /// The Samples that there are, in order.
    pub(super) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.items.iter().filter_map(|item| match &item.state {
            State::Sample(sample) => Some(sample.as_ref()),
            State::Row | State::Converted(..) | State::Rejected(_) => None,
        })
    }

    /// Does something with each Sample, in order; an error rejects it.
    pub(super) fn each(&mut self, mut work: impl FnMut(&mut Sample) -> Result<(), Rejection>) {
        for item in &mut self.items {
            let State::Sample(sample) = &mut item.state else { continue };
            if let Err(rejection) = work(sample) {
                item.state = rejected(item, self.files, &self.raw, rejection);
            }
        }
    }

    pub(super) fn finish<K>(self, keep: &impl Fn(Box<Sample>) -> K) -> Vec<Prepared<K>> {
        let Batch { raw, items, files } = self;
        let finish = |item: Item| {
            let (index, row_digest, number) = (item.index, digest_of(&item), item.number);
            let result = match item.state {
                State::Sample(sample) => Ok(keep(sample)),
                State::Rejected(rejection) => Err(rejection),
                // Without a preprocessor nothing becomes a Sample.
                State::Row | State::Converted(..) => {
                    Err(located(&item, files, &raw, Rejection::of_plugin("no preprocessor", missing())))
                }
            };
            let result = result.map_err(|rejection| Rejection { id: format!("row-{number}"), ..rejection });
            Prepared { index, row_digest, result }
        };
        items.into_iter().map(finish).collect()
    }
}

/// The digest of a row; where its Sample refers to media, theirs are in it, so that a file that was
/// changed shows.
fn digest_of(item: &Item) -> String {
    match &item.state {
        State::Sample(sample) if !sample.media_meta.is_empty() => {
            let media = Value::Object(sample.media_meta.clone());
            Digest::of_bytes(format!("{} {media}", item.digest).as_bytes()).short()
        }
        _ => item.digest.clone(),
    }
}

/// The Sample that a text spells, or whose fault it is that it spells none.
fn sample_of(text: &SampleText, preprocessor: &str) -> Result<Box<Sample>, Rejection> {
    Sample::from_text(text.as_str()).map_err(|problems| {
        // Text that is no JSON at all is the plugin's fault, and not the row's.
        if let Err(error) = text.parse() {
            return Rejection::of_plugin(preprocessor, error);
        }
        let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let message = format!("{message} (in the Sample that {preprocessor} made)");
        let pointer = problems.into_iter().next().map(|problem| problem.pointer);
        Rejection::of_sample("invalid_sample", message, pointer)
    })
}

fn rejected(item: &Item, files: &[String], raw: &[RawRow], rejection: Rejection) -> State {
    State::Rejected(located(item, files, raw, rejection))
}

/// The rejection with the place and the text of its row.
fn located(item: &Item, files: &[String], raw: &[RawRow], rejection: Rejection) -> Rejection {
    let place = match files.get(item.file) {
        Some(file) => format!("{} of {file}", item.place),
        None => item.place.to_string(),
    };
    rejection.at(&place, raw.get(item.raw).map_or("", |row| row.body.as_str()))
}

fn missing() -> ItemError {
    ItemError {
        outcome: Outcome::PluginError,
        kind: "invalid_result",
        message: "there is no result".to_owned(),
        pointer: None,
    }
}
