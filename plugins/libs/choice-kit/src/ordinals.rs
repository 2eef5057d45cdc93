//! Options that an answer names by their place: `the second option`, `la primera opción`, `第二个选项`.

use crate::characters::{is_blank, split_last_word, word_at};
use crate::choices::Choices;
use crate::vocabulary::{ARTICLES, OPTION_NOUNS};

/// Beginnings of the ordinals from the first to the tenth, in the languages of [`crate::vocabulary`].
const STEMS: [&str; 10] = [
    "first 1st erste premier premièr primer primeir prim перв",
    "second 2nd zweite deuxième seconde segund втор",
    "third 3rd dritte troisième tercer terceir terz трет",
    "fourth 4th vierte quatrième cuart quart четв",
    "fifth 5th fünfte cinquième quint пят",
    "sixth 6th sechste sixième sext sest шест",
    "seventh 7th siebte septième séptim sétim settim седьм",
    "eighth 8th achte huitième octav oitav ottav восьм",
    "ninth 9th neunte neuvième noven non девят",
    "tenth 10th zehnte dixième décim decim десят",
];

/// Beginnings of `last`.
const LAST: &str = "last letzte dernier dernièr últim ultim последн";

/// Maximum length of what follows the beginning of an ordinal, in bytes: `zweiten`, `второй`.
const MAX_ENDING_BYTES: usize = 6;

const EAST_ASIAN_DIGITS: &[&str] = &["一", "二", "三", "四", "五", "六", "七", "八", "九", "十"];
const EAST_ASIAN_LAST: &[&str] = &["最后一个", "最后一项", "最後の", "마지막"];
const KOREAN: &[&str] = &["첫", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열"];

/// Returns the label of the option whose place the text at `at` names. A word for an option must follow the ordinal.
pub(crate) fn ordinal(lower: &str, at: usize, choices: &Choices) -> Option<String> {
    let rest = lower.get(at..)?;
    east_asian(rest).or_else(|| western(lower, at))?.label(choices)
}

/// Returns the label of the option whose place is named before the word for an option that ends at `end`.
pub(crate) fn ordinal_before(lower: &str, end: usize, choices: &Choices) -> Option<String> {
    let before = lower.get(..end)?;
    if let Some(from) = EAST_ASIAN_NOUNS.iter().find_map(|noun| before.strip_suffix(noun)) {
        let start = from.char_indices().rev().nth(MAX_EAST_ASIAN_CHARACTERS - 1)?.0;
        return east_asian(before.get(start..)?)?.label(choices);
    }
    let (before, noun) = split_last_word(before);
    if !OPTION_NOUNS.contains(noun) {
        return None;
    }
    place(split_last_word(before.trim_end_matches(is_blank)).1)?.label(choices)
}

const EAST_ASIAN_NOUNS: &[&str] = &["选项", "選択肢"];

/// Number of characters of a Chinese ordinal: `第三个`.
const MAX_EAST_ASIAN_CHARACTERS: usize = 3;

/// Place of an option.
#[derive(Clone, Copy)]
enum Place {
    /// Counted from 0.
    Number(usize),
    Last,
}

impl Place {
    fn label(self, choices: &Choices) -> Option<String> {
        let mut labels = choices.options().map(|(label, _)| label.to_owned());
        match self {
            Place::Last => labels.last(),
            Place::Number(number) if choices.is_unknown() => ('A'..='Z').nth(number).map(String::from),
            Place::Number(number) => labels.nth(number),
        }
    }
}

fn western(lower: &str, at: usize) -> Option<Place> {
    let mut at = at;
    let mut word = word_at(lower, at);
    if ARTICLES.contains(word) {
        at += word.len();
        at += blanks(lower, at);
        word = word_at(lower, at);
    }
    let place = place(word)?;
    let end = at + word.len();
    let noun = word_at(lower, end + blanks(lower, end));
    OPTION_NOUNS.contains(noun).then_some(place)
}

/// Returns the place that an ordinal means.
fn place(word: &str) -> Option<Place> {
    if word.is_empty() {
        return None;
    }
    let is = |stems: &str| {
        stems.split(' ').any(|stem| word.strip_prefix(stem).is_some_and(|end| end.len() <= MAX_ENDING_BYTES))
    };
    let number = STEMS.iter().position(|stems| is(stems)).map(Place::Number);
    number.or_else(|| is(LAST).then_some(Place::Last))
}

fn blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.len() - rest.trim_start_matches(is_blank).len()
}

fn east_asian(rest: &str) -> Option<Place> {
    if EAST_ASIAN_LAST.iter().any(|last| rest.starts_with(last)) {
        return Some(Place::Last);
    }
    let position = |words: &[&str], rest: &str| words.iter().position(|word| rest.starts_with(word));
    if let Some(after) = rest.strip_prefix('第') {
        let number = position(EAST_ASIAN_DIGITS, after)?;
        let counter = after.chars().nth(1)?;
        return matches!(counter, '个' | '项' | '個' | '項' | '選').then_some(Place::Number(number));
    }
    let number = position(KOREAN, rest)?;
    let word = KOREAN.get(number)?;
    let after = rest.get(word.len()..)?.trim_start_matches(is_blank);
    after.starts_with("번째").then_some(Place::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    #[test]
    fn places_of_options() {
        let choices = Choices::new(&Value::Json(r#"{"A":"1","B":"2","C":"3"}"#.to_owned()));
        for (text, expected) in [
            ("the second option", Some("B")),
            ("first choice", Some("A")),
            ("the last one", Some("C")),
            ("die zweite antwort", Some("B")),
            ("la première option", Some("A")),
            ("la tercera opción", Some("C")),
            ("a última alternativa", Some("C")),
            ("второй вариант", Some("B")),
            ("第二个选项", Some("B")),
            ("두 번째", Some("B")),
            ("the second law", None),
            ("the fourth option", None),
            ("option", None),
        ] {
            assert_eq!(ordinal(text, 0, &choices).as_deref(), expected, "{text}");
        }
        assert_eq!(ordinal("the second option", 0, &Choices::default()).as_deref(), Some("B"));
        assert_eq!(ordinal("the last option", 0, &Choices::default()), None);
    }
}
