//! Answers in words.

use crate::answer::Answer;
use crate::expression::{Expression, NamedNumber};

/// Commands of LaTeX around words.
const COMMANDS: &[&str] = &[
    "text",
    "textbf",
    "textit",
    "textrm",
    "textsf",
    "texttt",
    "mbox",
    "hbox",
    "textnormal",
    "emph",
    "mathrm",
    "mathbf",
    "mathit",
    "mathsf",
    "operatorname",
    "boxed",
    "fbox",
    "quad",
    "qquad",
    "displaystyle",
    "left",
    "right",
];

/// Articles before the first word.
const ARTICLES: &[&str] = &["a", "an", "the"];

/// Numbers in words, from zero on.
const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// Returns the words of an answer in lower case, without an article before them. `None` if it is not only words.
pub fn read_words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_alphabetic() {
            word.extend(character.to_lowercase());
            continue;
        }
        // An apostrophe is within a word.
        if matches!(character, '\'' | '’') && !word.is_empty() {
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character == '\\' {
            let mut name = String::new();
            while let Some(letter) = characters.next_if(char::is_ascii_alphabetic) {
                name.push(letter);
            }
            let is_space =
                name.is_empty() && characters.next_if(|next| " ,;:!()[]".contains(*next)).is_some();
            if !is_space && !COMMANDS.contains(&name.as_str()) {
                return None;
            }
        } else if !(character.is_whitespace() || ".,;:!?()[]{}$~\"“”'‘’-–`*".contains(character)) {
            return None;
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    if words.len() > 1 && words.first().is_some_and(|first| ARTICLES.contains(&first.as_str())) {
        words.remove(0);
    }
    (!words.is_empty()).then_some(words)
}

/// Returns the mathematical meaning of words that have one.
pub fn meaning_of(words: &[String]) -> Option<Answer> {
    let infinity = Expression::Named(NamedNumber::Infinity);
    Some(match words.join(" ").as_str() {
        "no solution"
        | "no solutions"
        | "empty set"
        | "null set"
        | "there is no solution"
        | "there are no solutions" => Answer::Empty,
        "infinity" | "positive infinity" => Answer::Value(infinity),
        "negative infinity" | "minus infinity" => Answer::Value(Expression::negative(infinity)),
        "all real numbers" | "all reals" | "real numbers" | "reals" | "set of all real numbers" => {
            Answer::NamedSet('R')
        }
        single => {
            let at = NUMBERS.iter().position(|number| *number == single)?;
            Answer::Value(Expression::whole(i64::try_from(at).ok()?))
        }
    })
}

/// Returns words in their usual form, if there are several for the same.
pub fn usual(words: Vec<String>) -> Vec<String> {
    match words.join(" ").as_str() {
        "dne" | "doesnt exist" | "it does not exist" | "limit does not exist" => {
            ["does", "not", "exist"].map(str::to_owned).into()
        }
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_their_notation() {
        for (text, expected) in [
            (r"\text{(B)}", Some("b")),
            ("an ellipse", Some("ellipse")),
            ("A", Some("a")),
            (r"$\text{Monday}$.", Some("monday")),
            (r"\text{No solutions}", Some("no solutions")),
            ("Doesn’t exist", Some("doesnt exist")),
            ("5 apples", None),
            (r"\frac{a}{b}", None),
            ("x = y", None),
            ("...", None),
        ] {
            assert_eq!(read_words(text).map(|words| words.join(" ")).as_deref(), expected, "{text}");
        }
    }
}
