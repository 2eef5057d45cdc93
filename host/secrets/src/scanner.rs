//! Searches a text for secrets. One automaton (Aho-Corasick) reads it twice in one pass: as it is, and with its
//! escapes decoded.

use crate::SECRET_MARK;
use crate::decoder::{DecodedByte, MAX_BACKSLASHES, MAX_ESCAPE_BYTES, push};
use crate::examined::count_examined;
use crate::json_numbers::{JsonStrings, may_be_json, number_around};
use crate::spellings::{SecretPattern, patterns_of};
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, PatternID};
use gage_core::Object;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// Searches for some secrets, each with its replacement.
pub struct SecretScanner {
    /// `None` if there are no patterns, or the automaton cannot be built.
    automaton: Option<NFA>,
    patterns: Vec<SecretPattern>,
    /// Replacement for each pattern.
    marks: Vec<String>,
}

/// A secret in a text.
struct SecretMatch {
    range: Range<usize>,
    pattern: usize,
    is_number: bool,
}

impl SecretScanner {
    /// Creates a scanner for some values, each with its replacement.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a str)>) -> SecretScanner {
        let (mut patterns, mut marks) = (Vec::new(), Vec::new());
        for (mark, value) in secrets.filter(|(_, value)| !value.is_empty()) {
            for pattern in patterns_of(value) {
                patterns.push(pattern);
                marks.push(mark.to_owned());
            }
        }
        let texts = patterns.iter().map(|pattern| pattern.bytes.as_slice());
        let automaton = if patterns.is_empty() { None } else { NFA::new(texts).ok() };
        SecretScanner { automaton, patterns, marks }
    }

    /// Returns the byte ranges of secrets in a text, in order.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        self.matches(text.as_bytes()).into_iter().map(|found| whole_characters(text, found.range)).collect()
    }

    /// Returns a text without the secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.matches(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let whole = |one: SecretMatch| SecretMatch { range: whole_characters(text, one.range), ..one };
        let clean = self.replace(text.as_bytes(), found.into_iter().map(whole));
        Cow::Owned(String::from_utf8_lossy(&clean).into_owned())
    }

    /// Returns bytes without the secrets.
    pub fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let found = self.matches(&bytes);
        if found.is_empty() { bytes } else { self.replace(&bytes, found.into_iter()) }
    }

    /// Removes the secrets from all texts and names within a value.
    pub(crate) fn redact_value(&self, value: &mut Value, with_numbers: bool) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redact(text) {
                    *text = clean;
                }
            }
            Value::Number(number) if with_numbers => {
                if let Cow::Owned(clean) = self.redact(&number.to_string()) {
                    *value = clean.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item, with_numbers)),
            Value::Object(object) => self.redact_object(object, with_numbers),
            _ => {}
        }
    }

    /// Removes the secrets from all texts and names within an object.
    pub(crate) fn redact_object(&self, object: &mut Object, with_numbers: bool) {
        if object.keys().any(|name| !self.matches(name.as_bytes()).is_empty()) {
            let entries = std::mem::take(object);
            object.extend(entries.into_iter().map(|(name, value)| (self.redact(&name).into_owned(), value)));
        }
        object.values_mut().for_each(|value| self.redact_value(value, with_numbers));
    }

    fn replace(&self, text: &[u8], found: impl Iterator<Item = SecretMatch>) -> Vec<u8> {
        let is_json = may_be_json(text);
        let (mut out, mut end) = (Vec::with_capacity(text.len()), 0);
        let mut strings = JsonStrings::default();
        for SecretMatch { range, pattern, is_number } in found {
            // Another secret in a number that was already replaced.
            if range.start < end {
                continue;
            }
            let mark = self.marks.get(pattern).map_or(SECRET_MARK, String::as_str);
            // A number becomes a string, so that JSON stays JSON.
            let is_bare = is_json && is_number && !strings.are_open_at(text, range.start);
            let range = if is_bare { number_around(text, &range, end) } else { range };
            out.extend_from_slice(text.get(end..range.start).unwrap_or_default());
            match is_bare {
                true => out.extend_from_slice(format!("\"{mark}\"").as_bytes()),
                false => out.extend_from_slice(mark.as_bytes()),
            }
            end = range.end;
        }
        out.extend_from_slice(text.get(end..).unwrap_or_default());
        out
    }

    /// Returns the secrets in a text, in order. Overlapping ones are merged.
    fn matches(&self, text: &[u8]) -> Vec<SecretMatch> {
        let mut found = Vec::new();
        if let Some(automaton) = &self.automaton
            && let Ok(start) = automaton.start_state(Anchored::No)
        {
            Scan { scanner: self, automaton, text, found: &mut found }.run(start);
        }
        // Longest first among those with the same start.
        found.sort_by_key(|one| (one.range.start, usize::MAX - one.range.end));
        found.dedup_by(|later, earlier| {
            let overlaps = later.range.start < earlier.range.end;
            if overlaps {
                earlier.range.end = earlier.range.end.max(later.range.end);
                earlier.is_number &= later.is_number;
            }
            overlaps
        });
        found
    }
}

