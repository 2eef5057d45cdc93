//! The mark of decimals that a text uses: a point or a comma.

use gage_text_kit::number::ascii_digit;

/// Mark before decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Point,
    Comma,
}

/// Common words of languages that write decimals after a comma.
const COMMA_WORDS: [&str; 43] = [
    "der",
    "die",
    "das",
    "ist",
    "und",
    "er",
    "im",
    "mit",
    "wurden",
    "sind",
    "antwort",
    "beträgt",
    "ergebnis",
    "le",
    "les",
    "est",
    "réponse",
    "donc",
    "une",
    "des",
    "sont",
    "la",
    "el",
    "los",
    "las",
    "es",
    "un",
    "en",
    "año",
    "respuesta",
    "una",
    "por",
    "os",
    "é",
    "em",
    "há",
    "mais",
    "resposta",
    "são",
    "uma",
    "il",
    "risposta",
    "sono",
];

/// Common words of English, which writes decimals after a point.
const POINT_WORDS: [&str; 22] = [
    "the", "is", "are", "answer", "and", "so", "of", "to", "in", "has", "we", "it", "her", "his", "each",
    "that", "this", "she", "he", "there", "was", "for",
];

/// Returns the style of a text: that of its unambiguous numbers, or else that of its language.
pub(crate) fn style_of(text: &str) -> Style {
    /// Maximum number of bytes that are examined.
    const MAX_BYTES: usize = 1 << 15;
    let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
    let (points, commas) = evidence(text);
    if points != commas {
        return if commas > points { Style::Comma } else { Style::Point };
    }
    let mut score = 0_i32;
    for word in text.split(|one: char| !one.is_alphabetic()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        score += i32::from(COMMA_WORDS.contains(&word.as_str()));
        score -= i32::from(POINT_WORDS.contains(&word.as_str()));
        score += i32::from(word.chars().any(|one| matches!(one, 'а'..='я')));
    }
    if score > 0 { Style::Comma } else { Style::Point }
}

/// Counts the numbers that show a decimal point, and those that show a decimal comma.
fn evidence(text: &str) -> (u32, u32) {
    let (mut points, mut commas) = (0, 0);
    let is_part = |one: char| ascii_digit(one).is_some() || matches!(one, '.' | ',');
    for number in text.split(|one: char| !is_part(one)) {
        let number = number.trim_matches(['.', ',']);
        let marks: Vec<char> = number.chars().filter(|one| matches!(one, '.' | ',')).collect();
        let Some(last) = marks.last() else { continue };
        let decimals = number.chars().rev().take_while(|one| one != last).count();
        let is_clear = match marks.as_slice() {
            [_] => decimals != 3 || number.starts_with('0'),
            several => several.iter().filter(|one| *one == last).count() == 1,
        };
        if is_clear {
            *(if *last == '.' { &mut points } else { &mut commas }) += 1;
        }
    }
    (points, commas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_follow_numbers_and_then_words() {
        for (text, expected) in [
            ("12,5", Style::Comma),
            ("12.5", Style::Point),
            ("1.234,5", Style::Comma),
            ("1,234.5", Style::Point),
            ("0,125", Style::Comma),
            ("Das Ergebnis ist 1.234", Style::Comma),
            ("The result is 1,234", Style::Point),
            ("Ответ: 1.234", Style::Comma),
            ("共1,234人", Style::Point),
            ("1.234", Style::Point),
        ] {
            assert_eq!(style_of(text), expected, "{text}");
        }
    }
}
