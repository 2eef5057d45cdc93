//! Helpers for text and for JSON with texts or numbers. White space and case follow Unicode.

mod distance;
mod numbers;
mod thoughts;

pub use distance::{levenshtein_distance, levenshtein_within};
pub use numbers::flatten_numbers;
pub use thoughts::{strip_tags, strip_thought_tags};

use serde_json::Value;

/// Options of [`normalize_text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalize {
    /// True if case counts; false by default.
    pub case_sensitive: bool,
    /// True to trim white space; true by default.
    pub strip: bool,
    /// True to replace each run of white space with one blank; false by default.
    pub collapse_whitespace: bool,
}

impl Default for Normalize {
    fn default() -> Normalize {
        Normalize { case_sensitive: false, strip: true, collapse_whitespace: false }
    }
}

/// Normalizes a text for comparison.
pub fn normalize_text(text: &str, how: Normalize) -> String {
    let mut text = if how.strip { text.trim_matches(is_space) } else { text }.to_owned();
    if how.collapse_whitespace {
        let mut in_space = false;
        text = text
            .chars()
            .filter_map(|character| {
                let was_in_space = std::mem::replace(&mut in_space, is_space(character));
                if in_space { (!was_in_space).then_some(' ') } else { Some(character) }
            })
            .collect();
    }
    if how.case_sensitive { text } else { text.to_lowercase() }
}

/// Splits a text at white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Returns a JSON value as text: strings unchanged, null as the empty text, anything else as JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the texts in a JSON value: each item of a list, or the value itself. Nulls are omitted; otherwise
/// the same as [`text_of`].
pub fn texts_of(value: &Value) -> Vec<String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter(|item| !item.is_null()).map(text_of).collect()
}

/// Encloses a text in two lines of ten dashes, for a prompt. A line of the text with ten or more dashes
/// becomes `- - -`, so that the text cannot end its fence. Line ends become line feeds, and the last one is
/// removed.
pub fn fence(text: &str) -> String {
    const FENCE: &str = "----------";
    let text = text.replace("\r\n", "\n");
    let lines = text.strip_suffix(is_line_end).unwrap_or(&text).split(is_line_end).map(|line| {
        let dashes = line.trim_matches(is_space);
        if dashes.starts_with(FENCE) && dashes.bytes().all(|byte| byte == b'-') { "- - -" } else { line }
    });
    let lines: Vec<&str> = lines.collect();
    format!("{FENCE}\n{}\n{FENCE}", lines.join("\n"))
}

/// Returns whether readers and models treat the character as the end of a line.
fn is_line_end(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns whether the character is Unicode white space or a separator U+001C to U+001F, as in Python.
fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_normalized() {
        let default = Normalize::default();
        let cased = Normalize { case_sensitive: true, ..default };
        let collapsed = Normalize { collapse_whitespace: true, ..default };
        let collapsed_only = Normalize { strip: false, ..collapsed };
        for (text, how, expected) in [
            ("  A  b\tC\n", default, "a  b\tc"),
            ("  A  b\tC\n", cased, "A  b\tC"),
            ("  A  b\tC\n", collapsed, "a b c"),
            ("  A  b\tC\n", collapsed_only, " a b c "),
            ("\u{3000}中 文\u{3000}", collapsed, "中 文"),
            ("a\u{200b}b", collapsed, "a\u{200b}b"),
            ("a\u{1c}b", collapsed_only, "a b"),
            ("a\u{1c}b", default, "a\u{1c}b"),
            ("a\u{a0}b", default, "a\u{a0}b"),
            ("İ", collapsed, "i\u{307}"),
            ("ΑΣ ΑΣ.", default, "ας ας."),
            ("ﬀ", default, "ﬀ"),
            ("ǅ", default, "ǆ"),
            ("\u{2126}", default, "ω"),
        ] {
            assert_eq!(normalize_text(text, how), expected, "{text:?} {how:?}");
        }
    }

    #[test]
    fn words_stand_between_white_space() {
        assert_eq!(words(" a\u{3000}b\n\u{a0}c ").collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(words(" ").count(), 0);
    }

    #[test]
    fn texts_in_json() {
        assert_eq!(text_of(&json!(2)), "2");
        assert_eq!(text_of(&json!(null)), "");
        assert_eq!(texts_of(&json!(["a", null, true])), ["a", "true"]);
        assert_eq!(texts_of(&json!("a")), ["a"]);
        assert!(texts_of(&json!(null)).is_empty());
    }

    #[test]
    fn fences_hold() {
        for (text, expected) in [
            ("a", "----------\na\n----------"),
            ("3\n----------\nC", "----------\n3\n- - -\nC\n----------"),
            ("a\r ------------ \r\nC\n", "----------\na\n- - -\nC\n----------"),
            ("", "----------\n\n----------"),
            ("---------\nx ----------", "----------\n---------\nx ----------\n----------"),
        ] {
            assert_eq!(fence(text), expected, "{text:?}");
        }
    }
}