/// Extends a range of bytes to whole characters.
fn whole_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let start = (0..=range.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (range.end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    start..end
}

/// A search in one text.
struct Scan<'s> {
    scanner: &'s SecretScanner,
    automaton: &'s NFA,
    text: &'s [u8],
    found: &'s mut Vec<SecretMatch>,
}

impl Scan<'_> {
    fn run(&mut self, start: StateID) {
        let mut state = start;
        for (position, byte) in self.text.iter().enumerate() {
            count_examined(1);
            state = self.automaton.next_state(Anchored::No, state, *byte);
            self.each_pattern(state, |scan, number, pattern, length| {
                if pattern.prefix.is_empty() {
                    let range = position + 1 - length..scan.end_of_backslashes(position);
                    scan.found.push(SecretMatch { range, pattern: number, is_number: pattern.is_number });
                }
            });
        }
        if self.text.iter().any(|byte| b"\\%&".contains(byte)) {
            self.run_decoded(start);
        }
    }

    /// Returns the end of a secret whose last byte is at a position. Backslashes that double a last backslash are
    /// included; otherwise the remaining JSON text would begin another escape.
    fn end_of_backslashes(&self, last: usize) -> usize {
        let rest = self.text.get(last..).unwrap_or_default();
        let count = rest.iter().take(MAX_BACKSLASHES).take_while(|byte| **byte == b'\\').count();
        count_examined(count);
        last + (count - count % 2).max(1)
    }

    /// Searches the text with its escapes decoded. Only a window of the maximum pattern length is kept.
    fn run_decoded(&mut self, start: StateID) {
        let kept = self.automaton.max_pattern_len() + 1;
        let mut state = start;
        let mut bytes: Vec<DecodedByte> = Vec::new();
        let mut searched = 0;
        for (position, byte) in self.text.iter().enumerate() {
            push(&mut bytes, searched, *byte, position);
            while bytes.len() - searched > MAX_ESCAPE_BYTES {
                state = self.step(state, &bytes, searched);
                searched += 1;
            }
            if searched > 2 * kept + MAX_ESCAPE_BYTES {
                bytes.drain(..searched - kept);
                searched = kept;
            }
        }
        while searched < bytes.len() {
            state = self.step(state, &bytes, searched);
            searched += 1;
        }
    }

    fn step(&mut self, state: StateID, bytes: &[DecodedByte], at: usize) -> StateID {
        count_examined(1);
        let state = self.automaton.next_state(Anchored::No, state, bytes[at].byte);
        self.each_pattern(state, |scan, number, pattern, length| {
            let first = at + 1 - length;
            let mut begin = bytes[first].start;
            if !pattern.prefix.is_empty() {
                let before = first.checked_sub(1).map(|before| bytes[before]);
                let is_taken = before.is_some_and(|before| {
                    before.end - before.start > pattern.prefix.len()
                        && scan.text[..before.end].ends_with(&pattern.prefix)
                });
                if !is_taken {
                    return;
                }
                begin -= pattern.prefix.len();
            }
            let range = begin..bytes[at].end;
            scan.found.push(SecretMatch { range, pattern: number, is_number: pattern.is_number });
        });
        state
    }

    /// Calls a function for each pattern that ends in a state.
    fn each_pattern(
        &mut self,
        state: StateID,
        mut visit: impl FnMut(&mut Self, usize, &SecretPattern, usize),
    ) {
        if !self.automaton.is_match(state) {
            return;
        }
        let scanner = self.scanner;
        for index in 0..self.automaton.match_len(state) {
            let id: PatternID = self.automaton.match_pattern(state, index);
            if let Some(pattern) = scanner.patterns.get(id.as_usize()) {
                visit(self, id.as_usize(), pattern, self.automaton.pattern_len(id));
            }
        }
    }
}

#[cfg(test)]
mod tests;
