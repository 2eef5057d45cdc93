//! Longest common subsequences of numbered words, 64 columns of the table at a time (Hyyrö,
//! "Bit-parallel LCS-length computation revisited", AWOCA 2004).
//!
//! Only the differences along each row are kept, one bit per column: 0 if the length grows.
//!
//! The crate `rapidfuzz` gives only the length of a subsequence. ROUGE-L of summaries also needs its words, and both
//! need a limit on the work for an item.

use crate::vocabulary::{NumberedText, UNKNOWN};

/// Maximum length of the shorter text in words, counting those that the other text has too.
const MAX_WORDS: usize = 1 << 17;

/// Work limit of an item over all of its references, so that it finishes within its budget.
#[derive(Debug)]
pub struct Work {
    /// Remaining number of 64-column blocks for [`length`]: the blocks that have a word, for each occurrence in the
    /// reference.
    table: usize,
    /// Remaining blocks for [`summary_hits`], which keeps the rows of a pair of lines and starts over for each pair.
    summary: usize,
}

impl Work {
    /// Limit for one item. It suffices for any two texts of 16,000 words each, and for longer ones if most words are
    /// rare. It also suffices for two lines of 11,000 words each, or some 200 lines of 20 words on either side.
    pub const OF_AN_ITEM: Work = Work { table: 4 << 20, summary: 2 << 20 };

    /// Takes `work` off the remaining amount. Returns whether enough was left.
    fn take(left: &mut usize, work: usize) -> bool {
        let rest = left.checked_sub(work);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }
}

/// Returns the number of 64-bit words in a row with one column per word.
fn blocks(words: &[u32]) -> usize {
    words.len().div_ceil(64)
}

/// Columns of a word in one block of a row.
struct Entry {
    word: u32,
    block: usize,
    mask: u64,
}

/// Positions of each word in a row of columns.
struct Columns<'words> {
    words: &'words [u32],
    /// Number of 64-bit words in a row.
    blocks: usize,
    /// Entries sorted by word and block.
    entries: Vec<Entry>,
}

/// A row of the table, with a bit for each column in which the length does not grow.
struct Row {
    blocks: Vec<u64>,
    /// Blocks from this index on are unchanged: nothing grows in them.
    used: usize,
}

impl<'words> Columns<'words> {
    fn new(words: &'words [u32]) -> Columns<'words> {
        let mut places: Vec<(u32, u32)> = words.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let mut entries: Vec<Entry> = Vec::new();
        for (word, column) in places {
            let (block, bit) = (column as usize / 64, 1 << (column % 64));
            match entries.last_mut() {
                Some(last) if last.word == word && last.block == block => last.mask |= bit,
                _ => entries.push(Entry { word, block, mask: bit }),
            }
        }
        Columns { words, blocks: blocks(words), entries }
    }

    /// Returns the row above the first, in which nothing grows.
    fn first_row(&self) -> Row {
        Row { blocks: vec![u64::MAX; self.blocks], used: 0 }
    }

    fn entries_of(&self, word: u32) -> &[Entry] {
        if word == UNKNOWN {
            return &[];
        }
        let start = self.entries.partition_point(|entry| entry.word < word);
        let from = self.entries.get(start..).unwrap_or_default();
        let end = from.iter().position(|entry| entry.word != word).unwrap_or(from.len());
        from.get(..end).unwrap_or_default()
    }

    /// Returns the number of blocks with columns for the words of a line, counting repeated words each time.
    fn work_of(&self, line: &[u32]) -> usize {
        let mut counts = Vec::new();
        for entry in &self.entries {
            let word = entry.word as usize;
            if counts.len() <= word {
                counts.resize(word + 1, 0);
            }
            if let Some(count) = counts.get_mut(word) {
                *count += 1;
            }
        }
        line.iter().filter_map(|word| counts.get(*word as usize)).sum()
    }

    /// Turns a row into the next one, for a word. Returns the number of blocks without columns of the word that it
    /// passed.
    fn advance(&self, row: &mut Row, word: u32) -> usize {
        let Row { blocks, used } = row;
        let (mut next, mut carry, mut passed) = (0, false, 0);
        let mut pass = |blocks: &mut [u64], next: &mut usize, carry: &mut bool, end: usize| {
            while let Some(block) = blocks.get_mut(*next).filter(|_| *carry && *next < end) {
                *carry = add(block, 0, *carry);
                *next += 1;
                passed += 1;
            }
        };
        for entry in self.entries_of(word) {
            // The carry passes unchanged through blocks in which nothing grows.
            pass(blocks, &mut next, &mut carry, entry.block.min(*used));
            if let Some(block) = blocks.get_mut(entry.block) {
                carry = add(block, entry.mask, carry);
            }
            next = entry.block + 1;
            *used = next.max(*used);
        }
        pass(blocks, &mut next, &mut carry, *used);
        passed
    }
}

/// Computes a block of a row from the one above it, the matching columns and the carry. Returns whether there is a
/// carry out.
fn add(block: &mut u64, mask: u64, carry: bool) -> bool {
    let (sum, overflow) = block.overflowing_add(*block & mask);
    let (sum, further) = sum.overflowing_add(u64::from(carry));
    *block = sum | (*block & !mask);
    overflow || further
}

/// Returns the growth of the length over the first columns of a row.
fn growth(row: &[u64], columns: usize) -> u32 {
    let whole = row.iter().take(columns / 64).map(|block| block.count_zeros()).sum::<u32>();
    let rest = row.get(columns / 64).map_or(0, |block| (!block & ((1 << (columns % 64)) - 1)).count_ones());
    whole + rest
}

/// Returns whether the length grows in a column, counted from 1.
fn grows(row: &[u64], column: usize) -> u32 {
    let place = column.saturating_sub(1);
    row.get(place / 64).map_or(0, |block| u32::from(block >> (place % 64) & 1 == 0))
}

/// Returns the length of the longest common subsequence of a reference and a prediction. `None` if the texts are so
/// long that this would take more work than is left. Words in a common prefix or suffix cost nothing.
pub fn length(reference: &[u32], prediction: &[u32], work: &mut Work) -> Option<u64> {
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
    // Words that the other text lacks are in no common subsequence.
    let reference: Vec<u32> = reference.iter().copied().filter(|word| *word != UNKNOWN).collect();
    let prediction = common(prediction, &reference);
    let (rows, columns) = match prediction.len() > MAX_WORDS && reference.len() < prediction.len() {
        true => (prediction, reference),
        false => (reference, prediction),
    };
    if columns.len() > MAX_WORDS {
        return None;
    }
    let columns = Columns::new(&columns);
    if !Work::take(&mut work.table, columns.work_of(&rows)) {
        return None;
    }
    let mut row = columns.first_row();
    for word in rows {
        let passed = columns.advance(&mut row, word);
        if !Work::take(&mut work.table, passed) {
            return None;
        }
    }
    Some(outer + u64::from(growth(&row.blocks, columns.words.len())))
}

/// Returns the words that also occur in `others`, whose words are numbered without gaps.
fn common(words: &[u32], others: &[u32]) -> Vec<u32> {
    let most = others.iter().copied().max().map_or(0, |most| most as usize + 1);
    let mut is_there = vec![false; most];
    for other in others {
        if let Some(place) = is_there.get_mut(*other as usize) {
            *place = true;
        }
    }
    words.iter().copied().filter(|word| is_there.get(*word as usize) == Some(&true)).collect()
}

/// Returns the hits of summary-level ROUGE-L. This is the number of reference words in the union of the longest common
/// subsequences of a reference line with the lines of a prediction. No word counts more often than the prediction has
/// it.
///
/// Lin, "ROUGE: a package for automatic evaluation of summaries", 2004, section 3.2; the double counting follows ROUGE
/// 1.5.5. If there are several longest subsequences, the one that the `rouge-score` package picks counts. `None` if the
/// texts are so long that this would take more work than is left.
pub fn summary_hits(reference: &NumberedText, prediction: &NumberedText, work: &mut Work) -> Option<u64> {
    let rows = reference.words.len() + reference.lines().count();
    let all_blocks: usize = prediction.lines().map(|line| blocks(line) + 1).sum();
    // A line takes work before any word is compared.
    let preparation = 8 * prediction.lines().count();
    if !Work::take(&mut work.summary, rows.saturating_mul(all_blocks).saturating_add(preparation)) {
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
            // The reference has every such word as often as it occurs here, so only the prediction can run out.
            if let Some(left @ 1..) = available.get_mut(word as usize) {
                *left -= 1;
                hits += 1;
            }
        }
    }
    Some(hits)
}

