//! Pairs the samples of two runs that have the same task, id and content. A pair takes eighteen bytes per
//! metric plus about fifty bytes, regardless of the size of the samples.

use super::measure::{Measure, RunSide};
use super::reading::ReadSample;
use super::result::{Flip, TaskPairing};
use super::tags::{TagCounts, TagGroup};
use super::unscored::UnscoredReason;
use gage_figures::SliceMembership;
use std::collections::{BTreeMap, HashMap};

/// The scores of one run under one measure, by sample number.
#[derive(Debug, Default)]
pub(super) struct RunScores {
    /// Score of each sample; NaN if there is none.
    pub(super) scores: Vec<f64>,
    /// Reason why a score is missing.
    ends: Vec<UnscoredReason>,
}

impl RunScores {
    fn set(&mut self, number: usize, score: f64, end: UnscoredReason) {
        if self.scores.len() <= number {
            self.scores.resize(number + 1, f64::NAN);
            self.ends.resize(number + 1, UnscoredReason::NoResult);
        }
        if let (Some(place), Some(ended)) = (self.scores.get_mut(number), self.ends.get_mut(number)) {
            *place = score;
            *ended = end;
        }
    }

    pub(super) fn score(&self, number: usize) -> Option<f64> {
        self.scores.get(number).copied().filter(|score| !score.is_nan())
    }

    /// Counts the samples without a score, by reason.
    pub(super) fn unscored(&self, samples: impl Iterator<Item = usize>) -> BTreeMap<UnscoredReason, u64> {
        let mut ends = BTreeMap::new();
        for number in samples.filter(|number| self.score(*number).is_none()) {
            *ends.entry(self.ends.get(number).copied().unwrap_or_default()).or_default() += 1;
        }
        ends
    }
}

/// One measure of a task, in both runs.
#[derive(Debug, Default)]
pub(super) struct PairedColumn {
    pub(super) base: RunScores,
    pub(super) new: RunScores,
    pub(super) not_finite: u64,
    pub(super) too_large: u64,
    pub(super) tags: TagCounts,
    /// Sample number, gain and flip, the worst first.
    flips: Vec<(usize, f64, Flip)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairState {
    OnlyInBase,
    OnlyInNew,
    Paired,
    OtherContent,
    Duplicate,
}

/// The samples of a task in both runs.
#[derive(Debug, Default)]
pub(super) struct PairedTask {
    pub(super) task_id: String,
    pub(super) measures: Vec<Measure>,
    pub(super) columns: Vec<PairedColumn>,
    /// The cluster of each sample.
    pub(super) clusters: Vec<u64>,
    /// Pairs of slice and sample, for each path.
    pub(super) slices: Vec<Vec<(u32, u32)>>,
    numbers: HashMap<u64, u32>,
    /// Content hash and pairing state of each sample.
    rows: Vec<(u64, PairState)>,
    max_flips: usize,
    not_reached: u64,
}

impl PairedTask {
    pub(super) fn new(task_id: &str, measures: Vec<Measure>, paths: usize, max_flips: usize) -> PairedTask {
        PairedTask {
            task_id: task_id.to_owned(),
            columns: measures.iter().map(|_| PairedColumn::default()).collect(),
            measures,
            slices: vec![Vec::new(); paths],
            max_flips,
            ..PairedTask::default()
        }
    }

    /// Sets the planned number of samples; those that neither run has are counted as not reached.
    pub(super) fn expect(&mut self, samples: u64) {
        self.not_reached = samples.saturating_sub(self.rows.len() as u64);
    }

    /// Adds a sample of a run; for the new run, also its cluster and slices. All samples of the baseline must be added
    /// before those of the new run.
    pub(super) fn add(&mut self, side: RunSide, sample: &ReadSample, membership: &SliceMembership) {
        let group = match side {
            RunSide::Base => TagGroup::Base,
            RunSide::New => TagGroup::New,
        };
        for (column, value) in self.columns.iter_mut().zip(&sample.values) {
            column.not_finite += u64::from(value.is_not_finite);
            column.too_large += u64::from(value.is_too_large);
            column.tags.add(&value.tags, group);
        }
        match side {
            RunSide::Base => self.add_base(sample),
            RunSide::New => self.add_new(sample, membership),
        }
    }

    fn add_base(&mut self, sample: &ReadSample) {
        match self.number_of(sample, PairState::OnlyInBase) {
            Some((number, true)) => self.set_scores(RunSide::Base, number, sample),
            Some((number, false)) => self.set_state(number, PairState::Duplicate),
            None => {}
        }
    }

