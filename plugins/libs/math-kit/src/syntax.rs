//! The notation of answers: LaTeX, Unicode and plain text.

mod brackets;
mod characters;
mod commands;
mod cursor;
mod formula;
mod functions;
mod lexer;
mod matrix;
mod numeral;
mod parser;
mod quantities;
mod single;
mod token;

pub use cursor::Reading;
pub use token::ReadError;

use crate::answer::Answer;
use crate::limits::MAX_ANSWER_BYTES;

/// Reads the notation of an answer.
///
/// # Errors
/// Reports answers that are too long, too large, or have no meaning that is known.
pub fn read_notation(text: &str) -> Reading<Answer> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(ReadError::TooLong);
    }
    cursor::Parser::new(lexer::tokens(text)?).read_all()
}