/// Returns the number of occurrences of each word in the prediction, whose words are numbered without gaps.
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

/// Marks the words of a line that are in its longest common subsequence with another line.
fn mark_subsequence(line: &[u32], columns: &Columns<'_>, table: &mut Vec<u64>, marks: &mut [bool]) {
    let blocks = columns.blocks;
    let mut row = columns.first_row();
    table.clear();
    table.extend_from_slice(&row.blocks);
    for word in line {
        columns.advance(&mut row, *word);
        table.extend_from_slice(&row.blocks);
    }
    let row_at = |number: usize| table.get(number * blocks..(number + 1) * blocks).unwrap_or_default();
    // Walks back from the last corner: `here` is the length up to this row and column, `above` the length in the row
    // before.
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

    /// Computes the table by its definition.
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
            let found = length(&left, &right, &mut { Work::OF_AN_ITEM });
            assert_eq!(found, Some(expected), "{left:?} {right:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_said() {
        let left: Vec<u32> = (0..40_000).map(|place| place % 5).collect();
        let right: Vec<u32> = (0..40_000).map(|place| place % 7 % 5).collect();
        let mut work = Work::OF_AN_ITEM;
        assert_eq!(length(&left, &right, &mut work), None);
        assert_eq!(length(&left, &left, &mut work), Some(40_000));
        // Several references share one work limit.
        let (left, right) = (&left[1..14_000], &right[..14_000]);
        let lengths = [(); 3].map(|()| length(left, right, &mut work).is_some());
        assert_eq!(lengths, [true, false, false]);
    }

    #[test]
    fn rare_words_are_cheap() {
        let left: Vec<u32> = (0..100_000).collect();
        let right: Vec<u32> = (0..100_000).map(|place| place ^ 1).collect();
        assert_eq!(length(&left, &right, &mut { Work::OF_AN_ITEM }), Some(50_000));
        let reversed: Vec<u32> = left.iter().rev().copied().collect();
        assert_eq!(length(&left, &reversed, &mut { Work::OF_AN_ITEM }), Some(1));
    }

    proptest! {
        #[test]
        fn lengths_are_those_of_the_table(
            left in prop::collection::vec(0u32..20, 0..300),
            right in prop::collection::vec(0u32..20, 0..300),
        ) {
            let mut work = Work::OF_AN_ITEM;
            let found = length(&left, &right, &mut work);
            prop_assert_eq!(found, Some(plain(&left, &right)));
            prop_assert_eq!(found, length(&right, &left, &mut work));
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
