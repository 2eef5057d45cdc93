//! Output that cannot steer the terminal, whatever names and texts from outside are in it.

use gage_core::printable;

/// Escapes everything that [`printable`] escapes, except for colours and other styles of text.
pub(super) fn printable_with_styles(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        shown.push_str(&printable(before));
        let length = after.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        let (numbers, end) = after.split_at(length);
        rest = match end.strip_prefix('m') {
            Some(end) => {
                shown.push_str("\u{1b}[");
                shown.push_str(numbers);
                shown.push('m');
                end
            }
            None => {
                shown.push_str(&printable("\u{1b}["));
                after
            }
        };
    }
    shown.push_str(&printable(rest));
    shown
}

/// Writes the characters of a JSON text that [`printable`] escapes as JSON does: `\u202e`. They occur only within strings,
/// so the values stay the same.
pub(super) fn json_with_escapes(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut letters = [0_u8; 4];
    for letter in json.chars() {
        let one = &*letter.encode_utf8(&mut letters);
        if printable(one) == one {
            shown.push_str(one);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]).iter() {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_styles_and_line_breaks_reach_the_terminal() {
        for (text, expected) in [
            ("\u{1b}[1mbold\u{1b}[0m\n\ta", "\u{1b}[1mbold\u{1b}[0m\n\ta"),
            ("\u{1b}[38;5;1mred", "\u{1b}[38;5;1mred"),
            ("a\u{1b}]0;x\u{7}b\u{202e}\r", "a\\u{1b}]0;x\\u{7}b\\u{202e}\\r"),
            ("\u{1b}[2J\u{1b}[1A\u{1b}[\u{1b}[mé", "\\u{1b}[2J\\u{1b}[1A\\u{1b}[\u{1b}[mé"),
        ] {
            assert_eq!(printable_with_styles(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_keeps_its_values_and_steers_no_terminal() {
        let value = serde_json::json!({"a\u{202e}": ["é\u{9b}\u{7f}\u{e0041}", "\u{1b}\n", "👩\u{200d}🚀"]});
        let text = json_with_escapes(&format!("{value:#}"));
        assert!(text.contains(r"a\u202e") && text.contains(r"é\u009b\u007f\udb40\udc41"), "{text}");
        assert!(text.contains("👩\u{200d}🚀") && printable(&text) == text, "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok(), Some(value));
    }
}
