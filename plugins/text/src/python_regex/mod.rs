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

pub use error::PatternError;

use fancy_regex::{Error, Regex};
use parser::Alphabet;
use std::cell::OnceCell;

/// A compiled pattern.
pub struct PythonRegex {
    ascii: Regex,
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
        let regex = Regex::new(&ascii).map_err(|error| PatternError::whole(error.to_string()))?;
        let differs = unicode != ascii;
        Ok(PythonRegex {
            ascii: regex,
            unicode: differs.then(|| UnicodeRegex { pattern: unicode, regex: OnceCell::new() }),
        })
    }

    /// Whether the pattern is found anywhere in the text, as `re.search` does.
    ///
    /// # Errors
    /// Where the search needs too much backtracking to be carried through.
    pub fn is_match(&self, text: &str) -> Result<bool, Error> {
        match &self.unicode {
            Some(unicode) if !text.is_ascii() => unicode.is_match(text),
            _ => self.ascii.is_match(text),
        }
    }
}

impl UnicodeRegex {
    fn is_match(&self, text: &str) -> Result<bool, Error> {
        match self.regex.get_or_init(|| Regex::new(&self.pattern)) {
            Ok(regex) => regex.is_match(text),
            Err(error) => Err(error.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