    fn add_new(&mut self, sample: &ReadSample, membership: &SliceMembership) {
        let Some((number, false)) = self.number_of(sample, PairState::OnlyInNew) else { return };
        match self.rows.get(number) {
            Some((content, PairState::OnlyInBase)) if *content == sample.content => {
                self.set_state(number, PairState::Paired);
            }
            Some((_, PairState::OnlyInBase)) => return self.set_state(number, PairState::OtherContent),
            Some(_) => {
                self.set_state(number, PairState::Duplicate);
                self.columns.iter_mut().for_each(|column| column.flips.retain(|(of, ..)| *of != number));
                return;
            }
            None => return,
        }
        self.set_scores(RunSide::New, number, sample);
        if self.clusters.len() <= number {
            self.clusters.resize(number + 1, 0);
        }
        if let Some(known) = self.clusters.get_mut(number) {
            *known = membership.cluster;
        }
        for (path, found) in self.slices.iter_mut().zip(&membership.slices) {
            let pairs = found
                .iter()
                .filter_map(|slice| Some((u32::try_from(*slice).ok()?, u32::try_from(number).ok()?)));
            path.extend(pairs);
        }
        self.note_flips(number, sample);
    }

    fn set_scores(&mut self, side: RunSide, number: usize, sample: &ReadSample) {
        for (column, value) in self.columns.iter_mut().zip(&sample.values) {
            let scores = match side {
                RunSide::Base => &mut column.base,
                RunSide::New => &mut column.new,
            };
            scores.set(number, value.score, value.end);
        }
    }

    /// Returns the number of a sample by its id, and whether it is the first with that id. `None` beyond four
    /// billion samples.
    fn number_of(&mut self, sample: &ReadSample, state: PairState) -> Option<(usize, bool)> {
        if let Some(number) = self.numbers.get(&sample.id_hash) {
            return Some((*number as usize, false));
        }
        let number = self.rows.len();
        self.numbers.insert(sample.id_hash, u32::try_from(number).ok()?);
        self.rows.push((sample.content, state));
        Some((number, true))
    }

    fn set_state(&mut self, number: usize, state: PairState) {
        if let Some(row) = self.rows.get_mut(number) {
            row.1 = state;
        }
    }

    /// Notes the sample's flip if it is among the worst.
    fn note_flips(&mut self, number: usize, sample: &ReadSample) {
        for ((column, measure), value) in self.columns.iter_mut().zip(&self.measures).zip(&sample.values) {
            let (Some(base), Some(new)) = (column.base.score(number), column.new.score(number)) else {
                continue;
            };
            let gain = measure.gain(base, new);
            if gain >= 0.0 {
                continue;
            }
            column.tags.add(&value.tags, TagGroup::Worse);
            let place = column.flips.partition_point(|(_, other, _)| *other <= gain);
            if place < self.max_flips {
                let flip =
                    Flip { sample_id: sample.sample_id.clone(), base, new, error_tags: value.tags.clone() };
                column.flips.insert(place, (number, gain, flip));
                column.flips.truncate(self.max_flips);
            }
        }
    }

    /// Returns the numbers of the samples that have a partner.
    pub(super) fn paired(&self) -> impl Iterator<Item = usize> {
        self.rows
            .iter()
            .enumerate()
            .filter(|(_, (_, state))| *state == PairState::Paired)
            .map(|(number, _)| number)
    }

    pub(super) fn is_paired(&self, number: usize) -> bool {
        self.rows.get(number).is_some_and(|(_, state)| *state == PairState::Paired)
    }

    pub(super) fn counts(&self) -> TaskPairing {
        let count = |wanted: PairState| self.rows.iter().filter(|(_, state)| *state == wanted).count() as u64;
        TaskPairing {
            task_id: self.task_id.clone(),
            total: self.rows.len() as u64 + self.not_reached,
            not_reached: self.not_reached,
            paired: count(PairState::Paired),
            only_in_base: count(PairState::OnlyInBase),
            only_in_new: count(PairState::OnlyInNew),
            different_content: count(PairState::OtherContent),
            duplicate_ids: count(PairState::Duplicate),
        }
    }
}

impl PairedColumn {
    /// Returns the samples that became worse by the most, the worst first.
    pub(super) fn flips(&self) -> Vec<Flip> {
        self.flips.iter().map(|(_, _, flip)| flip.clone()).collect()
    }
}
