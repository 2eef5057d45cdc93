//! Longest common subsequences of numbered words, 64 columns of the table at a time (Hyyrö,
//! "Bit-parallel LCS-length computation revisited", AWOCA 2004).
//!
//! Only the differences along each row are kept, one bit a column: 0 where the length grows.

use crate::vocabulary::{NumberedText, UNKNOWN};
use std::collections::BTreeMap;

/// How many words of 64 columns [`length`] may go through: two texts of 32,000 words each.
const LARGEST_TABLE: usize = 1 << 24;
/// The same for [`summary_hits`], which keeps the rows of a pair of lines and starts anew for each
/// pair: two lines of 16,000 words each, or some 1,000 lines of 20 words on either side.
const LARGEST_SUMMARY: usize = 1 << 22;

/// How many words of 64 bits a row with a column for each word has.
fn blocks(words: &[u32]) -> usize {
    words.len().div_ceil(64)
}

/// Where each word stands in a row of columns.
struct Columns<'words> {
    words: &'words [u32],
    /// How many words of 64 bits a row has.
    blocks: usize,
    /// The columns of the words, sorted by word and column.
    places: Vec<(u32, u32)>,
    /// The masks of those words that have more columns than a row has blocks; there are at most 64.
    frequent: BTreeMap<u32, Vec<u64>>,
}

