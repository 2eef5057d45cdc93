//! The Levenshtein distance, 64 rows of the table at a time.
//!
//! The rows of the dynamic programme are kept as the differences of neighbouring cells, one bit for
//! each sign, after G. Myers, "A fast bit-vector algorithm for approximate string matching based on
//! dynamic programming" (JACM 46, 1999), in the form for the distance of whole texts and for patterns
//! of any length of H. Hyyrö, "Explaining and extending the bit-parallel approximate string matching
//! algorithm of Myers" (2001). A block of 64 rows runs over all columns before the next one
//! begins, so that only its own letters need a table.

/// The least number of characters to insert, delete or replace that turns one text into the
/// other. Takes time in proportion to the product of their lengths, divided by 64.
pub fn levenshtein_distance(left: &str, right: &str) -> usize {
    levenshtein_within(left, right, usize::MAX).unwrap_or_default()
}

/// The same, or `None` where it is larger than `most`: texts that are far apart are given up early.
pub fn levenshtein_within(left: &str, right: &str, most: usize) -> Option<usize> {
    if left.is_ascii() && right.is_ascii() {
        return within(left.as_bytes(), right.as_bytes(), most);
    }
    let [left, right] = [left, right].map(|text| text.chars().collect::<Vec<char>>());
    within(&left, &right, most)
}

/// What texts are made of.
trait Symbol: Copy + Eq {
    fn code(self) -> u32;
}

impl Symbol for u8 {
    fn code(self) -> u32 {
        self.into()
    }
}

impl Symbol for char {
    fn code(self) -> u32 {
        self.into()
    }
}

fn within<S: Symbol>(left: &[S], right: &[S], most: usize) -> Option<usize> {
    let (left, right) = without_shared_ends(left, right);
    // The shorter text gives the rows: fewer blocks.
    let (rows, columns) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if columns.len() - rows.len() > most {
        return None;
    }
    if rows.is_empty() {
        return Some(columns.len());
    }
    let mut carries = vec![Carry::UP; columns.len()];
    let mut letters = Letters::default();
    let mut rows_done = 0;
    let mut distance = columns.len();
    for block in rows.chunks(64) {
        letters.set(block);
        run_block(&letters, block.len(), columns, &mut carries);
        rows_done += block.len();
        let (last, least) = bounds(&carries, rows_done, rows.len());
        if least > most {
            return None;
        }
        distance = last;
    }
    Some(distance)
}

/// Both without the beginning and the end that they share, which change nothing.
fn without_shared_ends<'text, S: Symbol>(left: &'text [S], right: &'text [S]) -> (&'text [S], &'text [S]) {
    let start = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let (left, right) = (&left[start..], &right[start..]);
    let end = left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right).count();
    (&left[..left.len() - end], &right[..right.len() - end])
}

/// The difference of a cell in the last row of a block to the one before it: up, down, or neither.
#[derive(Clone, Copy)]
struct Carry {
    up: bool,
    down: bool,
}

impl Carry {
    /// The row before the first one grows by one with each column.
    const UP: Carry = Carry { up: true, down: false };
}

/// Takes the differences in the row above a block, and leaves those in its last row.
fn run_block<S: Symbol>(letters: &Letters, height: usize, columns: &[S], carries: &mut [Carry]) {
    let last_row = height - 1;
    let (mut grows, mut shrinks) = (u64::MAX, 0_u64);
    for (symbol, carry) in columns.iter().zip(carries) {
        let (up_in, down_in) = (u64::from(carry.up), u64::from(carry.down));
        let mut equal = letters.rows(symbol.code());
        let vertical = equal | shrinks;
        equal |= down_in;
        let diagonal = ((equal & grows).wrapping_add(grows) ^ grows) | equal;
        let up = shrinks | !(diagonal | grows);
        let down = grows & diagonal;
        *carry = Carry { up: (up >> last_row) & 1 == 1, down: (down >> last_row) & 1 == 1 };
        let (up, down) = ((up << 1) | up_in, (down << 1) | down_in);
        grows = down | !(vertical | up);
        shrinks = up & vertical;
    }
}

