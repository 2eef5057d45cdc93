//! Reads records into samples: the repeats of a sample are averaged before it counts.

use super::measure::Measure;
use super::plan::PlannedMeasure;
use super::tags::MAX_TAGS;
use super::unscored::UnscoredReason;
use gage_core::{ListedForm, OTHER_LABEL, Outcome, ScoreCard, canonical_json};
use gage_figures::{CompensatedSum, RecordedRun};
use gage_record::SampleRecord;
use serde_json::Value;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Largest magnitude of a score that is compared; a trillion of its squares still sum within the range of `f64`.
pub(super) const MAX_SCORE: f64 = 1e100;

/// Content by which two samples with the same id are recognised as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentBy {
    /// The digest of the row, as kept in journals.
    Row,
    /// The Sample as it was asked, for runs with only `samples.jsonl`.
    Sample,
}

impl ContentBy {
    /// Returns [`ContentBy::Row`] if every run keeps row digests, otherwise [`ContentBy::Sample`].
    pub fn of_runs<'r>(runs: impl IntoIterator<Item = &'r RecordedRun>) -> ContentBy {
        match runs.into_iter().all(RecordedRun::has_row_digests) {
            true => ContentBy::Row,
            false => ContentBy::Sample,
        }
    }

    /// Returns a hash of the content that a sample was made from.
    pub fn of(self, record: &SampleRecord) -> u64 {
        match self {
            ContentBy::Row => hash(&record.row_digest),
            ContentBy::Sample => content_of(record),
        }
    }
}

/// A sample, with the mean of its scored repeats under each measure.
#[derive(Clone, Debug)]
pub(super) struct ReadSample {
    pub(super) sample_id: String,
    pub(super) id_hash: u64,
    pub(super) content: u64,
    pub(super) values: Vec<ReadValue>,
}

/// One measure of a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadValue {
    /// NaN if no repeat was scored.
    pub(super) score: f64,
    /// Reason why the last unscored repeat has no score.
    pub(super) end: UnscoredReason,
    pub(super) is_not_finite: bool,
    /// True if a score is beyond ±[`MAX_SCORE`].
    pub(super) is_too_large: bool,
    /// Error tags of all repeats, without duplicates.
    pub(super) tags: Vec<String>,
    /// The same tags, to find them.
    known_tags: HashSet<String>,
    sum: CompensatedSum,
    scored: u32,
}

/// Collects the repeats of each sample, which are adjacent in the records.
pub(super) struct SampleReader<'m> {
    measures: &'m [PlannedMeasure],
    repeat: u64,
    content: ContentBy,
    current: Option<(u64, ReadSample)>,
}

impl<'m> SampleReader<'m> {
    pub(super) fn new(measures: &'m [PlannedMeasure], repeat: u64, content: ContentBy) -> SampleReader<'m> {
        SampleReader { measures, repeat: repeat.max(1), content, current: None }
    }

    /// Adds a record; returns the previous sample if the record begins a new one.
    pub(super) fn add(&mut self, record: &SampleRecord) -> Option<ReadSample> {
        let number = record.index / self.repeat;
        let before = match &self.current {
            Some((current, _)) if *current == number => None,
            _ => self.current.replace((number, self.begin(record))),
        };
        if let Some((_, sample)) = &mut self.current {
            for (value, planned) in sample.values.iter_mut().zip(self.measures) {
                value.add(record, &planned.measure);
            }
        }
        before.map(|(_, sample)| sample.averaged())
    }

    /// Returns the last sample.
    pub(super) fn finish(&mut self) -> Option<ReadSample> {
        self.current.take().map(|(_, sample)| sample.averaged())
    }

    fn begin(&self, record: &SampleRecord) -> ReadSample {
        ReadSample {
            sample_id: record.sample_id.clone(),
            id_hash: hash(&record.sample_id),
            content: self.content.of(record),
            values: vec![ReadValue::default(); self.measures.len()],
        }
    }
}

impl ReadSample {
    fn averaged(mut self) -> ReadSample {
        for value in &mut self.values {
            value.score = match value.scored {
                0 => f64::NAN,
                // Independent of the order of the repeats; otherwise equal scores would differ by rounding.
                count => value.sum.divided_by(f64::from(count)),
            };
        }
        self
    }
}

impl ReadValue {
    fn add_tag(&mut self, tag: &str) {
        let is_known = self.tags.len() < MAX_TAGS || self.known_tags.contains(tag);
        let tag = if is_known { tag } else { OTHER_LABEL };
        if !self.known_tags.contains(tag) {
            self.known_tags.insert(tag.to_owned());
            self.tags.push(tag.to_owned());
        }
    }

    fn add(&mut self, record: &SampleRecord, measure: &Measure) {
        let Some(result) = record.metrics.iter().find(|result| result.metric_id == measure.metric_id) else {
            // The sample was scored, but not by this metric.
            self.end = match record.outcome {
                Outcome::Scored => UnscoredReason::NoResult,
                outcome => UnscoredReason::Ended(outcome),
            };
            return;
        };
        let card = result.card.as_ref().filter(|_| result.outcome == Outcome::Scored);
        for tag in card.iter().flat_map(|card| &card.error_tags) {
            self.add_tag(tag);
        }
        match card.and_then(|card| number_of(card, measure)) {
            Some(score) if score.abs() <= MAX_SCORE => {
                self.sum.add(score);
                self.scored += 1;
            }
            Some(score) => {
                self.is_too_large |= score.is_finite();
                self.is_not_finite |= !score.is_finite();
                self.end =
                    if score.is_finite() { UnscoredReason::TooLarge } else { UnscoredReason::NotFinite };
            }
            None => {
                self.end = match (result.outcome, measure) {
                    (Outcome::Scored, Measure { sub_score: Some(_), .. }) => UnscoredReason::NoSubScore,
                    (Outcome::Scored, Measure { is_pass: true, .. }) => UnscoredReason::NullPass,
                    (Outcome::Scored, _) => UnscoredReason::NullScore,
                    (outcome, _) => UnscoredReason::Ended(outcome),
                }
            }
        }
    }
}

fn number_of(card: &ScoreCard, measure: &Measure) -> Option<f64> {
    match &measure.sub_score {
        Some(name) => match card.sub_scores.get(name)? {
            Value::Bool(flag) => Some(f64::from(*flag)),
            value => value.as_f64(),
        },
        None if measure.is_pass => card.pass.map(f64::from),
        None => card.primary_score,
    }
}

/// Hashes the Sample as `samples.jsonl` lists it, without its origin, or the beginning of a row that did not become a
/// Sample.
fn content_of(record: &SampleRecord) -> u64 {
    let listed = ListedForm { sample: (&record.sample).into(), index: record.index };
    match (serde_json::to_value(listed).unwrap_or_default(), &record.row) {
        (Value::Object(mut sample), _) => {
            sample.shift_remove("_dataset_metadata");
            hash(&canonical_json(&Value::Object(sample)))
        }
        (_, Some(row)) => hash(row),
        (value, None) => hash(&value.to_string()),
    }
}

fn hash(text: &str) -> u64 {
    // Uses fixed keys, unlike the hasher of a hash map.
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_tags_of_a_sample_are_counted_together() {
        let mut value = ReadValue::default();
        (0..MAX_TAGS + 10).chain([0]).for_each(|tag| value.add_tag(&format!("tag-{tag}")));
        assert_eq!(value.tags.len(), MAX_TAGS + 1);
        assert_eq!(value.tags.last().map(String::as_str), Some(OTHER_LABEL));
    }
}
