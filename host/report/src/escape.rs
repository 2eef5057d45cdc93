//! Text from outside, made harmless for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces characters that steer a terminal or hide what is read: control characters, marks
/// of writing direction, separators of lines and paragraphs, and invisible characters. They
/// become `\n` and the like, or `\u{1b}`; everything else stays.
pub fn escape_terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => escaped.extend(character.escape_default()),
            character if is_harmful(character) => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
            }
            character => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
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
            ("\u{e0041}\u{feff}", "\\u{e0041}\\u{feff}"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape_terminal(text), expected);
        }
    }
}
