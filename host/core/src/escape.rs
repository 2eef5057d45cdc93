//! Escaping of untrusted text that is shown to people.

use std::borrow::Cow;

/// Escapes everything in a text that controls a terminal or hides content: control characters except line
/// breaks and tabs, bidirectional marks, line and paragraph separators, and invisible characters. They become
/// `\u{1b}` and the like; other characters are unchanged.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_harmful(character) && !matches!(character, '\n' | '\t'))
}

/// Like [`printable`], but on one line: line breaks and tabs become `\n` and `\t`.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escape(text, is_harmful)
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' if is_escaped(character) => escaped.extend(character.escape_default()),
            _ if is_escaped(character) => escaped.extend(character.escape_unicode()),
            _ => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes a text for an HTML element or attribute value: markup, and everything that [`printable`] escapes.
pub fn printable_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in printable(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns the message of an error of the operating system, without its number and in lower case.
pub fn system_message(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or(&text);
    let mut letters = text.chars();
    // An abbreviation keeps its capitals.
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_stays() {
        let cases = [
            ("plain, é, 中文, 👩‍🚀, \\", "plain, é, 中文, 👩‍🚀, \\"),
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{202e}txt\u{2066}\u{200f}", "\\u{202e}txt\\u{2066}\\u{200f}"),
            ("\0\u{7f}\u{9b}", "\\u{0}\\u{7f}\\u{9b}"),
            ("\u{e0041}\u{e0101}\u{feff}", "\\u{e0041}\\u{e0101}\\u{feff}"),
            ("pass\u{ad}word\u{3164}", "pass\\u{ad}word\\u{3164}"),
        ];
        for (text, expected) in cases {
            assert_eq!(printable_line(text), expected);
        }
        assert_eq!(printable("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
        assert_eq!(
            printable_html("<a href=\"x\">'&\u{202e}"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\\u{202e}"
        );
    }
}
