//! Digits with separators between them: `1,234.5`, `1 234,5`, `12,34,567`.

/// Characters allowed between digits.
const SEPARATORS: &[char] = &[',', '.', ' ', '\'', '_'];

/// Splits off the digits that a text begins with, including separators between them.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    loop {
        let is_part = match bytes.get(end) {
            Some(byte) if byte.is_ascii_digit() => true,
            Some(b'.') => is_digit(end + 1),
            Some(b',' | b'\'' | b'_') => end > 0 && is_digit(end + 1),
            // A space joins only a whole group of three: `1 234`, but not `1 1/2`.
            Some(b' ') => end > 0 && (1..=3).all(|ahead| is_digit(end + ahead)) && !is_digit(end + 4),
            _ => false,
        };
        if !is_part {
            return text.split_at(end);
        }
        end += 1;
    }
}

/// Returns the digits without separators, and with a decimal point if there is one; `None` if the meaning of the
/// separators is unclear.
///
/// A single point is a decimal point. A single comma is a decimal comma, unless it has one to three digits before it
/// and three after. With two kinds of separators, the last one is the decimal separator. The others separate groups of
/// three digits, or the groups of Indian numbers (`12,34,567`).
pub(crate) fn plain(digits: &str) -> Option<String> {
    let mut kinds = digits.chars().filter(|character| !character.is_ascii_digit());
    let Some(last) = kinds.next_back() else { return Some(digits.to_owned()) };
    let count = 1 + kinds.clone().filter(|kind| *kind == last).count();
    let (whole, fraction) = match (kinds.next(), last) {
        (None, '.') => digits.split_once('.')?,
        (None, ',') if !is_grouped(digits, ',') => digits.split_once(',')?,
        (Some(first), '.' | ',') if first != last && count == 1 => {
            let (whole, fraction) = digits.rsplit_once(last)?;
            return grouped(whole, first).map(|whole| format!("{whole}.{fraction}"));
        }
        (_, separator) => return grouped(digits, separator),
    };
    Some(format!("{}.{fraction}", if whole.is_empty() { "0" } else { whole }))
}

/// Returns the digits of groups without their separator.
fn grouped(digits: &str, separator: char) -> Option<String> {
    is_grouped(digits, separator).then(|| digits.replace(separator, ""))
}

fn is_grouped(digits: &str, separator: char) -> bool {
    if digits.contains(|character| SEPARATORS.contains(&character) && character != separator) {
        return false;
    }
    let lengths: Vec<usize> = digits.split(separator).map(str::len).collect();
    let [first, middle @ .., last] = lengths.as_slice() else { return false };
    if separator == '_' {
        return *first > 0 && *last > 0;
    }
    let starts_well = (1..=3).contains(first) && !digits.starts_with('0');
    let is_western = middle.iter().all(|length| *length == 3);
    let is_indian = separator == ',' && *first <= 2 && middle.iter().all(|length| *length == 2);
    starts_well && *last == 3 && (is_western || is_indian)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators() {
        for (digits, expected) in [
            ("1234", Some("1234")),
            ("1,234.5", Some("1234.5")),
            ("1.234,5", Some("1234.5")),
            ("1 234,5", Some("1234.5")),
            ("1 234", Some("1234")),
            ("1'234.5", Some("1234.5")),
            ("1_000_000", Some("1000000")),
            ("12,34,567", Some("1234567")),
            ("12,34,567.8", Some("1234567.8")),
            ("1,234,567", Some("1234567")),
            ("1.234.567", Some("1234567")),
            ("1,234", Some("1234")),
            ("1.234", Some("1.234")),
            ("3,14", Some("3.14")),
            ("0,123", Some("0.123")),
            (".5", Some("0.5")),
            ("1.2.3", None),
            ("1,2,3", None),
            ("1,23,4", None),
            ("1,234.567.8", None),
            ("1.2,3.4", None),
            ("12,3456,789", None),
        ] {
            assert_eq!(plain(digits).as_deref(), expected, "{digits}");
        }
    }

    #[test]
    fn splits() {
        for (text, digits) in [
            ("1 1/2", "1"),
            ("1 234 m", "1 234"),
            ("1 2345", "1"),
            ("5.", "5"),
            ("5, 6", "5"),
            (",5", ""),
            (".5e3", ".5"),
            ("x", ""),
        ] {
            assert_eq!(split(text).0, digits, "{text}");
        }
    }
}
