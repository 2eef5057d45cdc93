//! JSON integers that do not fit in 64 bits.

use std::borrow::Cow;

/// Minimum number of digits of such an integer.
const MIN_DIGITS: usize = 19;

/// Quotes the integers in JSON that do not fit in 64 bits, so that they are read as text. Two different ones
/// can therefore not become equal by rounding. The text must be JSON; everything else in it is unchanged.
pub fn quote_long_integers(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !may_have_any(bytes) {
        return Cow::Borrowed(text);
    }
    let (mut quoted, mut copied, mut at) = (String::new(), 0, 0);
    let mut is_in_text = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if is_in_text => at += 1,
            b'"' => is_in_text = !is_in_text,
            b'-' | b'0'..=b'9' if !is_in_text => {
                let is_part =
                    |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let end = at + bytes[at..].iter().take_while(is_part).count();
                if is_long(&text[at..end]) {
                    quoted.extend([&text[copied..at], "\"", &text[at..end], "\""]);
                    copied = end;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    quoted.push_str(&text[copied..]);
    Cow::Owned(quoted)
}

/// Returns whether the text has a run of at least that many digits. Checks few bytes, since most texts have
/// none.
fn may_have_any(bytes: &[u8]) -> bool {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    // A run of that length covers one of these positions.
    (MIN_DIGITS - 1..bytes.len()).step_by(MIN_DIGITS).any(|place| {
        let (before, behind) = bytes.split_at(place);
        let digits = behind.iter().take_while(is_digit).count();
        digits > 0 && digits + before.iter().rev().take_while(is_digit).count() >= MIN_DIGITS
    })
}

fn is_long(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= MIN_DIGITS
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_64_bits_do_not_hold_is_quoted() {
        for (text, expected) in [
            (r#"{"a": 12345678901234567890123, "b": 5}"#, r#"{"a": "12345678901234567890123", "b": 5}"#),
            (
                "[-12345678901234567890,18446744073709551616]",
                r#"["-12345678901234567890","18446744073709551616"]"#,
            ),
            ("[18446744073709551615,-9223372036854775808]", "[18446744073709551615,-9223372036854775808]"),
            (r#"["\"12345678901234567890123"]"#, r#"["\"12345678901234567890123"]"#),
            ("[1.2345678901234567890123]", "[1.2345678901234567890123]"),
            ("[12345678901234567890123e2]", "[12345678901234567890123e2]"),
            ("{}", "{}"),
        ] {
            assert_eq!(quote_long_integers(text), expected, "{text}");
        }
    }
}
