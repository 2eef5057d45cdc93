//! Positions in the text of a YAML document, and the texts that are inserted there.

use serde_json::Value;

/// Returns the line break that a text uses.
pub(super) fn line_break(text: &str) -> &'static str {
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the start of the line that contains a position.
pub(super) fn line_start(text: &str, position: usize) -> usize {
    text[..position].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the end of the line that contains a position, without its line break.
pub(super) fn line_end(text: &str, position: usize) -> usize {
    let end = text[position..].find('\n').map_or(text.len(), |newline| position + newline);
    if text[position..end].ends_with('\r') { end - 1 } else { end }
}

/// Returns the start of the line after the one that contains a position. The length of the text, if it is the last one.
pub(super) fn next_line(text: &str, position: usize) -> usize {
    text[position..].find('\n').map_or(text.len(), |newline| position + newline + 1)
}

/// Returns the blanks at the beginning of the line that contains a position.
pub(super) fn indentation(text: &str, position: usize) -> &str {
    let line = &text[line_start(text, position)..line_end(text, position)];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the number of bytes between the start of the line and a position.
pub(super) fn column(text: &str, position: usize) -> usize {
    position - line_start(text, position)
}

/// Returns whether only blanks are before a position on its line.
pub(super) fn begins_line(text: &str, position: usize) -> bool {
    text[line_start(text, position)..position].trim().is_empty()
}

/// Returns the end of a value in one piece. `None` for a block, an alias, and a value with an anchor or a tag.
/// `span_end` is the end of its span, which may be behind blanks and a comment.
pub(super) fn value_end(text: &str, start: usize, span_end: usize) -> Option<usize> {
    match text.as_bytes().get(start)? {
        b'"' | b'\'' => quoted_end(text, start),
        b'[' | b'{' => flow_end(text, start),
        b'|' | b'>' | b'*' | b'&' | b'!' => None,
        _ => Some(start + text.get(start..span_end)?.trim_end().len()),
    }
}

/// Returns the position after the closing quote.
fn quoted_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(start)?;
    let mut position = start + 1;
    loop {
        let one = *bytes.get(position)?;
        let is_doubled = one == b'\'' && bytes.get(position + 1) == Some(&b'\'');
        match one {
            b'\\' if quote == b'"' => position += 2,
            _ if one == quote && quote == b'\'' && is_doubled => position += 2,
            _ if one == quote => return Some(position + 1),
            _ => position += 1,
        }
    }
}

/// Returns the position after the bracket that closes a list or a mapping in flow style.
pub(super) fn flow_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut position, mut depth) = (start, 0_usize);
    // The last character that is not blank: a quote inside a word does not begin a string.
    let mut last = b',';
    let mut is_after_blank = true;
    loop {
        let one = *bytes.get(position)?;
        match one {
            b'"' | b'\'' if matches!(last, b'[' | b'{' | b',' | b':') => {
                position = quoted_end(text, position)?;
                (last, is_after_blank) = (b'"', false);
                continue;
            }
            b'#' if is_after_blank => {
                position = line_end(text, position);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            _ => {}
        }
        is_after_blank = one.is_ascii_whitespace();
        if !is_after_blank {
            last = one;
        }
        position += 1;
    }
}

/// Formats a string as a scalar: plain if YAML reads it as this string, or else in double quotes.
pub(super) fn scalar(text: &str, is_flow: bool, is_quoted: bool) -> String {
    if is_quoted || !is_plain(text, is_flow) {
        return Value::from(text).to_string();
    }
    text.to_owned()
}

/// Words that are not strings in some version of YAML.
const RESERVED: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];

fn is_plain(text: &str, is_flow: bool) -> bool {
    let is_safe = |one: char| {
        one.is_ascii_alphanumeric() || "._-/:@+".contains(one) || (!is_flow && "[]".contains(one))
    };
    let is_number = text.parse::<f64>().is_ok() || text.starts_with("0x") || text.starts_with("0o");
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(is_safe)
        && !text.ends_with(':')
        && !is_number
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}

/// A replacement of a part of a text.
pub(super) struct TextEdit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl TextEdit {
    /// Creates an insertion.
    pub(super) fn insert(position: usize, text: String) -> TextEdit {
        TextEdit { start: position, end: position, text }
    }
}

/// Applies edits that do not overlap. Of two at one position, the first of the list comes first.
pub(super) fn apply(text: &str, mut edits: Vec<TextEdit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut edited = text.to_owned();
    for edit in edits.iter().rev() {
        edited.replace_range(edit.start..edit.end, &edit.text);
    }
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_values_exclude_blanks_and_comments() {
        for (text, expected) in [
            ("plain  # a comment", Some("plain")),
            ("'it''s'  # a comment", Some("'it''s'")),
            (r#""a\"b" # c"#, Some(r#""a\"b""#)),
            ("[a, 'b]', {c: \"}\"}]  # ]", Some("[a, 'b]', {c: \"}\"}]")),
            ("{a: it's, # }\n b: 1}", Some("{a: it's, # }\n b: 1}")),
            ("{\"a\":\"b\"}", Some("{\"a\":\"b\"}")),
            ("[a, b", None),
            ("'a", None),
            ("*shared", None),
            ("&shared a", None),
            ("|\n  a", None),
        ] {
            let span_end = text.find(" #").unwrap_or(text.len());
            let found = value_end(text, 0, span_end).map(|end| &text[..end]);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn scalars_are_quoted_only_if_necessary() {
        for (text, is_flow, is_quoted, expected) in [
            ("word_recall", true, false, "word_recall"),
            ("word_recall", true, true, "\"word_recall\""),
            ("oci://registry.example/a/b:0.1.0", true, false, "oci://registry.example/a/b:0.1.0"),
            ("oci://[::1]:5000/a:1", false, false, "oci://[::1]:5000/a:1"),
            ("oci://[::1]:5000/a:1", true, false, "\"oci://[::1]:5000/a:1\""),
            ("12e34", false, false, "\"12e34\""),
            ("0x10", false, false, "\"0x10\""),
            ("No", false, false, "\"No\""),
            ("a b", false, false, "\"a b\""),
            ("", false, false, "\"\""),
        ] {
            assert_eq!(scalar(text, is_flow, is_quoted), expected);
        }
    }

    #[test]
    fn edits_are_applied_from_the_end() {
        let edits = vec![
            TextEdit { start: 0, end: 1, text: "longer".to_owned() },
            TextEdit::insert(3, "-".to_owned()),
            TextEdit::insert(3, "+".to_owned()),
        ];
        assert_eq!(apply("abcdef", edits), "longerbc-+def");
    }
}
