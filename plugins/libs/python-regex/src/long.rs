//! Search in long texts: backtracking starts only at positions where a match can begin.

use crate::required::Offset;
use fancy_regex::{Captures, Error, Regex, RegexInput};
use std::ops::RangeInclusive;

/// Maximum number of starting positions tried one by one for one needle.
const MAX_PLACES: i64 = 64;

/// Text that every match of a pattern contains.
pub(crate) struct Needle {
    regex: Regex,
    offset: Offset,
}

impl Needle {
    pub(crate) fn new(regex: Regex, offset: Offset) -> Needle {
        Needle { regex, offset }
    }

    /// Returns whether a text contains the needle. If that cannot be checked, the answer is yes.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text).unwrap_or(true)
    }

    /// Returns whether the start of a match is known closely enough.
    pub(crate) fn is_near(&self) -> bool {
        self.offset.most.checked_sub(self.offset.least).is_some_and(|places| places < MAX_PLACES)
    }
}

/// The matches of a pattern in a text, in the order of the engine's own iterator.
pub(crate) struct Matches<'r, 'text> {
    regex: &'r Regex,
    needle: &'r Needle,
    text: &'text str,
    /// Range in which a match with the last found needle may begin.
    window: Option<RangeInclusive<usize>>,
    /// Position from which to search for the next needle.
    needle_from: usize,
    /// First position at which the next match may begin.
    from: usize,
    last_end: Option<usize>,
}

impl<'r, 'text> Matches<'r, 'text> {
    pub(crate) fn new(regex: &'r Regex, needle: &'r Needle, text: &'text str) -> Matches<'r, 'text> {
        Matches { regex, needle, text, window: None, needle_from: 0, from: 0, last_end: None }
    }

    /// Returns the next match.
    ///
    /// # Errors
    /// If the search takes too many steps.
    pub(crate) fn find_next(&mut self) -> Result<Option<Captures<'text, str>>, Error> {
        while let Some(start) = self.next_start()? {
            let input = RegexInput::new(self.text).from_pos(start).anchored(true);
            let Some(captures) = self.regex.captures_input(input)? else {
                self.from = shifted(self.text, start, 1);
                continue;
            };
            let end = captures.get(0).map_or(start, |whole| whole.end());
            let is_empty = end == start;
            self.from = if is_empty { shifted(self.text, end, 1) } else { end };
            // An empty match directly after another match does not count.
            if self.last_end.replace(end) != Some(end) || !is_empty {
                return Ok(Some(captures));
            }
        }
        Ok(None)
    }

    /// Returns the first position from `from` on at which a match may begin.
    fn next_start(&mut self) -> Result<Option<usize>, Error> {
        loop {
            if let Some(window) = self.window.as_ref().filter(|window| self.from <= *window.end()) {
                return Ok(Some(self.from.max(*window.start())));
            }
            if self.needle_from > self.text.len() {
                return Ok(None);
            }
            let Some(found) = self.needle.regex.find_from_pos(self.text, self.needle_from)? else {
                self.needle_from = self.text.len() + 1;
                return Ok(None);
            };
            let Offset { least, most } = self.needle.offset;
            let place =
                |offset: i64| shifted(self.text, found.start(), offset.saturating_neg()).min(self.text.len());
            self.window = Some(place(most)..=place(least));
            // Needles may overlap.
            self.needle_from = shifted(self.text, found.start(), 1);
        }
    }
}

/// Returns the position `characters` after another one, or before it if negative. At most one byte past the end of the
/// text.
fn shifted(text: &str, place: usize, characters: i64) -> usize {
    let count = usize::try_from(characters.unsigned_abs()).unwrap_or(usize::MAX);
    let (before, behind) = text.split_at_checked(place).unwrap_or((text, ""));
    match characters {
        0 => place,
        1.. => match behind.char_indices().nth(count) {
            Some((end, _)) => place + end,
            None if behind.chars().count() == count => text.len(),
            None => text.len() + 1,
        },
        _ => before.char_indices().rev().nth(count - 1).map_or(0, |(start, _)| start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::Alphabet;
    use crate::translate::translate;
    use proptest::prelude::*;

    const PATTERNS: [&str; 12] = [
        "(?<=ab)c*",
        "a(?!b)",
        r"(a|b)\1",
        "(?<!a)b+",
        "[ac]?(?=b)",
        "(?=a)b?",
        r"(?:a|b)?c(?=a|$)",
        "(?<=a)(?=b)",
        r"\ba.(?!c)|(?<=b)c",
        "(?>aé?)b",
        r"(é)(?:ab|b)\1?",
        "^a(?!a)",
    ];

    type Spans = Vec<[Option<(usize, usize)>; 2]>;

    fn spans(captures: &Captures<'_, str>) -> [Option<(usize, usize)>; 2] {
        [0, 1].map(|group| captures.get(group).map(|found| (found.start(), found.end())))
    }

    proptest! {
        #[test]
        fn matches_are_those_of_the_engine(text in "[abcé]{0,20}", alphabet in any::<bool>()) {
            let alphabet = if alphabet && text.is_ascii() { Alphabet::Ascii } else { Alphabet::Unicode };
            for pattern in PATTERNS {
                let Ok(translation) = translate(pattern, true, alphabet) else { panic!("{pattern} is a pattern") };
                let Some((required, offset)) = translation.required else { panic!("{pattern} needs something") };
                let (Ok(regex), Ok(needle)) = (Regex::new(&translation.text), Regex::new(&required)) else {
                    panic!("{pattern} is compiled")
                };
                let needle = Needle::new(needle, offset);
                prop_assert!(needle.is_near(), "{}", pattern);
                let expected: Spans = regex.captures_iter(text.as_str()).flatten().map(|found| spans(&found)).collect();
                prop_assert!(expected.is_empty() || needle.is_in(&text), "{} {:?}", pattern, text);
                let mut matches = Matches::new(&regex, &needle, &text);
                let mut found = Spans::new();
                while let Ok(Some(captures)) = matches.find_next() {
                    found.push(spans(&captures));
                }
                prop_assert_eq!(found, expected, "{} {:?}", pattern, text);
            }
        }
    }

    #[test]
    fn places_are_shifted_by_characters() {
        for (place, characters, expected) in
            [(0, 1, 2), (2, 1, 3), (2, 2, 4), (3, 2, 5), (4, 1, 5), (2, -1, 0), (3, -9, 0), (3, 0, 3)]
        {
            assert_eq!(shifted("éab", place, characters), expected, "{place} {characters}");
        }
    }
}
