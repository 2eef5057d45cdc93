//! Fractions: `3/4`, `½`, `\frac{3}{4}`.

use crate::number_power::leading_digits;

/// Returns a numerator and a denominator with a bar between them, and the text after them.
pub(crate) fn ratio(text: &str) -> Option<(&str, &str, &str)> {
    let (numerator, rest) = leading_digits(text.trim_start())?;
    let (denominator, rest) = leading_digits(rest.strip_prefix('/')?)?;
    Some((numerator, denominator, rest))
}

/// Returns the denominator after a numerator, with or without spaces around the bar, and the text after it.
pub(crate) fn slashed(text: &str) -> Option<(&str, &str)> {
    leading_digits(text.trim_start().strip_prefix('/')?.trim_start())
}

/// Returns a LaTeX fraction and the text after it: `\frac{3}{4}`, `\dfrac34`, `\tfrac{1.5}{2}`.
pub(crate) fn latex(text: &str) -> Option<((f64, f64), &str)> {
    let commands = ["\\frac", "\\dfrac", "\\tfrac", "\\cfrac"];
    let text = commands.iter().find_map(|command| text.strip_prefix(command))?;
    let (numerator, rest) = argument(text.trim_start())?;
    let (denominator, rest) = argument(rest.trim_start())?;
    Some(((numerator, denominator), rest))
}

/// Returns a number in braces, or one digit.
fn argument(text: &str) -> Option<(f64, &str)> {
    let (held, rest) = match text.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => text.split_at_checked(1)?,
    };
    let held = held.trim();
    let is_plain = held.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_plain.then(|| held.parse().ok()).flatten().map(|number| (number, rest))
}

/// Returns a single-character fraction and the text after it.
pub(crate) fn vulgar(text: &str) -> Option<(u8, u8, &str)> {
    let character = text.chars().next()?;
    let (numerator, denominator) = match character {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅐' => (1, 7),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        '⅑' => (1, 9),
        '⅒' => (1, 10),
        _ => return None,
    };
    Some((numerator, denominator, text.get(character.len_utf8()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_in_latex() {
        for (text, expected) in [
            (r"\frac{3}{4} m", Some(((3.0, 4.0), " m"))),
            (r"\dfrac34", Some(((3.0, 4.0), ""))),
            (r"\tfrac{1.5}{2}", Some(((1.5, 2.0), ""))),
            (r"\frac{x}{4}", None),
            (r"\frac{3}", None),
            (r"\frac{}{4}", None),
            ("3/4", None),
        ] {
            assert_eq!(latex(text), expected, "{text}");
        }
    }
}
