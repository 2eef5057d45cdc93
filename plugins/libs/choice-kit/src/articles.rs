//! Words of one letter that are not labels: the articles *a* and *o*, the pronoun *I*, *e*, *o* and *y* for *and* or
//! *or*.

use crate::characters::{is_blank, is_word, split_last_word, word_at};
use crate::verdict::{rest_of_list, verdict};
use crate::vocabulary::{OPTION_NOUNS, Words};

/// Words after `A` that show that it is a label, not an article: `A is right`, `A ist falsch`.
static AFTER_LABEL: Words = Words::new(&[
    "is was because as since and or but seems would must will should can cannot could has looks appears isn't wasn't",
    "doesn't does states says describes refers fits makes matches contains represents over instead rather not being",
    "can't won't wouldn't remains remain holds explains gives shows confuses contradicts names misses ignores uses",
    "assumes requires means lacks violates mentions concerns belongs works follows corresponds fails suggests implies",
    "for if when in to with on at from by than then whereas while unlike although so which",
    "ist war wäre kann weil und oder aber trifft beschreibt scheidet passt gilt nennt bedeutet als wenn bei für statt",
    "est était serait et ou car mais décrit peut convient pour si quand",
    "es era sería o y porque pero puede describe está",
    "é seria ou pois mas porque descreve está",
    "è sarebbe ma perché descrive può",
    "и или не это потому верно неверно верен неверен описывает подходит",
]);

/// Words after `E`, `I`, `O`, `U` and `Y` that show that it is a label. These letters are words in several languages, so
/// the list has only words that follow none of those.
static AFTER_OTHER_LABEL: Words =
    Words::new(&["is because or and since", "ist und oder weil", "est", "и или"]);

/// Roman numerals after `I and`, which make it a numeral too: `statements I and II`.
static NUMERALS: Words = Words::new(&["ii iii iv v vi"]);

/// Returns whether the letter at `at` is a word of one letter. `text` and `lower` are the same text, the second in lower
/// case. `says` tells whether the text at a position is that of the letter's option, or of another one.
pub(crate) fn is_word_of_one_letter(
    text: &str,
    lower: &str,
    at: usize,
    says: impl Fn(usize) -> Option<bool>,
) -> bool {
    let Some((letter, rest)) = lower.get(at..).and_then(|rest| rest.split_at_checked(1)) else {
        return false;
    };
    if !matches!(letter, "a" | "e" | "i" | "o" | "u" | "y") {
        return false;
    }
    let is_upper = text.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
    // An article may end a line, but a label in upper case at the end of a line is one.
    let next = match is_upper {
        true => rest.trim_start_matches(is_blank),
        false => rest.trim_start(),
    };
    if next.len() == rest.len() || !next.starts_with(is_word) {
        return false;
    }
    let next_at = lower.len() - next.len();
    let after = word_at(lower, next_at);
    if letter == "i" && is_numeral_list(next, after) {
        return true;
    }
    let after_label = if letter == "a" { &AFTER_LABEL } else { &AFTER_OTHER_LABEL };
    // `A by-product` is one thing.
    let is_compound = next.get(after.len()..).is_some_and(|rest| rest.starts_with('-'));
    let begins_name = !is_compound && after_label.contains(after);
    if let Some(is_own) = says(next_at) {
        return !is_own;
    }
    if begins_name || (is_upper && is_in_list(rest)) {
        return false;
    }
    let before = lower.get(..at).unwrap_or_default();
    let near = before.trim_end_matches(is_blank);
    if !is_upper {
        return true;
    }
    if OPTION_NOUNS.contains(split_last_word(near).1) || is_chosen(near) {
        return false;
    }
    // `I` is a pronoun in upper case anywhere, the others only at the beginning of a sentence or in a title.
    letter == "i" || (!is_inside_sentence(text, near, next_at) && !is_judged(lower, at))
}

/// Returns whether the letter continues as a list: `A e B`.
fn is_in_list(rest: &str) -> bool {
    rest_of_list(rest).is_some()
}

fn is_judged(lower: &str, at: usize) -> bool {
    verdict(lower, at + 1).is_some()
}

/// Returns whether a verb of choosing comes before a letter: `select A dolphin`.
fn is_chosen(near: &str) -> bool {
    matches!(split_last_word(near).1, "select" | "choose" | "pick")
}

fn is_numeral_list(next: &str, joint: &str) -> bool {
    // A word that goes on after its maximum length is no joint.
    next.get(joint.len()..)
        .filter(|rest| !rest.starts_with(|next: char| is_word(next) || next == '\''))
        .is_some_and(|rest| NUMERALS.contains(word_at(rest.trim_start_matches(is_blank), 0)))
}

/// Returns whether a letter in upper case is inside a sentence in lower case: `the statement in A holds`. `near` is the
/// text before it. In a title the next word is in upper case too.
fn is_inside_sentence(text: &str, near: &str, next_at: usize) -> bool {
    let follows_word = near.ends_with(|last: char| last.is_alphabetic() || matches!(last, ',' | ';'));
    follows_word && text.get(next_at..).unwrap_or_default().starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lowering::Lowered;

    #[test]
    fn words_of_one_letter() {
        for (text, at, expected) in [
            ("A dog is a mammal", 0, true),
            ("It is a dog", 6, true),
            ("I would need more", 0, true),
            ("statements I and II", 11, true),
            ("E se fosse una metafora?", 0, true),
            ("A veces sube", 0, true),
            ("A resposta", 0, true),
            ("The Tale of A Dog", 12, true),
            ("the statement in A holds", 17, false),
            ("A e B estão erradas", 0, false),
            ("A est faux", 0, false),
            ("I is right", 0, false),
            ("E é a correta", 0, false),
            ("Final answer: A\n\nHope this helps", 14, false),
            ("option A dolphin", 7, false),
            ("B is", 0, false),
        ] {
            assert_eq!(
                is_word_of_one_letter(text, &Lowered::new(text).text, at, |_| None),
                expected,
                "{text}"
            );
        }
    }
}
