//! Tokens: the smallest parts of an answer's notation.

use crate::answer::{RelationSign, SetOperation};
use crate::expression::{FunctionName, NamedNumber};
use dashu_ratio::RBig;

/// A number as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Numeral {
    /// Value of the number.
    pub value: RBig,
    /// Digits without separators, if the number is a plain integer.
    pub digits: Option<String>,
    /// True for a fraction in one character, such as ½.
    pub is_vulgar_fraction: bool,
}

/// A pair of brackets that encloses something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// `(` and `)`.
    Round,
    /// `[` and `]`.
    Square,
    /// `{` and `}` of LaTeX, which are not seen.
    Group,
    /// `\{` and `\}`.
    Curly,
    /// `⟨` and `⟩`.
    Angle,
    /// `\lvert` and `\rvert`, and bars with `\left` and `\right`.
    Bar,
    /// `⌊` and `⌋`.
    Floor,
    /// `⌈` and `⌉`.
    Ceiling,
}

/// The smallest part of a notation.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A number.
    Number(Numeral),
    /// A number with a name.
    Named(NamedNumber),
    /// A letter of a formula.
    Letter(String),
    /// A sign that makes the letters after it one name: `∠ABC`.
    NameSign(&'static str),
    /// A word, as spelled.
    Word(String),
    /// The name of a function.
    Function(FunctionName),
    /// `\log`, to base 10 unless a base follows.
    Log,
    /// `\frac`.
    Fraction,
    /// `\binom`.
    BinomialSign,
    /// A root sign; true if its argument is read as LaTeX reads it, one digit at a time.
    RootSign(bool),
    /// A root sign with its index, such as ∛.
    IndexedRoot(u8),
    /// An opening bracket.
    Open(Fence),
    /// A closing bracket.
    Close(Fence),
    /// A bar that opens or closes.
    Bar,
    /// `\mid`.
    Mid,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `±`; false for `∓`.
    PlusMinus(bool),
    /// A sign of multiplication.
    Times,
    /// `/` or `÷`.
    Slash,
    /// `^`
    Caret,
    /// `_`
    Underscore,
    /// `!`
    Exclamation,
    /// `%`
    Percent,
    /// `°`
    Degree,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `&`
    Ampersand,
    /// `\\`
    RowBreak,
    /// A relation.
    Relation(RelationSign),
    /// An operation on sets.
    Operation(SetOperation),
    /// A set with a name.
    NamedSet(char),
    /// `∅`
    Empty,
    /// The beginning of a matrix; true if it is a determinant.
    BeginMatrix(bool),
    /// The end of a matrix.
    EndMatrix,
    /// `\choose`
    Choose,
    /// `\over`
    Over,
    /// A sign of money, as the name of its unit.
    Currency(&'static str),
}

/// Reason why an answer cannot be read as mathematics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The answer is longer than can be read.
    TooLong,
    /// Brackets, fractions and powers are too deep, or a structure has too many members.
    TooLarge,
    /// A sign or a command has no known meaning.
    UnknownSign,
    /// The order of the signs has no meaning.
    Syntax,
    /// The answer is empty.
    Blank,
}
