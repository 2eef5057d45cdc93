//! The check of a response against an instruction.

use crate::case::{is_lower, is_upper};
use crate::instruction::{Instruction, Kind};
use crate::json::is_json;
use crate::language::ENGLISH;
use crate::markdown::{self, unfenced};
use crate::response::Response;
use crate::sentences::sentences;
use crate::words::{count_words, each_word};
use gage_python_regex::{Group, PythonRegex, SearchError};
use gage_sdk::PluginError;
use gage_text_kit::text::{lower, strip};

/// The answers that a constrained response has one of.
const OPTIONS: [&str; 3] = ["My answer is yes.", "My answer is no.", "My answer is maybe."];

impl Instruction {
    /// Returns whether a response that is not blank follows the instruction.
    pub(crate) fn is_followed(&self, response: &Response) -> Result<bool, PluginError> {
        let found = follows(&self.kind, response);
        found.map_err(|error| PluginError::invalid_input(format!("'{}': {error}", self.name)))
    }
}

fn follows(kind: &Kind, response: &Response) -> Result<bool, SearchError> {
    let text = response.text.as_str();
    Ok(match kind {
        Kind::Keywords(patterns) => count_found(patterns, text)? == patterns.len(),
        Kind::KeywordFrequency(pattern, bound) => bound.holds(count(pattern, text)?),
        Kind::ForbiddenWords(patterns) => count_found(patterns, text)? == 0,
        Kind::LetterFrequency(letter, bound) => {
            bound.holds(lower(text).chars().filter(|character| character == letter).count())
        }
        Kind::Language(code) => response.language().is_none_or(|found| found == code),
        Kind::Sentences(bound) => bound.holds(sentences(text).count()),
        Kind::Paragraphs(wanted) => markdown::paragraphs(text).is_some_and(|found| equals(found, *wanted)),
        Kind::Words(bound) => bound.holds(count_words(text)),
        Kind::FirstWord { paragraphs, number, word } => {
            let (found, first) = markdown::first_word(text, *number);
            equals(found, *paragraphs) && first.as_ref() == Some(word)
        }
        Kind::Placeholders(wanted) => reaches(markdown::placeholders(text), *wanted),
        Kind::Postscript(pattern) => pattern.is_match(&lower(text))?,
        Kind::Bullets(wanted) => equals(markdown::bullets(text), *wanted),
        Kind::Options => OPTIONS.iter().any(|option| text.contains(option)),
        Kind::Highlights(wanted) => reaches(markdown::highlights(text), *wanted),
        // A split gives the groups of the pattern too.
        Kind::Sections(pattern, wanted) => {
            reaches(count(pattern, text)? * (1 + pattern.group_count()), *wanted)
        }
        Kind::Json => is_json(unfenced(text)),
        Kind::Title => markdown::has_title(text),
        Kind::TwoResponses => markdown::are_two_responses(text),
        Kind::Prompt(prompt) => lower(strip(text)).starts_with(prompt),
        Kind::End(phrase) => lower(strip(text).trim_matches('"')).ends_with(phrase),
        Kind::CapitalWords(bound) => {
            let mut count = 0;
            each_word(text, |word| count += usize::from(is_upper(word)));
            bound.holds(count)
        }
        Kind::EnglishCapital => is_upper(text) && response.language().is_none_or(|found| found == ENGLISH),
        Kind::EnglishLowercase => is_lower(text) && response.language().is_none_or(|found| found == ENGLISH),
        Kind::NoComma => !text.contains(','),
        Kind::Quotation => {
            let inside = strip(text).strip_prefix('"');
            inside.is_some_and(|inside| inside.ends_with('"'))
        }
    })
}

fn equals(count: usize, wanted: f64) -> bool {
    count as f64 == wanted
}

fn reaches(count: usize, wanted: f64) -> bool {
    count as f64 >= wanted
}

/// Returns the number of matches of a pattern.
fn count(pattern: &PythonRegex, text: &str) -> Result<usize, SearchError> {
    Ok(pattern.find_all(text, Group::WHOLE, usize::MAX)?.len())
}

/// Returns the number of patterns that are found in a text.
fn count_found(patterns: &[PythonRegex], text: &str) -> Result<usize, SearchError> {
    patterns.iter().try_fold(0, |count, pattern| Ok(count + usize::from(pattern.is_match(text)?)))
}
