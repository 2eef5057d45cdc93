//! Patterns in the syntax of Python's `re`, run by `fancy-regex`.
//!
//! The two dialects look alike and differ in the details, so a pattern is parsed as Python parses it
//! and written anew from what it means. What the translation takes care of:
//!
//! | Python | here |
//! | --- | --- |
//! | `$` also before a newline at the end | `(?=\n?\z)` |
//! | `\Z` only at the end | `\z` |
//! | `\w` letters, numbers, underscore; no marks | `[\p{L}\p{N}_]`, and `\b` by look-around on it |
//! | `\s` with U+001C to U+001F | `[\s\x1C-\x1F]` |
//! | `\B` not in the empty text | a look-ahead for it |
//! | `i` equals `İ` and `ı` without case | a set of the four |
//! | `\<`, `\h`, `[[:x:]]`, `&&` mean nothing special | every literal is written so that it is one |
//! | verbose mode, comments, octal escapes, `{,3}` | resolved |
//! | `(?a)` | sets of ASCII characters |
//! | a repeated look-around | tried once, or not at all |
//! | look-behind of fixed width only, global flags at the start only, … | the same errors, with the position |
//!
//! Not supported: `\N{…}` with a character name, and lone surrogates, which no text can hold.
//!
//! Each pattern is written twice: for any text, and for texts in ASCII, where the sets are small and
//! word boundaries are fast. The first is only compiled when a text needs it.

mod error;
mod escape;
mod group;
mod parser;
mod piece;
mod set;

pub use error::{PatternError, SearchError};

use fancy_regex::{Error, Regex, RegexBuilder};
use parser::Alphabet;
use std::cell::OnceCell;

/// Steps of backtracking after which a search is given up. In a component there is no such number: the
/// host's budget ends a search that explodes, as it ends every call, and its item is a `plugin_timeout`.
/// Elsewhere nothing else would end it.
const MOST_STEPS: usize = if cfg!(target_family = "wasm") { usize::MAX } else { 1_000_000 };

fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).backtrack_limit(MOST_STEPS).build()
}

/// A compiled pattern.
pub struct PythonRegex {
    ascii: Regex,
    /// The names of groups and their numbers.
    names: Vec<(String, usize)>,
    group_count: usize,
    unicode: Option<UnicodeRegex>,
}

/// The pattern for texts outside ASCII, where it is not the same.
struct UnicodeRegex {
    pattern: String,
    regex: OnceCell<Result<Regex, Error>>,
}

impl PythonRegex {
    /// Compiles a pattern, as `re.compile(pattern, re.IGNORECASE if ignore_case else 0)` does.
    ///
    /// # Errors
    /// Says what is wrong with the pattern, and at which character.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<PythonRegex, PatternError> {
        let ascii = parser::translate(pattern, ignore_case, Alphabet::Ascii)?;
        let unicode = parser::translate(pattern, ignore_case, Alphabet::Unicode)?;
        let regex = compile(&ascii.text).map_err(|error| PatternError::whole(error.to_string()))?;
        let differs = unicode.text != ascii.text;
        Ok(PythonRegex {
            ascii: regex,
            names: ascii.names,
            group_count: ascii.group_count,
            unicode: differs.then(|| UnicodeRegex { pattern: unicode.text, regex: OnceCell::new() }),
        })
    }

    /// Whether the pattern is found anywhere in the text, as `re.search` does.
    ///
    /// # Errors
    /// Outside of a component, where the search needs more than a million steps of backtracking.
    pub fn is_match(&self, text: &str) -> Result<bool, SearchError> {
        Ok(self.regex_for(text)?.is_match(text)?)
    }

    /// The group that a suite names, by its number or its name.
    ///
    /// # Errors
    /// Where the pattern has no such group.
    pub fn group(&self, group: &str) -> Result<Group, PatternError> {
        let by_name = self.names.iter().find(|(name, _)| name == group).map(|(_, number)| *number);
        let by_number = || group.parse().ok().filter(|number| *number <= self.group_count);
        match by_name.or_else(by_number) {
            Some(number) => Ok(Group(number)),
            None => Err(PatternError::whole(format!("no such group '{group}'"))),
        }
    }

    /// The number of groups, without the whole match.
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// What a group holds in the first or the last of the matches that `re.finditer` gives; `None`
    /// where there is no match in which the group takes part.
    ///
    /// # Errors
    /// Outside of a component, where a search needs more than a million steps of backtracking.
    pub fn find<'text>(
        &self,
        text: &'text str,
        group: Group,
        occurrence: Occurrence,
    ) -> Result<Option<&'text str>, SearchError> {
        let mut found = None;
        for captures in self.regex_for(text)?.captures_iter(text) {
            let Some(held) = captures?.get(group.0) else { continue };
            found = Some(held.as_str());
            if occurrence == Occurrence::First {
                break;
            }
        }
        Ok(found)
    }

    fn regex_for(&self, text: &str) -> Result<&Regex, SearchError> {
        match &self.unicode {
            Some(unicode) if !text.is_ascii() => unicode.compiled(),
            _ => Ok(&self.ascii),
        }
    }
}

/// A group of a pattern, made by [`PythonRegex::group`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(usize);

impl Group {
    /// The whole match.
    pub const WHOLE: Group = Group(0);
}

/// Which of several matches counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The first in the order of the text.
    First,
    /// The last.
    Last,
}

impl UnicodeRegex {
    fn compiled(&self) -> Result<&Regex, SearchError> {
        match self.regex.get_or_init(|| compile(&self.pattern)) {
            Ok(regex) => Ok(regex),
            Err(error) => Err(SearchError(error.clone())),
        }
    }
}

#[cfg(test)]
mod tests;
