//! The part of an answer that is searched.

use crate::scan::{find_any, leading, set_of, trailing};
use gage_text_kit::text::{fold, strip};
use gage_text_kit::thoughts::{before_open_thought, strip_thought_tags};
use std::borrow::Cow;

/// Returns the answer without thoughts and surrounding white space, with fullwidth forms as ASCII.
pub(crate) fn readable(answer: &str) -> Cow<'_, str> {
    let answer = without_ascii_space(answer);
    if !has_thought_tag(answer) {
        return folded(answer);
    }
    match strip_thought_tags(answer) {
        Cow::Borrowed(answer) => folded(before_open_thought(answer)),
        Cow::Owned(answer) => Cow::Owned(folded(before_open_thought(&answer)).into_owned()),
    }
}

/// Returns a text without surrounding white space, with fullwidth forms as ASCII. Most answers are plain, and need no
/// copy.
fn folded(answer: &str) -> Cow<'_, str> {
    match may_fold(answer) {
        true => Cow::Owned(strip(&fold(answer)).to_owned()),
        false => Cow::Borrowed(strip(answer)),
    }
}

/// ASCII characters that are white space.
static SPACES: [bool; 256] = set_of(b" \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f");

/// Removes white space at the ends, as far as it is ASCII. An answer may have much of it.
fn without_ascii_space(text: &str) -> &str {
    let text = text.get(leading(text.as_bytes(), &SPACES)..).unwrap_or_default();
    text.get(..text.len() - trailing(text.as_bytes(), &SPACES)).unwrap_or_default()
}

/// Returns whether a text has a tag of a thought.
fn has_thought_tag(text: &str) -> bool {
    let is_tag = |rest: &[u8]| rest.starts_with(b"<think>") || rest.starts_with(b"</think>");
    any_place(text.as_bytes(), [b'<'], is_tag)
}

/// Returns whether [`fold`] may change a text: whether it has an ideographic space, a curly quote or a fullwidth form.
fn may_fold(text: &str) -> bool {
    let is_folded = |rest: &[u8]| {
        matches!(
            rest,
            [0xe3, 0x80, 0x80, ..] | [0xe2, 0x80, 0x98 | 0x99 | 0x9c | 0x9d, ..] | [0xef, 0xbc | 0xbd, ..]
        )
    };
    !text.is_ascii() && any_place(text.as_bytes(), [0xe2, 0xe3, 0xef], is_folded)
}

/// Returns whether a condition holds for the rest of a text from one of the places of some bytes.
fn any_place<const COUNT: usize>(bytes: &[u8], wanted: [u8; COUNT], is_it: impl Fn(&[u8]) -> bool) -> bool {
    let mut from = 0;
    while let Some(at) = find_any(bytes, from, wanted) {
        if bytes.get(at..).is_some_and(&is_it) {
            return true;
        }
        from = at + 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_and_spaces_go() {
        for (answer, expected) in [
            (" \n B \u{3000}\u{1c}", "B"),
            ("\u{3000}Ｂ\u{3000}", "B"),
            ("<think>x</think> Ｂ", "B"),
            ("x</think>\u{a0}B ", "B"),
            ("“B” <think>no", "\"B\""),
            ("B <thin", "B <thin"),
            ("", ""),
        ] {
            assert_eq!(readable(answer), expected, "{answer}");
        }
    }

    #[test]
    fn whatever_folds_is_found() {
        for character in '\0'..=char::MAX {
            let text = format!("a{character}");
            assert!(may_fold(&text) || matches!(fold(&text), Cow::Borrowed(_)), "{character:?}");
        }
    }
}
