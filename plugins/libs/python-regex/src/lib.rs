//! Patterns in the syntax of Python's `re`, run by `fancy-regex`.
//!
//! The two dialects look alike and differ in the details. A pattern is therefore parsed as Python parses it and
//! rewritten from its meaning. The translation covers:
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
//! Each pattern is written twice: for any text, and for ASCII texts, where the sets are small and word boundaries are
//! fast. The first is compiled only when a text needs it. A third pattern finds characters that every match has, so
//! that backtracking through a long text begins only near them, or not at all.

mod category;
mod error;
mod escape;
mod group;
mod long;
mod parser;
mod piece;
mod replace;
mod required;
mod set;
mod translate;
mod weight;
mod width;

pub use error::{PatternError, SearchError};
pub use replace::Replacement;

use fancy_regex::{Captures, Error, Regex, RegexBuilder};
use long::{Matches, Needle};
use parser::Alphabet;
use required::Offset;
use std::cell::OnceCell;
use std::ops::Range;
use translate::Translation;

/// Backtracking steps after which a search is aborted. Components have no such limit: the host's budget ends an
/// exploding search like any other call, and the item becomes a `plugin_timeout`. Elsewhere nothing else would end it.
const MAX_STEPS: usize = if cfg!(target_family = "wasm") { usize::MAX } else { 1_000_000 };

fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).backtrack_limit(MAX_STEPS).build()
}

/// Minimum length, in bytes, of a text that is first searched for characters that every match has. Otherwise
/// backtracking could restart at each character.
const LONG_TEXT: usize = 4 << 10;

/// A compiled pattern.
pub struct PythonRegex {
    ascii: Engine,
    /// Engine for non-ASCII texts, if different.
    unicode: Option<Engine>,
    /// Names of groups and their numbers.
    names: Vec<(String, usize)>,
    group_count: usize,
}

/// A translated pattern, compiled for the first text, and the search that comes first in long texts.
struct Engine {
    pattern: String,
    regex: OnceCell<Result<Regex, Error>>,
    required: Option<(String, Offset)>,
    needle: OnceCell<Option<Needle>>,
}

