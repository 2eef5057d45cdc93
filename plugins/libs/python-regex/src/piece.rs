//! Translated parts of a pattern.

use crate::required::RequiredText;
use crate::weight;
use crate::width::Width;
use std::fmt::Write;

/// Role of a part for the quantifier after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Matches the empty text and nothing else.
    Nothing,
    /// A look-around, or a group that holds only one assertion: repeating it changes nothing.
    Look,
    /// `^`, `\b` and similar: cannot be repeated.
    Anchor,
    /// `$` outside multi-line mode, also an anchor.
    End,
    /// Anything else.
    Atom,
}

/// A translated part of a pattern; a single unit for quantifiers.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) width: Width,
    pub(crate) shape: Shape,
    /// True if the part already has a quantifier.
    pub(crate) repeated: bool,
    /// Text that every match contains.
    pub(crate) required: RequiredText,
    /// Size when compiled, see [`weight`].
    pub(crate) weight: u64,
}

impl Piece {
    pub(crate) fn atom(text: String, width: Width) -> Piece {
        let weight = weight::of_atom(&text);
        Piece { text, width, shape: Shape::Atom, repeated: false, required: RequiredText::default(), weight }
    }

    pub(crate) fn anchor(text: impl Into<String>) -> Piece {
        Piece { shape: Shape::Anchor, ..Piece::atom(text.into(), Width::ZERO) }
    }

    pub(crate) fn nothing() -> Piece {
        Piece { shape: Shape::Nothing, ..Piece::atom(String::new(), Width::ZERO) }
    }

    /// Joins pieces in sequence. The result is not a unit and belongs in a group.
    pub(crate) fn sequence(pieces: &[Piece]) -> Piece {
        let mut parts = pieces.iter().filter(|piece| piece.shape != Shape::Nothing);
        let shape = match (parts.next(), parts.next()) {
            (None, _) => Shape::Nothing,
            (Some(only), None) if matches!(only.shape, Shape::Look | Shape::Anchor | Shape::End) => {
                Shape::Look
            }
            _ => Shape::Atom,
        };
        let text = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let width = pieces.iter().fold(Width::ZERO, |width, piece| width.then(piece.width));
        let required = RequiredText::all_of(pieces.iter().map(|piece| (&piece.required, piece.width)));
        Piece { text, width, shape, repeated: false, required, weight: Piece::weight_of(pieces) }
    }

    /// Joins the branches of an alternation. The result is not a unit and belongs in a group.
    pub(crate) fn alternation(mut branches: Vec<Piece>) -> Piece {
        if branches.len() == 1 {
            return branches.pop().unwrap_or_else(Piece::nothing);
        }
        let texts: Vec<&str> = branches.iter().map(|branch| branch.text.as_str()).collect();
        let width = branches.iter().map(|branch| branch.width).reduce(Width::or).unwrap_or(Width::ZERO);
        let required = RequiredText::one_of(branches.iter().map(|branch| &branch.required));
        let weight = Piece::weight_of(&branches);
        Piece { text: texts.join("|"), width, shape: Shape::Atom, repeated: false, required, weight }
    }

    /// Returns the total weight of pieces.
    pub(crate) fn weight_of(pieces: &[Piece]) -> u64 {
        pieces.iter().fold(0, |sum, piece| piece.weight.saturating_add(sum))
    }

    /// Adds a quantifier to the piece.
    pub(crate) fn repeated(self, quantifier: Quantifier) -> Piece {
        let Quantifier { least, most, mode } = quantifier;
        let width = Width {
            least: self.width.least.saturating_mul(least),
            most: self.width.most.saturating_mul(most.unwrap_or(u64::MAX)),
        };
        let required = if least > 0 { self.required.alone() } else { RequiredText::default() };
        let Piece { mut text, mut shape, weight, .. } = self;
        // Each counted repetition is a copy.
        let weight = weight.saturating_mul(most.unwrap_or(least).max(1));
        match shape {
            Shape::Nothing => {}
            // The engine rejects a repeated assertion, and one is equivalent.
            Shape::Look if least > 0 => {}
            Shape::Look => {
                shape = Shape::Atom;
                text = match mode {
                    Mode::Greedy => format!("(?:{text}|)"),
                    Mode::Lazy => format!("(?:|{text})"),
                    Mode::Possessive => format!("(?>{text}|)"),
                };
            }
            _ => quantifier.write(&mut text),
        }
        Piece { text, width, shape, repeated: true, required, weight }
    }
}

/// Order in which numbers of repetitions are tried, if more than one is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Greedy,
    Lazy,
    Possessive,
}

/// A quantifier; without `most` it has no upper bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantifier {
    pub(crate) least: u64,
    pub(crate) most: Option<u64>,
    pub(crate) mode: Mode,
}

impl Quantifier {
    fn write(self, text: &mut String) {
        // Writing to a String cannot fail.
        let _ = match (self.least, self.most) {
            (0, Some(1)) => text.write_str("?"),
            (0, None) => text.write_str("*"),
            (1, None) => text.write_str("+"),
            (least, None) => write!(text, "{{{least},}}"),
            (least, Some(most)) if least == most => write!(text, "{{{least}}}"),
            (least, Some(most)) => write!(text, "{{{least},{most}}}"),
        };
        match self.mode {
            Mode::Greedy => {}
            Mode::Lazy => text.push('?'),
            Mode::Possessive => text.push('+'),
        }
    }
}
