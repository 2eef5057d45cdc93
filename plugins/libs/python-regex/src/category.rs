//! Character categories `\d`, `\s` and `\w`, and the word boundaries based on them.

use crate::parser::{Alphabet, Flags};

/// `\d`, `\s`, `\w` and their complements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Category {
    kind: Kind,
    negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Digit,
    Space,
    Word,
}

impl Category {
    /// Returns the category that the letter of an escape names.
    pub(crate) fn of(letter: char) -> Option<Category> {
        let kind = match letter.to_ascii_lowercase() {
            'd' => Kind::Digit,
            's' => Kind::Space,
            'w' => Kind::Word,
            _ => return None,
        };
        Some(Category { kind, negated: letter.is_ascii_uppercase() })
    }

    /// Returns the category on its own.
    pub(crate) fn as_set(self, alphabet: Alphabet, flags: Flags) -> String {
        let negation = if self.negated { "^" } else { "" };
        without_folding(format!("[{negation}{}]", self.kind.members(alphabet, flags)), flags)
    }

    /// Returns the category inside a set.
    pub(crate) fn as_members(self, alphabet: Alphabet, flags: Flags) -> String {
        let members = self.kind.members(alphabet, flags);
        if self.negated { format!("[^{members}]") } else { members.to_owned() }
    }
}

impl Kind {
    fn members(self, alphabet: Alphabet, flags: Flags) -> &'static str {
        match (self, alphabet) {
            (Kind::Space, _) if flags.ascii => r"\x09-\x0D\x20",
            (Kind::Space, Alphabet::Ascii) => r"\x09-\x0D\x1C-\x20",
            (Kind::Space, Alphabet::Unicode) => r"\s\x1C-\x1F",
            (Kind::Digit, Alphabet::Unicode) if !flags.ascii => r"\d",
            (Kind::Digit, _) => "0-9",
            (Kind::Word, Alphabet::Unicode) if !flags.ascii => r"\p{L}\p{N}_",
            (Kind::Word, _) => "0-9A-Za-z_",
        }
    }
}

/// Keeps the engine from folding the case of a large set, which is slow. For an ASCII set, folding would also let
/// characters outside ASCII in.
fn without_folding(text: String, flags: Flags) -> String {
    if flags.folds() { format!("(?-i:{text})") } else { text }
}

/// Translates `\b`: between a word character and any other, or at the ends of the text.
pub(crate) fn word_boundary(alphabet: Alphabet, flags: Flags) -> String {
    if alphabet == Alphabet::Ascii {
        return r"\b".to_owned();
    }
    let word = Kind::Word.members(alphabet, flags);
    without_folding(format!("(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))"), flags)
}

/// Translates `\B`: anywhere else, except in the empty text.
pub(crate) fn not_word_boundary(alphabet: Alphabet, flags: Flags) -> String {
    if alphabet == Alphabet::Ascii {
        return r"(?!\A\z)\B".to_owned();
    }
    let word = Kind::Word.members(alphabet, flags);
    without_folding(format!(r"(?!\A\z)(?:(?<=[{word}])(?=[{word}])|(?<![{word}])(?![{word}]))"), flags)
}