/// The last cell of a row, and the least that the distance can still be: from each cell it takes at
/// least as many steps as rows and columns that are left differ.
fn bounds(carries: &[Carry], rows_done: usize, rows: usize) -> (usize, usize) {
    let rows_left = rows - rows_done;
    let mut cell = rows_done;
    let mut least = cell + rows_left.abs_diff(carries.len());
    for (column, carry) in carries.iter().enumerate() {
        // The cell is at least 1 where it shrinks.
        cell = cell + usize::from(carry.up) - usize::from(carry.down);
        least = least.min(cell + rows_left.abs_diff(carries.len() - column - 1));
    }
    (cell, least)
}

/// In which rows of a block each letter stands.
struct Letters {
    ascii: [u64; 128],
    /// The rest, by letter.
    others: Vec<(u32, u64)>,
}

impl Default for Letters {
    fn default() -> Letters {
        Letters { ascii: [0; 128], others: Vec::new() }
    }
}

impl Letters {
    fn set<S: Symbol>(&mut self, block: &[S]) {
        self.ascii.fill(0);
        self.others.clear();
        for (row, symbol) in block.iter().enumerate() {
            let code = symbol.code();
            match self.ascii.get_mut(code as usize) {
                Some(rows) => *rows |= 1 << row,
                None => match self.others.binary_search_by_key(&code, |(letter, _)| *letter) {
                    Ok(at) => self.others[at].1 |= 1 << row,
                    Err(at) => self.others.insert(at, (code, 1 << row)),
                },
            }
        }
    }

    fn rows(&self, code: u32) -> u64 {
        if let Some(rows) = self.ascii.get(code as usize) {
            return *rows;
        }
        let found = self.others.binary_search_by_key(&code, |(letter, _)| *letter);
        found.map_or(0, |at| self.others[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook table (R. Wagner, M. Fischer, 1974), row by row.
    fn by_table(left: &str, right: &str) -> usize {
        let right: Vec<char> = right.chars().collect();
        let mut row: Vec<usize> = (0..=right.len()).collect();
        for (index, left) in left.chars().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], index + 1);
            for (column, right) in right.iter().enumerate() {
                let replaced = diagonal + usize::from(left != *right);
                diagonal = row[column + 1];
                row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
            }
        }
        row[right.len()]
    }

    #[test]
    fn distances() {
        for (left, right, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("北京", "东京", 1),
            ("👨‍👩‍👧", "👨‍👩‍👦", 1),
            ("ab", "ba", 2),
            ("intention", "execution", 5),
            (" a", "a ", 2),
            ("e\u{301}", "\u{e9}", 2),
        ] {
            assert_eq!(levenshtein_distance(left, right), expected, "{left:?} {right:?}");
        }
    }

    /// Texts of few letters, so that much of them is alike; the same on every run.
    fn some_texts(letters: &[char]) -> Vec<String> {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let lengths = [0, 1, 2, 7, 31, 62, 63, 64, 65, 66, 100, 127, 128, 129, 130, 191, 193, 200];
        lengths.iter().map(|length| (0..*length).map(|_| letters[next(letters.len())]).collect()).collect()
    }

    #[test]
    fn blocks_give_what_the_table_gives() {
        for letters in [&['a', 'b', 'c'][..], &['a', '是', 'é', '😀', 'b']] {
            let texts = some_texts(letters);
            for left in &texts {
                for right in &texts {
                    let expected = by_table(left, right);
                    assert_eq!(levenshtein_distance(left, right), expected, "{left:?} {right:?}");
                    for most in [0, expected.saturating_sub(1), expected, expected + 1, 50] {
                        let found = levenshtein_within(left, right, most);
                        assert_eq!(
                            found,
                            (expected <= most).then_some(expected),
                            "{left:?} {right:?} {most}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_far_shorter_text_is_given_up_at_once() {
        let long = "a".repeat(1 << 20);
        assert_eq!(levenshtein_within(&long, "b", 1000), None);
        assert_eq!(levenshtein_within(&long, &long, 0), Some(0));
        assert_eq!(levenshtein_distance(&long, ""), 1 << 20);
    }
}
