//! The part of a text that is the answer, and what it says.

use crate::comparison::{Form, canonical, form_of};
use crate::limits::{Budget, MAX_ANSWER_BYTES};
use crate::syntax::{ReadError, read_notation};
use crate::words::{meaning_of, read_words, usual};
use gage_text_kit::latex_boxed::last_box;

/// Signs after an answer that do not belong to it.
const TRAILING: &[char] = &['.', ',', ';', '。', '，'];

/// Maximum length of a time of day with its spaces and signs.
const MAX_TIME_BYTES: usize = 16;

/// Number of bytes that are searched for a box in the time of one step.
const SEARCHED_BYTES: usize = 64;

/// An answer as it is compared.
#[derive(Debug)]
pub struct FinalAnswer<'text> {
    /// The answer as written, without a box and a full stop.
    pub text: &'text str,
    /// Words of the answer, if it has only words.
    pub words: Option<Vec<String>>,
    /// Meaning of the answer, if it is known.
    pub form: Result<Form, ReadError>,
}

impl<'text> FinalAnswer<'text> {
    /// Reads the last `\boxed{…}` of a text, or the whole text if there is none.
    pub fn read(text: &'text str, budget: &Budget) -> FinalAnswer<'text> {
        let is_affordable = budget.spend((text.len() / SEARCHED_BYTES) as u64).is_some();
        if !is_affordable {
            return FinalAnswer { text, words: None, form: Err(ReadError::TooLarge) };
        }
        let text = last_box(text).map_or(text, |found| found.held).trim();
        let text = text.strip_suffix(TRAILING).unwrap_or(text).trim_end();
        // A full stop may be within the signs of a formula, as in `$5.$`.
        let bare = text.trim_matches('$').trim();
        let text = if bare.ends_with('.') && !bare.ends_with("..") && text.contains('$') {
            bare.trim_end_matches('.')
        } else {
            text
        };
        if text.len() > MAX_ANSWER_BYTES {
            return FinalAnswer { text, words: None, form: Err(ReadError::TooLong) };
        }
        // Reading takes about a step a byte.
        if budget.spend(text.len() as u64).is_none() {
            return FinalAnswer { text, words: None, form: Err(ReadError::TooLarge) };
        }
        let words = read_words(text).map(usual);
        let form = match words.as_deref().and_then(meaning_of) {
            Some(answer) => Ok(answer),
            None => read_notation(text),
        };
        let form = form.and_then(|answer| form_of(answer, budget).ok_or(ReadError::Syntax));
        FinalAnswer { text, words, form }
    }

    /// Returns whether the answer may be a time of day, such as `2:30`, as well as a ratio.
    pub fn is_time(&self) -> bool {
        if self.text.len() > MAX_TIME_BYTES {
            return false;
        }
        let plain: String =
            self.text.chars().filter(|character| !character.is_whitespace() && *character != '$').collect();
        let mut parts = plain.split(':');
        let (Some(hours), Some(minutes), None) = (parts.next(), parts.next(), parts.next()) else {
            return false;
        };
        let number = |part: &str| part.parse::<u8>().ok();
        minutes.len() == 2
            && number(hours).is_some_and(|hours| hours < 24)
            && number(minutes).is_some_and(|minutes| minutes < 60)
    }

    /// Returns whether the answer is only words, without a mathematical meaning.
    pub fn is_text(&self) -> bool {
        self.form.is_err() && self.words.is_some()
    }

    /// Returns the canonical form of the answer: its exact value, what it says, or its words.
    pub fn canonical(&self, budget: &Budget) -> String {
        match (&self.form, &self.words) {
            (Ok(form), _) => canonical(form, budget).to_string(),
            (Err(_), Some(words)) => words.join(" "),
            (Err(_), None) => self.text.to_owned(),
        }
    }
}
