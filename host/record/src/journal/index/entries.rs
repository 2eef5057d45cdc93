//! Compact index entries for the samples of a task.

use super::IndexedSample;
use gage_core::Outcome;
use std::collections::btree_map::{self, BTreeMap};
use std::slice;

/// Number of samples per page. Their numbers differ only in the lowest bits.
const PAGE: u64 = 64;

/// The samples of a task, by number. They may arrive in any order, but are usually nearly sorted. Pages
/// ensure that inserts move few entries and that growth copies nothing.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pages: BTreeMap<u64, Vec<SampleEntry>>,
    count: usize,
}

/// A sample. The field layout avoids padding, because there is one entry per row. Offsets of lines count from
/// the first byte of the first file; a line ends at its newline.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleEntry {
    row: u64,
    record: u64,
    scores: u64,
    scored_together: u16,
    /// Number of the sample within its page.
    place: u8,
    outcome: Outcome,
    pub(super) state: EntryState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryState {
    /// Finished without needing scores.
    FinishedWithoutScores,
    /// Answered, not yet judged.
    Unjudged,
    /// Answered, not yet scored.
    Awaits,
    /// Answered and scored.
    Scored,
}

impl EntryState {
    /// Returns whether this state is final.
    pub(super) fn has_ended(self) -> bool {
        matches!(self, EntryState::FinishedWithoutScores | EntryState::Scored)
    }
}

/// A line of the journal, reduced to what the index needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePosition {
    pub(super) index: u64,
    pub(super) row: u64,
    pub(super) outcome: Outcome,
    /// The state after this line: `Scored` for a line of scores.
    pub(super) state: EntryState,
    pub(super) scored_together: u32,
    /// Offset of the line's first byte.
    pub(super) offset: u64,
}

impl SampleEntry {
    fn of(line: &LinePosition, place: u8) -> SampleEntry {
        SampleEntry {
            row: line.row,
            record: line.offset,
            scores: 0,
            scored_together: 0,
            place,
            outcome: line.outcome,
            state: line.state,
        }
    }

    /// Returns the position of the record.
    pub(super) fn record(&self) -> u64 {
        self.record
    }

    /// Returns the position of the scores, if there are any.
    pub(super) fn scores(&self) -> u64 {
        self.scores
    }

    pub(super) fn sample(&self) -> IndexedSample {
        let SampleEntry { row, scored_together, outcome, state, .. } = *self;
        IndexedSample { outcome, scored_together, row, state }
    }
}

impl Entries {
    /// Adds the next line of the journal. Returns false if it is invalid: scores must follow an answer for
    /// the same row.
    pub(super) fn add(&mut self, line: &LinePosition) -> bool {
        let (page, place) = place_of(line.index);
        let known = self.pages.entry(page).or_default();
        let position = known.binary_search_by_key(&place, |entry| entry.place);
        let entry = position.ok().and_then(|position| known.get_mut(position));
        match (line.state, entry, position) {
            (EntryState::Scored, Some(entry), _) if entry.row == line.row && entry.sample().is_answered() => {
                entry.scores = line.offset;
                entry.scored_together = u16::try_from(line.scored_together).unwrap_or(u16::MAX);
                entry.outcome = line.outcome;
                entry.state = EntryState::Scored;
            }
            (EntryState::Scored, ..) => return false,
            (_, Some(entry), _) => *entry = SampleEntry::of(line, place),
            (_, None, position) => {
                let (Ok(position) | Err(position)) = position;
                known.insert(position, SampleEntry::of(line, place));
                self.count += 1;
            }
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, index: u64) -> Option<&SampleEntry> {
        let (page, place) = place_of(index);
        let known = self.pages.get(&page)?;
        known.get(known.binary_search_by_key(&place, |entry| entry.place).ok()?)
    }

    /// Iterates over all samples with their numbers, in order.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter { pages: self.pages.iter(), ..Iter::default() }
    }
}

fn place_of(index: u64) -> (u64, u8) {
    // Less than the page size.
    (index / PAGE, (index % PAGE) as u8)
}

/// Iterator over samples in order.
#[derive(Default)]
pub(super) struct Iter<'a> {
    pages: btree_map::Iter<'a, u64, Vec<SampleEntry>>,
    page: u64,
    entries: slice::Iter<'a, SampleEntry>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (u64, &'a SampleEntry);

    fn next(&mut self) -> Option<(u64, &'a SampleEntry)> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some((self.page * PAGE + u64::from(entry.place), entry));
            }
            let (page, entries) = self.pages.next()?;
            (self.page, self.entries) = (*page, entries.iter());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<SampleEntry>(), 32);
    }

    fn line(index: u64, offset: u64, state: EntryState) -> LinePosition {
        LinePosition { index, row: 0, outcome: Outcome::Scored, state, scored_together: 0, offset }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Samples arriving in any order are returned in order, and the last record of each counts.
        #[test]
        fn samples_come_in_their_order(indices in prop::collection::vec(prop_oneof![0_u64..300, any::<u64>()], 0..200)) {
            let (mut entries, mut expected) = (Entries::default(), BTreeMap::new());
            for (offset, index) in (0_u64..).zip(&indices) {
                let has_answer = expected.contains_key(index);
                prop_assert_eq!(entries.add(&line(*index, 1_000 + offset, EntryState::Scored)), has_answer);
                prop_assert!(entries.add(&line(*index, offset, EntryState::Awaits)));
                expected.insert(*index, offset);
            }
            let found: Vec<(u64, u64)> =
                entries.iter().map(|(index, entry)| (index, entry.record())).collect();
            prop_assert_eq!(found, expected.iter().map(|(index, offset)| (*index, *offset)).collect::<Vec<_>>());
            prop_assert_eq!(entries.len(), expected.len());
            for (index, offset) in expected {
                prop_assert_eq!(entries.get(index).map(|entry| entry.record()), Some(offset));
            }
        }
    }
}
