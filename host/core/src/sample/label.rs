//! The label: the first reference as a string.

use super::{ChoiceOption, Reference};
use crate::content::ContentPart;
use crate::json_decode::FieldReader;
use serde_json::Number;
use serde_json_borrow::Value as BorrowedValue;
use std::borrow::Cow;

/// Numbers with more digits are compared as text.
const MAX_EXACT_DIGITS: usize = 15;
/// Maximum length of a text shown in a message.
const MAX_SHOWN_CHARACTERS: usize = 80;

/// Reads a label, which must agree with the first reference if both are given. A missing label becomes the
/// text of that reference.
pub(super) fn read(
    value: BorrowedValue<'_>,
    references: &[Reference],
    options: &[ChoiceOption],
    reading: &mut FieldReader<'_>,
) -> Option<String> {
    let first = references.first();
    let label = match value {
        BorrowedValue::Null => return first.map(Reference::text),
        BorrowedValue::Str(text) => text.into_owned(),
        BorrowedValue::Number(number) => Number::from(number).to_string(),
        BorrowedValue::Bool(value) => value.to_string(),
        other => return reading.reject("a string", &other),
    };
    if let Some(first) = first
        && !agrees(&label, first, options)
    {
        reading.problem(format!(
            "'{}' differs from references[0], '{}'; allowed: its text, its number, the id or content of \
             that option, or no label",
            shown(&label),
            shown(&first.text())
        ));
    }
    Some(label)
}

/// Returns whether a label matches a reference. For media, it may be any of their names.
fn agrees(label: &str, reference: &Reference, options: &[ChoiceOption]) -> bool {
    let text = match reference.answer.as_slice() {
        [ContentPart::Media { .. }, ..] => return true,
        [ContentPart::Text { text, .. }] => Cow::Borrowed(text.as_str()),
        _ => Cow::Owned(reference.text()),
    };
    label.trim() == text.trim()
        || is_same(label, &text)
        || options.iter().any(|option| {
            (is_same(&option.id, label) && is_same(&option.content, &text))
                || (is_same(&option.id, &text) && is_same(&option.content, label))
        })
}

/// Returns whether two texts differ only in case, white space, surrounding punctuation, or the spelling of a
/// number.
fn is_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let core = text.trim_matches(|character: char| {
            character.is_whitespace() || matches!(character, '.' | '!' | '?' | '"' | '\'' | '“' | '”' | '。')
        });
        core.split_whitespace().map(str::to_lowercase).collect()
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one == other,
        _ => words(one) == words(other),
    }
}

/// Parses a text as a number, with or without thousands separators.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (whole, _) = text.split_once('.').unwrap_or((text, ""));
    let has_groups = whole.contains(',');
    let is_grouped = !whole.starts_with(',') && whole.split(',').skip(1).all(|group| group.len() == 3);
    let digits = text.chars().filter(char::is_ascii_digit).count();
    if digits == 0 || digits > MAX_EXACT_DIGITS || (has_groups && !is_grouped) {
        return None;
    }
    let plain =
        if has_groups { Cow::Owned(text.replacen(',', "", whole.matches(',').count())) } else { text.into() };
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LazyObject;

    #[test]
    fn labels_agree_in_their_normal_form() {
        let options = [("A", "Shark"), ("B", "Dolphin")].map(|(id, content)| ChoiceOption {
            id: id.to_owned(),
            content: content.to_owned(),
            extra: LazyObject::default(),
        });
        let cases = [
            ("Paris", "Paris", true),
            (" paris. ", "Paris", true),
            ("new  york", "New York", true),
            ("1234", "1,234", true),
            ("4", "4.0", true),
            ("B", "Dolphin", true),
            ("Dolphin", "B", true),
            ("Rome", "Paris", false),
            ("A", "Dolphin", false),
            ("5", "-5", false),
            ("15", "1,5", false),
            ("15", "1.5", false),
            ("9007199254740993", "9007199254740992", false),
            ("nan", "inf", false),
            ("", "Paris", false),
        ];
        for (label, text, expected) in cases {
            let answer = vec![ContentPart::text(text)];
            let reference = Reference { answer, meta: LazyObject::default(), extra: LazyObject::default() };
            assert_eq!(agrees(label, &reference, &options), expected, "{label} / {text}");
        }
    }
}