impl<'words> Columns<'words> {
    fn new(words: &'words [u32]) -> Columns<'words> {
        let blocks = blocks(words);
        let mut places: Vec<(u32, u32)> = words.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let frequent = places
            .chunk_by(|left, right| left.0 == right.0)
            .filter(|group| group.len() > blocks.max(8))
            .filter_map(|group| {
                let mut mask = vec![0; blocks];
                group.iter().for_each(|(_, column)| set(&mut mask, *column));
                group.first().map(|(word, _)| (*word, mask))
            })
            .collect();
        Columns { words, blocks, places, frequent }
    }

    /// The row above the first: nothing grows in it.
    fn first_row(&self) -> Vec<u64> {
        vec![u64::MAX; self.blocks]
    }

    /// Makes the next row of the table, for a word.
    fn advance(&self, row: &mut [u64], word: u32, scratch: &mut [u64]) {
        if word == UNKNOWN {
            return;
        }
        if let Some(mask) = self.frequent.get(&word) {
            return add(row, mask);
        }
        let start = self.places.partition_point(|(other, _)| *other < word);
        let own = self.places.get(start..).unwrap_or_default();
        let own = own.iter().take_while(|(other, _)| *other == word);
        if own.clone().next().is_none() {
            return;
        }
        own.clone().for_each(|(_, column)| set(scratch, *column));
        add(row, scratch);
        for (_, column) in own {
            if let Some(block) = scratch.get_mut(*column as usize / 64) {
                *block = 0;
            }
        }
    }
}

fn set(mask: &mut [u64], column: u32) {
    if let Some(block) = mask.get_mut(column as usize / 64) {
        *block |= 1 << (column % 64);
    }
}

/// One row of the table from the one above it and the columns that match.
fn add(row: &mut [u64], mask: &[u64]) {
    let mut carry = false;
    for (block, mask) in row.iter_mut().zip(mask) {
        let matching = *block & mask;
        let (sum, overflow) = block.overflowing_add(matching);
        let (sum, further) = sum.overflowing_add(u64::from(carry));
        carry = overflow || further;
        *block = sum | (*block & !mask);
    }
}

/// By how much the length grows in the first columns of a row.
fn growth(row: &[u64], columns: usize) -> u32 {
    let whole = row.iter().take(columns / 64).map(|block| block.count_zeros()).sum::<u32>();
    let rest = row.get(columns / 64).map_or(0, |block| (!block & ((1 << (columns % 64)) - 1)).count_ones());
    whole + rest
}

/// Whether the length grows in a column, counted from 1.
fn grows(row: &[u64], column: usize) -> u32 {
    let place = column.saturating_sub(1);
    row.get(place / 64).map_or(0, |block| u32::from(block >> (place % 64) & 1 == 0))
}

/// The length of the longest common subsequence of a reference and a prediction; `None` where the
/// texts are so long that it would take too much time. Words that both begin or end with are free.
pub fn length(reference: &[u32], prediction: &[u32]) -> Option<u64> {
    let same = |(left, right): &(&u32, &u32)| left == right && **left != UNKNOWN;
    let head = reference.iter().zip(prediction).take_while(same).count();
    let reference = reference.get(head..).unwrap_or_default();
    let prediction = prediction.get(head..).unwrap_or_default();
    let tail = reference.iter().rev().zip(prediction.iter().rev()).take_while(same).count();
    let reference = reference.get(..reference.len() - tail).unwrap_or_default();
    let prediction = prediction.get(..prediction.len() - tail).unwrap_or_default();
    let outer = (head + tail) as u64;
    if reference.is_empty() || prediction.is_empty() {
        return Some(outer);
    }
    if reference.len().saturating_mul(blocks(prediction)) > LARGEST_TABLE {
        return None;
    }
    let columns = Columns::new(prediction);
    let mut row = columns.first_row();
    let mut scratch = vec![0; columns.blocks];
    reference.iter().for_each(|word| columns.advance(&mut row, *word, &mut scratch));
    Some(outer + u64::from(growth(&row, prediction.len())))
}

/// How many words of the lines of a reference are in the union of their longest common subsequences
/// with the lines of a prediction, no word more often than the prediction has it: the hits of
/// ROUGE-L on the level of summaries (Lin, "ROUGE: a package for automatic evaluation of
/// summaries", 2004, section 3.2; the double counting is that of ROUGE 1.5.5). `None` where the texts
/// are too long.
///
/// Of several longest subsequences the one is taken that the `rouge-score` package takes.
pub fn summary_hits(reference: &NumberedText, prediction: &NumberedText) -> Option<u64> {
    let rows = reference.words.len() + reference.lines().count();
    let all_blocks: usize = prediction.lines().map(|line| blocks(line) + 1).sum();
    if rows.saturating_mul(all_blocks) > LARGEST_SUMMARY {
        return None;
    }
    let lines: Vec<Columns<'_>> = prediction.lines().map(Columns::new).collect();
    let mut available = counts(prediction);
    let mut hits = 0;
    let mut in_union = Vec::new();
    let mut table = Vec::new();
    for line in reference.lines() {
        in_union.clear();
        in_union.resize(line.len(), false);
        lines.iter().for_each(|columns| mark_subsequence(line, columns, &mut table, &mut in_union));
        for word in line.iter().zip(&in_union).filter_map(|(word, is_in)| is_in.then_some(*word)) {
            // The reference has every such word as often as it is met here, so only the
            // prediction's can run out.
            if let Some(left @ 1..) = available.get_mut(word as usize) {
                *left -= 1;
                hits += 1;
            }
        }
    }
    Some(hits)
}

/// How often the prediction has each of its words, which are numbered without gaps.
fn counts(prediction: &NumberedText) -> Vec<u32> {
    let mut counts = Vec::new();
    for &word in &prediction.words {
        let place = word as usize;
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
}

/// Marks those words of a line that are in its longest common subsequence with another.
fn mark_subsequence(line: &[u32], columns: &Columns<'_>, table: &mut Vec<u64>, marks: &mut [bool]) {
    let blocks = columns.blocks;
    let mut row = columns.first_row();
    let mut scratch = vec![0; blocks];
    table.clear();
    table.extend_from_slice(&row);
    for word in line {
        columns.advance(&mut row, *word, &mut scratch);
        table.extend_from_slice(&row);
    }
    let row_at = |number: usize| table.get(number * blocks..(number + 1) * blocks).unwrap_or_default();
    // Back from the last corner: `here` is the length up to this row and column, `above` that of
    // the row before.
    let (mut line_end, mut column) = (line.len(), columns.words.len());
    let mut here = growth(row_at(line_end), column);
    let mut above = growth(row_at(line_end.saturating_sub(1)), column);
    while let Some(row_above) = line_end.checked_sub(1).filter(|_| column > 0) {
        if line.get(row_above) == columns.words.get(column - 1) {
            if let Some(mark) = marks.get_mut(row_above) {
                *mark = true;
            }
            here = above - grows(row_at(row_above), column);
            line_end = row_above;
            column -= 1;
            above = growth(row_at(line_end.saturating_sub(1)), column);
        } else if here - grows(row_at(line_end), column) > above {
            here -= grows(row_at(line_end), column);
            above -= grows(row_at(row_above), column);
            column -= 1;
        } else {
            here = above;
            line_end = row_above;
            above = growth(row_at(line_end.saturating_sub(1)), column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The table of the definition.
    fn plain(left: &[u32], right: &[u32]) -> u64 {
        let mut row = vec![0; right.len() + 1];
        for word in left {
            let mut corner = 0;
            for (column, other) in right.iter().enumerate() {
                let above = row[column + 1];
                let same = word == other && *word != UNKNOWN;
                row[column + 1] = if same { corner + 1 } else { row[column].max(above) };
                corner = above;
            }
        }
        row.last().copied().unwrap_or_default()
    }

    #[test]
    fn lengths() {
        for (left, right, expected) in [
            (vec![], vec![1], 0),
            (vec![1, 2, 3], vec![1, 2, 3], 3),
            (vec![1, 2, 3, 4], vec![2, 4, 3], 2),
            (vec![UNKNOWN, 1], vec![1, 0], 1),
        ] {
            assert_eq!(length(&left, &right), Some(expected), "{left:?} {right:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_said() {
        let left: Vec<u32> = (0..40_000).collect();
        let right: Vec<u32> = (0..40_000).rev().collect();
        assert_eq!(length(&left, &right), None);
        assert_eq!(length(&left, &left), Some(40_000));
    }

    proptest! {
        #[test]
        fn lengths_are_those_of_the_table(
            left in prop::collection::vec(0u32..20, 0..300),
            right in prop::collection::vec(0u32..20, 0..300),
        ) {
            let found = length(&left, &right);
            prop_assert_eq!(found, Some(plain(&left, &right)));
            prop_assert_eq!(found, length(&right, &left));
        }

        #[test]
        fn marks_are_as_many_as_the_length(
            left in prop::collection::vec(0u32..9, 1..150),
            right in prop::collection::vec(0u32..9, 1..150),
        ) {
            let mut marks = vec![false; left.len()];
            mark_subsequence(&left, &Columns::new(&right), &mut Vec::new(), &mut marks);
            let marked = marks.iter().filter(|mark| **mark).count() as u64;
            prop_assert_eq!(marked, plain(&left, &right));
        }
    }
}
