//! The parser's position among the tokens, and the depth at it.

use crate::limits::MAX_DEPTH;
use crate::syntax::token::{Fence, ReadError, Token};

/// Result of reading a part of an answer.
pub type Reading<T> = Result<T, ReadError>;

/// The tokens of an answer, and how far they are read. The other files of this folder add a reader for each part of the
/// grammar.
#[derive(Debug)]
pub struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Bars that are open within the innermost brackets.
    pub open_bars: usize,
    /// True if a colon separates the terms of a ratio here, and not the parts of a set.
    pub has_ratios: bool,
}

impl Parser {
    /// Creates a parser at the first token.
    pub fn new(tokens: Vec<Token>) -> Parser {
        Parser { tokens, at: 0, depth: 0, open_bars: 0, has_ratios: true }
    }

    /// Returns the next token.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// Returns a token after the next one.
    pub fn peek_at(&self, offset: usize) -> Option<&Token> {
        self.tokens.get(self.at + offset)
    }

    /// Returns the token before the next one.
    pub fn previous(&self) -> Option<&Token> {
        self.tokens.get(self.at.checked_sub(1)?)
    }

    /// Returns whether the token before the next one is a degree sign, alone or in a group.
    pub fn follows_degree(&self) -> bool {
        let before = |offset: usize| self.tokens.get(self.at.checked_sub(offset)?);
        match before(1) {
            Some(Token::Close(Fence::Group)) => before(2) == Some(&Token::Degree),
            token => token == Some(&Token::Degree),
        }
    }

    /// Returns the next token and passes it.
    pub fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// Passes tokens.
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Replaces the next token.
    pub fn replace(&mut self, token: Token) {
        if let Some(next) = self.tokens.get_mut(self.at) {
            *next = token;
        }
    }

    /// Passes the next token if it is the given one, and returns whether it was.
    pub fn accept(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        if is_next {
            self.at += 1;
        }
        is_next
    }

    /// Passes the given token.
    ///
    /// # Errors
    /// Reports a different token.
    pub fn expect(&mut self, token: &Token) -> Reading<()> {
        if self.accept(token) { Ok(()) } else { Err(ReadError::Syntax) }
    }

    /// Passes the next token if it is one of the given words, and returns whether it was.
    pub fn accept_word(&mut self, words: &[&str]) -> bool {
        let is_next = self.next_is_word(words);
        if is_next {
            self.at += 1;
        }
        is_next
    }

    /// Returns whether the next token is one of the given words.
    pub fn next_is_word(&self, words: &[&str]) -> bool {
        matches!(self.peek(), Some(Token::Word(word)) if words.iter().any(|one| word.eq_ignore_ascii_case(one)))
    }

    /// Reads a part one level deeper.
    ///
    /// # Errors
    /// Reports a depth above [`MAX_DEPTH`], and the errors of the part.
    pub fn deeper<T>(&mut self, read: impl FnOnce(&mut Parser) -> Reading<T>) -> Reading<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ReadError::TooLarge);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads the inside of brackets and passes the closing one, which may be one of several.
    ///
    /// # Errors
    /// Reports a missing bracket, and the errors of the inside.
    pub fn enclosed<T>(
        &mut self,
        closing: &[Fence],
        read: impl FnOnce(&mut Parser) -> Reading<T>,
    ) -> Reading<(T, Fence)> {
        let bars = std::mem::take(&mut self.open_bars);
        let inside = self.deeper(read)?;
        self.open_bars = bars;
        match self.take() {
            Some(Token::Close(fence)) if closing.contains(&fence) => Ok((inside, fence)),
            _ => Err(ReadError::Syntax),
        }
    }
}
