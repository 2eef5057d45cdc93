//! Numbers inside a running text.

use crate::number::ascii_digit;

/// The last number in a text, as a decimal without separators, such as `-1234.5` or `1e3`; takes
/// time in proportion to the text.
///
/// A number is an optional sign right before it, digits in any script with commas between groups of three
/// (or none), a point and digits, an exponent. Signs of currencies, percent and units are passed over;
/// of a fraction or a list it is the last part.
pub fn last_number(text: &str) -> Option<String> {
    let plain = |character: char| {
        ascii_digit(character).unwrap_or(match character {
            '\u{2212}' | '\u{ff0d}' => '-',
            '\u{ff0e}' => '.',
            '\u{ff0c}' => ',',
            other => other,
        })
    };
    let characters: Vec<char> = text.chars().map(plain).collect();
    let mut last = None;
    let mut at = 0;
    while at < characters.len() {
        match number_at(&characters, at) {
            Some((number, end)) => {
                last = Some(number);
                at = end;
            }
            None => at += 1,
        }
    }
    last
}

/// The number that begins at a place, and where it ends.
fn number_at(characters: &[char], start: usize) -> Option<(String, usize)> {
    let get = |at: usize| characters.get(at).copied();
    let digits_from =
        |at: usize| characters.iter().skip(at).take_while(|character| character.is_ascii_digit()).count();
    let mut number = String::new();
    let mut at = start;
    if let Some(sign @ ('-' | '+')) = get(at) {
        if sign == '-' {
            number.push(sign);
        }
        at += 1;
    }
    let mut whole = digits_from(at);
    number.extend(characters.iter().skip(at).take(whole));
    at += whole;
    // Groups of three, where what stands before the first comma may begin them.
    if (1..=3).contains(&whole) {
        while get(at) == Some(',') && digits_from(at + 1) == 3 {
            number.extend(characters.iter().skip(at + 1).take(3));
            at += 4;
            whole += 3;
        }
    }
    if get(at) == Some('.') {
        let decimals = digits_from(at + 1);
        if decimals > 0 {
            if whole == 0 {
                number.push('0');
            }
            number.extend(characters.iter().skip(at).take(decimals + 1));
            at += decimals + 1;
            whole += decimals;
        }
    }
    if whole == 0 {
        return None;
    }
    if matches!(get(at), Some('e' | 'E')) {
        let sign = usize::from(matches!(get(at + 1), Some('+' | '-')));
        let exponent = digits_from(at + 1 + sign);
        if exponent > 0 {
            let length = 1 + sign + exponent;
            number.extend(characters.iter().skip(at).take(length));
            at += length;
        }
    }
    Some((number, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_number_counts() {
        for (text, expected) in [
            ("42", Some("42")),
            ("The answer is 1,234.5", Some("1234.5")),
            ("$1,234", Some("1234")),
            ("-7", Some("-7")),
            ("−7", Some("-7")),
            ("5 - 3", Some("3")),
            ("3/4", Some("4")),
            ("50%", Some("50")),
            ("1e3", Some("1e3")),
            ("2.5e-3x", Some("2.5e-3")),
            ("12,34", Some("34")),
            ("v1.2.3", Some("0.3")),
            ("１２", Some("12")),
            ("答案是 36 元", Some("36")),
            ("0.5.", Some("0.5")),
            ("1 2 3", Some("3")),
            ("-.5", Some("-0.5")),
            ("+5", Some("5")),
            ("1234,567", Some("567")),
            ("no digits", None),
            ("", None),
        ] {
            assert_eq!(last_number(text).as_deref(), expected, "{text}");
        }
        assert!(last_number(&"1,".repeat(1 << 19)).is_some());
    }

    proptest! {
        #[test]
        fn what_is_found_is_a_number(text in "[0-9., eE+-]{0,24}") {
            let found = last_number(&text);
            prop_assert_eq!(found.is_some(), text.contains(|character: char| character.is_ascii_digit()));
            prop_assert!(found.is_none_or(|number| number.parse::<f64>().is_ok()));
        }
    }
}
