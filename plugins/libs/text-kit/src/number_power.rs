//! Powers after a number: `× 10^3`, `*10**3`, `^2`, `³`.

/// Returns the power of ten that multiplies a number, and the text after it: `e3`, `×10^3`, `x 10^{-3}`, `·10³`,
/// `* 10**3`.
pub(crate) fn exponent(text: &str) -> Option<(i64, &str)> {
    if let Some(exponent) = text.strip_prefix(['e', 'E']) {
        return integer(exponent);
    }
    times_ten(text)
}

/// Returns the same as [`exponent`], but does not accept `e3`.
pub(crate) fn times_ten(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start_matches(' ');
    if !text.starts_with(['×', 'x', 'X', '*', '·', '⋅', '\\']) {
        return None;
    }
    let times = ["×", "x", "X", "*", "·", "⋅", "\\times", "\\cdot"];
    let text = times.iter().find_map(|times| text.strip_prefix(times))?;
    raised(text.trim_start_matches(' ').strip_prefix("10")?)
}

/// Returns the exponent of a number, and the text after it: `^3`, `^{-3}`, `^(3)`, `**3`, `³`.
pub(crate) fn raised(text: &str) -> Option<(i64, &str)> {
    let Some(raised) = text.strip_prefix('^').or_else(|| text.strip_prefix("**")) else {
        return superscript(text);
    };
    for (open, close) in [('{', '}'), ('(', ')')] {
        if let Some(inner) = raised.strip_prefix(open) {
            let (exponent, rest) = integer(inner)?;
            return Some((exponent, rest.strip_prefix(close)?));
        }
    }
    integer(raised)
}

/// Raises an integer to a power. A power of ten is as exact as a float allows.
pub(crate) fn power(base: f64, exponent: i64) -> Option<f64> {
    if base == 10.0 {
        return format!("1e{exponent}").parse().ok();
    }
    Some(base.powi(i32::try_from(exponent).ok()?))
}

fn integer(text: &str) -> Option<(i64, &str)> {
    let unsigned = text.strip_prefix(['+', '-', '−']).unwrap_or(text);
    let (digits, rest) = leading_digits(unsigned)?;
    // Six digits: far beyond any float, and far from overflow.
    let value: i64 = if digits.len() <= 6 { digits.parse().ok()? } else { 999_999 };
    Some((if text.starts_with(['-', '−']) { -value } else { value }, rest))
}

/// Splits off the ASCII digits that a text begins with.
pub(crate) fn leading_digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn superscript(text: &str) -> Option<(i64, &str)> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let unsigned = text.strip_prefix('⁻').unwrap_or(text);
    let end = unsigned.find(|character| !DIGITS.contains(&character)).unwrap_or(unsigned.len());
    if end == 0 {
        return None;
    }
    let (raised, rest) = unsigned.split_at(end);
    let digit = |character| DIGITS.iter().position(|digit| *digit == character);
    let digits: String =
        raised.chars().filter_map(digit).filter_map(|digit| char::from_digit(digit as u32, 10)).collect();
    let (value, _) = integer(&digits)?;
    Some((if unsigned.len() < text.len() { -value } else { value }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers() {
        for (text, expected) in [
            ("e3", Some((3, ""))),
            ("E-3x", Some((-3, "x"))),
            ("×10^3 m", Some((3, " m"))),
            (r" \times 10^{-3}", Some((-3, ""))),
            ("x10⁻³", Some((-3, ""))),
            (" * 10**3", Some((3, ""))),
            ("·10^(2)", Some((2, ""))),
            (" x 10", None),
            ("×100", None),
            ("^3", None),
            ("e", None),
        ] {
            assert_eq!(exponent(text), expected, "{text}");
        }
        for (text, expected) in
            [("^3", Some(3)), ("**-3", Some(-3)), ("³", Some(3)), ("** 5", None), ("^n", None), ("", None)]
        {
            assert_eq!(raised(text).map(|(exponent, _)| exponent), expected, "{text}");
        }
        assert_eq!((power(10.0, -3), power(2.0, 10)), (Some(0.001), Some(1024.0)));
    }
}
