//! Numbers as Python reads and writes them.

use std::borrow::Cow;

/// The zero of each block of ten decimal digits in Unicode, in order.
const DIGIT_ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
    0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// Returns the ASCII digit with the same value as any Unicode decimal digit.
pub fn ascii_digit(character: char) -> Option<char> {
    // The most common characters need no table.
    if character.is_ascii() || matches!(character, '\u{2e80}'..='\u{a61f}') {
        return character.is_ascii_digit().then_some(character);
    }
    let code = u32::from(character);
    let block = DIGIT_ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?;
    let value = code.checked_sub(*DIGIT_ZEROS.get(block)?)?;
    char::from_digit(value, 10)
}

/// Implements Python's `float(text)`: surrounding white space, a sign, underscores between digits, decimal digits of
/// any script, `inf`, `infinity` and `nan` in any case; no thousands separators, no unit.
pub fn parse_float(text: &str) -> Option<f64> {
    // `float` strips Unicode white space, but not the separators U+001C to U+001F that `str.strip`
    // does: exactly what `trim` does.
    let text = text.trim();
    let text = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(with_ascii_digits(text)?) };
    let text = without_underscores(text)?;
    // Rust's grammar is the same from here on, and so is rounding to the nearest.
    text.parse().ok()
}

/// Returns the text with ASCII digits; `None` if a character outside ASCII is not a digit.
fn with_ascii_digits(text: &str) -> Option<String> {
    text.chars()
        .map(|character| if character.is_ascii() { Some(character) } else { ascii_digit(character) })
        .collect()
}

/// Returns the text without underscores; `None` if one is not between two digits.
fn without_underscores(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(text);
    }
    let between_digits = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(u8::is_ascii_digit) && bytes.last().is_some_and(u8::is_ascii_digit)
    };
    let mut parts = text.split('_');
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_default();
    let inner_ok = parts.all(between_digits);
    let ends_ok = first.ends_with(|character: char| character.is_ascii_digit())
        && last.starts_with(|character: char| character.is_ascii_digit());
    (inner_ok && ends_ok).then(|| Cow::Owned(text.replace('_', "")))
}

/// Returns a number as text: integers without a point, anything else as Python's `repr` spells it.
///
/// JSON does not distinguish `1.0` from `1`, so both are `1`.
pub fn float_text(number: f64) -> String {
    /// Above this, digits would be invented that the float does not hold.
    const MAX_PLAIN: f64 = 1e21;
    if number.fract() == 0.0 && number.abs() < MAX_PLAIN {
        // Adding zero turns -0 into 0.
        return format!("{:.0}", number + 0.0);
    }
    if !number.is_finite() {
        return non_finite_name(number).to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..16) => format!("{number}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        Err(_) => scientific,
    }
}

/// Returns the name that replaces a number that JSON cannot hold.
pub fn non_finite_name(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_python_reads() {
        for (text, expected) in [
            (" 3.5\n", 3.5),
            ("\u{3000}5\u{85}", 5.0),
            ("+5", 5.0),
            ("5.", 5.0),
            (".5", 0.5),
            ("1_0e1_0", 1e11),
            ("５_0", 50.0),
            ("٣.٥", 3.5),
            ("𝟗", 9.0),
            ("Infinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(parse_float(text), Some(expected), "{text:?}");
        }
        assert!(parse_float("+nan").is_some_and(f64::is_nan));
    }

    #[test]
    fn refuses_what_python_refuses() {
        for text in [
            "",
            ".",
            "1__0",
            "_1",
            "1_",
            "1._5",
            "1_.5",
            "1,000",
            "50%",
            "5 km",
            "0x10",
            "1e",
            "三",
            "5²",
            "½",
            "−5",
            "\u{feff}5",
            "\u{1c}5",
            "- 5",
            "infinit",
        ] {
            assert_eq!(parse_float(text), None, "{text:?}");
        }
    }

    #[test]
    fn writes_numbers() {
        for (number, expected) in [
            (12345.0, "12345"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e16, "10000000000000000"),
            (1.5e300, "1.5e+300"),
        ] {
            assert_eq!(float_text(number), expected);
        }
    }
}