impl PythonRegex {
    /// Compiles a pattern, as `re.compile(pattern, re.IGNORECASE if ignore_case else 0)` does.
    ///
    /// # Errors
    /// Reports what is wrong with the pattern, and at which character. Also fails if the pattern becomes too large to
    /// compile.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<PythonRegex, PatternError> {
        let ascii = translate::translate(pattern, ignore_case, Alphabet::Ascii)?;
        let unicode = translate::translate(pattern, ignore_case, Alphabet::Unicode)?;
        if let Some(position) = [&ascii, &unicode].into_iter().find_map(Translation::too_large) {
            let message = "the pattern is too large, repeat less of it (with `(?a)` before it sets such as `\\w` are small)";
            return Err(PatternError::at(message, position));
        }
        let differs = unicode.text != ascii.text;
        let (names, group_count) = (ascii.names, ascii.group_count);
        let ascii = Engine::new(ascii.text, ascii.required);
        ascii.compiled().map_err(|error| PatternError::whole(error.0.to_string()))?;
        let unicode = differs.then(|| Engine::new(unicode.text, unicode.required));
        Ok(PythonRegex { ascii, unicode, names, group_count })
    }

    /// Returns whether the pattern is found anywhere in the text, as `re.search` does.
    ///
    /// # Errors
    /// Outside of a component, if the search takes more than a million backtracking steps.
    pub fn is_match(&self, text: &str) -> Result<bool, SearchError> {
        let engine = self.engine_for(text);
        Ok(match engine.search(text)? {
            Search::Hopeless => false,
            Search::Usual(regex) => regex.is_match(text)?,
            Search::Long(mut matches) => matches.find_next()?.is_some(),
        })
    }

    /// Returns the group that a suite names, by its number or its name.
    ///
    /// # Errors
    /// If the pattern has no such group.
    pub fn group(&self, group: &str) -> Result<Group, PatternError> {
        let by_name = self.names.iter().find(|(name, _)| name == group).map(|(_, number)| *number);
        let by_number = || group.parse().ok().filter(|number| *number <= self.group_count);
        match by_name.or_else(by_number) {
            Some(number) => Ok(Group(number)),
            None => Err(PatternError::whole(format!("no such group '{group}'"))),
        }
    }

    /// Returns the number of groups, without the whole match.
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// Returns the text of a group in the first or the last match that `re.finditer` gives. `None` if the group takes
    /// part in no match.
    ///
    /// # Errors
    /// Outside of a component, if a search takes more than a million backtracking steps.
    pub fn find<'text>(
        &self,
        text: &'text str,
        group: Group,
        occurrence: Occurrence,
    ) -> Result<Option<&'text str>, SearchError> {
        let mut found = None;
        self.each_match(text, group, |held| {
            found = Some(held);
            occurrence == Occurrence::First
        })?;
        Ok(found)
    }

    /// Returns the texts of a group in the matches that `re.finditer` gives, in order, up to `most`. Matches in which the
    /// group takes no part are left out.
    ///
    /// # Errors
    /// Same as for [`PythonRegex::find`].
    pub fn find_all<'text>(
        &self,
        text: &'text str,
        group: Group,
        most: usize,
    ) -> Result<Vec<&'text str>, SearchError> {
        let mut found = Vec::new();
        self.each_match(text, group, |held| {
            found.push(held);
            found.len() >= most
        })?;
        Ok(found)
    }

    /// Returns the text of the first group that took part and is not empty, in the first or the last match that
    /// `re.finditer` gives. A pattern without groups gives the whole match, and one with a single group that took no
    /// part gives an empty text. `None` if there is no match, or if several groups are all empty.
    ///
    /// # Errors
    /// Same as for [`PythonRegex::find`].
    pub fn find_any_group<'text>(
        &self,
        text: &'text str,
        occurrence: Occurrence,
    ) -> Result<Option<&'text str>, SearchError> {
        let mut found = None;
        self.each_captures(text, |captures| {
            let texts = |number: usize| captures.get(number).map_or("", |held| held.as_str());
            found = match self.group_count {
                0 => self.span(captures).and_then(|span| text.get(span)),
                1 => Some(texts(1)),
                count => (1..=count).map(texts).find(|held| !held.is_empty()),
            };
            occurrence == Occurrence::First
        })?;
        Ok(found)
    }

    /// Returns the place of a match in its text, without a newline that only the translation of `$` consumed.
    fn span(&self, captures: &Captures<'_, str>) -> Option<Range<usize>> {
        let whole = captures.get(0)?;
        let end = captures.get(self.group_count + 1).map_or(whole.end(), |mark| mark.start());
        Some(whole.start()..end)
    }

    /// Passes the texts of a group to `is_enough`, until it returns true.
    fn each_match<'text>(
        &self,
        text: &'text str,
        group: Group,
        mut is_enough: impl FnMut(&'text str) -> bool,
    ) -> Result<(), SearchError> {
        self.each_captures(text, |captures| {
            captures.get(group.0).is_some_and(|held| is_enough(held.as_str()))
        })
    }

    /// Passes the matches to `is_enough`, until it returns true.
    fn each_captures<'text>(
        &self,
        text: &'text str,
        mut is_enough: impl FnMut(&Captures<'text, str>) -> bool,
    ) -> Result<(), SearchError> {
        match self.engine_for(text).search(text)? {
            Search::Hopeless => {}
            Search::Usual(regex) => {
                for captures in regex.captures_iter(text) {
                    if is_enough(&captures?) {
                        break;
                    }
                }
            }
            Search::Long(mut matches) => {
                while let Some(captures) = matches.find_next()? {
                    if is_enough(&captures) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn engine_for(&self, text: &str) -> &Engine {
        self.unicode.as_ref().filter(|_| !text.is_ascii()).unwrap_or(&self.ascii)
    }
}

/// Method that searches a text.
enum Search<'r, 'text> {
    /// No search: the text lacks something that every match has.
    Hopeless,
    /// The usual search of the engine.
    Usual(&'r Regex),
    /// A search only at positions where a match can begin.
    Long(Matches<'r, 'text>),
}

impl Engine {
    fn new(pattern: String, required: Option<(String, Offset)>) -> Engine {
        // The other engine takes linear time and finds the starting points by itself.
        let required = required.filter(|_| backtracks(&pattern));
        Engine { pattern, regex: OnceCell::new(), required, needle: OnceCell::new() }
    }

    fn compiled(&self) -> Result<&Regex, SearchError> {
        match self.regex.get_or_init(|| compile(&self.pattern)) {
            Ok(regex) => Ok(regex),
            Err(error) => Err(SearchError(error.clone())),
        }
    }

    fn search<'r, 'text>(&'r self, text: &'text str) -> Result<Search<'r, 'text>, SearchError> {
        let regex = self.compiled()?;
        let needle = if text.len() < LONG_TEXT { None } else { self.needle() };
        let Some(needle) = needle else { return Ok(Search::Usual(regex)) };
        Ok(match needle.is_in(text) {
            false => Search::Hopeless,
            true if needle.is_near() => Search::Long(Matches::new(regex, needle, text)),
            true => Search::Usual(regex),
        })
    }

    fn needle(&self) -> Option<&Needle> {
        let needle = self.needle.get_or_init(|| {
            let (pattern, offset) = self.required.as_ref()?;
            Some(Needle::new(compile(pattern).ok()?, *offset))
        });
        needle.as_ref()
    }
}

/// Returns whether a translated pattern needs backtracking. Literal characters are written differently in it.
fn backtracks(pattern: &str) -> bool {
    let signs = ["(?=", "(?!", "(?<", "(?>", "(?(", r"\k<", "*+", "++", "?+", "}+"];
    signs.iter().any(|sign| pattern.contains(sign))
}

impl Translation {
    /// Returns the position at which the pattern becomes too large to compile. Backtracking makes no copy of repeated
    /// parts.
    fn too_large(&self) -> Option<usize> {
        self.too_large.filter(|_| !backtracks(&self.text))
    }
}

/// A group of a pattern, made by [`PythonRegex::group`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(usize);

impl Group {
    /// The whole match.
    pub const WHOLE: Group = Group(0);
}

/// Selection among several matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The first match in the order of the text.
    First,
    /// The last match.
    Last,
}

#[cfg(test)]
mod tests;
