//! Words as NLTK's `word_tokenize` separates them.

use crate::case::is_word;
use crate::sentences::sentences;
use gage_text_kit::number::ascii_digit;
use gage_text_kit::text::is_space;

/// Returns the number of words.
pub(crate) fn count_words(text: &str) -> usize {
    text.split(|character| !is_word(character)).filter(|word| !word.is_empty()).count()
}

/// Passes the words and the punctuation marks of a text to `each`.
pub(crate) fn each_word(text: &str, mut each: impl FnMut(&str)) {
    for sentence in sentences(text) {
        let separated: String = separated(sentence).into_iter().collect();
        gage_text_kit::text::words(&separated).for_each(&mut each);
    }
}

/// Contractions that are two words. The second part of the last one must be followed by a space.
const CONTRACTIONS: [(&str, &str); 8] = [
    ("can", "not"),
    ("d", "'ye"),
    ("gim", "me"),
    ("gon", "na"),
    ("got", "ta"),
    ("lem", "me"),
    ("more", "'n"),
    ("wan", "na"),
];

type Characters = Vec<char>;

/// Returns a sentence with spaces between its words.
fn separated(sentence: &str) -> Characters {
    let text: Characters = sentence.chars().collect();
    let text = opening_quotes(&text);
    let text = replaced(&final_period(&text, true), comma);
    let text = apart(&last_comma(text), |text, at| run_of(text, at, '.').filter(|length| *length > 1));
    let text = apart(&text, |text, at| one_of(text, at, ";@#$%&\u{2012}\u{2013}\u{2014}\u{2015}"));
    let text = apart(&final_period(&text, false), |text, at| one_of(text, at, "?!"));
    let text = apart(&apostrophes_at_ends(&text), |text, at| one_of(text, at, "*"));
    let text = apart(&text, |text, at| one_of(text, at, "][(){}<>"));
    let text = apart(&text, |text, at| starts_with(text, at, "--").then_some(2));
    closed(text)
}

/// Returns the text with the quotes apart that begin something. A straight one becomes two backticks.
fn opening_quotes(text: &[char]) -> Characters {
    let mut text = apart(text, |text, at| {
        one_of(text, at, "\u{ab}\u{201c}\u{2018}\u{201e}").or_else(|| run_of(text, at, '`'))
    });
    if text.first() == Some(&'"') {
        text.splice(..1, ['`', '`']);
    }
    let text = apart(&text, |text, at| starts_with(text, at, "``").then_some(2));
    let text = replaced(&text, |text, at| {
        one_of(text, at, " ([{<")?;
        let quote = one_of(text, at + 1, "\"").or_else(|| starts_with(text, at + 1, "''").then_some(2))?;
        Some((1 + quote, vec![*text.get(at)?, ' ', '`', '`', ' ']))
    });
    replaced(&text, |text, at| {
        let begins = text.get(at) == Some(&'\'')
            && !at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(|before| is_word(*before))
            && text.get(at + 1).is_some_and(|next| is_word(*next))
            && !is_clitic(text.get(at + 1..).unwrap_or_default());
        begins.then(|| (1, vec!['\'', ' ']))
    })
}

/// Returns whether a text begins with the rest of a word after an apostrophe, as in `I'm`.
fn is_clitic(text: &[char]) -> bool {
    let end = text.iter().position(|character| !is_word(*character)).unwrap_or(text.len());
    let word: String = text.iter().take(end.min(3)).map(char::to_ascii_lowercase).collect();
    end < 3 && matches!(word.as_str(), "re" | "ve" | "ll" | "m" | "t" | "s" | "d" | "n")
}

/// Returns the text with its last period apart, if only brackets and quotes follow. With `all_quotes`, curly quotes and
/// spaces are among these, and they are apart too.
fn final_period(text: &[char], all_quotes: bool) -> Characters {
    let closing = if all_quotes { "])}>\"'\u{bb}\u{201d}\u{2019} " } else { "])}>\"'" };
    let Some(at) = text.iter().rposition(|character| *character == '.') else { return text.to_vec() };
    let (before, after) = text.split_at(at);
    let after = after.get(1..).unwrap_or_default();
    let end = after.iter().position(|character| !closing.contains(*character)).unwrap_or(after.len());
    let (marks, rest) = after.split_at(end);
    if before.last().is_none_or(|before| *before == '.') || !rest.iter().all(|rest| is_space(*rest)) {
        return text.to_vec();
    }
    let mut found = before.to_vec();
    found.extend([' ', '.', ' ']);
    found.extend(marks);
    found.push(' ');
    found
}

/// Returns what takes the place of a comma or colon and the character after it, if that is not a digit.
fn comma(text: &[char], at: usize) -> Option<(usize, Characters)> {
    one_of(text, at, ":,")?;
    let next = text.get(at + 1).filter(|next| ascii_digit(**next).is_none())?;
    Some((2, vec![' ', *text.get(at)?, ' ', *next]))
}

/// Returns the text with the comma or colon apart that ends it.
fn last_comma(mut text: Characters) -> Characters {
    let line_break = if text.last() == Some(&'\n') { text.pop() } else { None };
    if let Some(last) = text.pop_if(|last| matches!(last, ':' | ',')) {
        text.extend([' ', last, ' ']);
    }
    text.extend(line_break);
    text
}

/// Returns the text with the apostrophes apart that end a word.
fn apostrophes_at_ends(text: &[char]) -> Characters {
    replaced(text, |text, at| {
        let before = text.get(at).filter(|before| **before != '\'')?;
        starts_with(text, at + 1, "' ").then(|| (3, vec![*before, ' ', '\'', ' ']))
    })
}

/// Returns the text with the quotes apart that end something, and with contractions as two words.
fn closed(text: Characters) -> Characters {
    let mut padded = vec![' '];
    padded.extend(text);
    padded.push(' ');
    let text = apart(&padded, |text, at| one_of(text, at, "\u{bb}\u{201d}\u{2019}"));
    let text = apart(&text, |text, at| starts_with(text, at, "''").then_some(2));
    let text =
        replaced(&text, |text, at| one_of(text, at, "\"").map(|length| (length, vec![' ', '\'', '\'', ' '])));
    let text = replaced(&text, |text, at| {
        let length = text.get(at..)?.iter().take_while(|character| is_space(**character)).count();
        (length > 0).then(|| (length, vec![' ']))
    });
    let text = after_letter(&text, &["'s ", "'S ", "'m ", "'M ", "'d ", "'D ", "' "]);
    let long = ["'ll ", "'LL ", "'re ", "'RE ", "'ve ", "'VE ", "n't ", "N'T "];
    let mut text = after_letter(&text, &long);
    for (first, second) in CONTRACTIONS {
        text = contraction(&text, first, second);
    }
    for second in ["is", "was"] {
        text = replaced(&text, |text, at| {
            let begins = text.get(at) == Some(&' ') && continues(text, at + 1, "'t");
            let length = 3 + second.len();
            let found = begins && continues(text, at + 3, second) && is_end(text, at + length);
            found.then(|| (length, spaced(text, at + 1, 2, second.len())))
        });
    }
    text
}

/// Returns the text with each of the endings apart from the word before it.
fn after_letter(text: &[char], endings: &[&str]) -> Characters {
    replaced(text, |text, at| {
        let before = text.get(at).filter(|before| !matches!(**before, '\'' | ' '))?;
        let ending = endings.iter().find(|ending| starts_with(text, at + 1, ending))?;
        let separated = [*before, ' '].into_iter().chain(ending.chars()).collect();
        Some((1 + ending.chars().count(), separated))
    })
}

/// Returns the text with the two parts of a contraction apart.
fn contraction(text: &[char], first: &str, second: &str) -> Characters {
    let length = first.len() + second.len();
    replaced(text, |text, at| {
        let begins =
            !at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(|before| is_word(*before));
        let is_followed = first != "wan" || text.get(at + length).is_some_and(|next| is_space(*next));
        let found = begins
            && continues(text, at, first)
            && continues(text, at + first.len(), second)
            && is_followed
            && is_end(text, at + length);
        found.then(|| (length, spaced(text, at, first.len(), second.len())))
    })
}

/// Returns two neighbouring parts with spaces around each.
fn spaced(text: &[char], at: usize, first: usize, second: usize) -> Characters {
    let part = |from: usize, length: usize| text.iter().skip(from).take(length).copied().chain([' ']);
    [' '].into_iter().chain(part(at, first)).chain(part(at + first, second)).collect()
}

/// Returns whether a word that ends before this position ends there.
fn is_end(text: &[char], at: usize) -> bool {
    !text.get(at).is_some_and(|next| is_word(*next))
}

/// Returns whether the text continues with these letters, in any case.
fn continues(text: &[char], at: usize, letters: &str) -> bool {
    letters.chars().enumerate().all(|(place, letter)| {
        text.get(at + place).is_some_and(|character| character.to_ascii_lowercase() == letter)
    })
}

fn starts_with(text: &[char], at: usize, letters: &str) -> bool {
    letters.chars().enumerate().all(|(place, letter)| text.get(at + place) == Some(&letter))
}

fn one_of(text: &[char], at: usize, marks: &str) -> Option<usize> {
    text.get(at).filter(|mark| marks.contains(**mark)).map(|_| 1)
}

/// Returns the length of a run of one character.
fn run_of(text: &[char], at: usize, mark: char) -> Option<usize> {
    let length = text.get(at..)?.iter().take_while(|character| **character == mark).count();
    (length > 0).then_some(length)
}

/// Returns the text with spaces around each part whose length `part` gives.
fn apart(text: &[char], part: impl Fn(&[char], usize) -> Option<usize>) -> Characters {
    replaced(text, |text, at| {
        let length = part(text, at)?;
        let part = text.iter().skip(at).take(length).copied();
        Some((length, [' '].into_iter().chain(part).chain([' ']).collect()))
    })
}

/// Returns the text after the replacement of parts: `part` gives the length of one that begins at a position, and what
/// takes its place.
fn replaced(text: &[char], part: impl Fn(&[char], usize) -> Option<(usize, Characters)>) -> Characters {
    let mut found = Vec::with_capacity(text.len() + 16);
    let mut at = 0;
    while let Some(character) = text.get(at) {
        match part(text, at) {
            Some((length, other)) => {
                found.extend(other);
                at += length;
            }
            None => {
                found.push(*character);
                at += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_nltk() {
        for (text, expected) in [
            ("I CANNOT go, it's GONNA be.", "I CAN NOT go , it 's GON NA be ."),
            ("\"Hi,\" she said (twice).", "`` Hi , '' she said ( twice ) ."),
            ("A--B... 3,000: 'tis N'T don't", "A -- B ... 3,000 : ' tis N'T do n't"),
            ("«Yes» 100% *a* e-mail@x.org", "« Yes » 100 % * a * e-mail @ x.org"),
        ] {
            let mut found = Vec::new();
            each_word(text, |word| found.push(word.to_owned()));
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn words_are_counted() {
        for (text, expected) in
            [("", 0), ("a-b c_d 5.5", 5), ("don't stop", 3), ("中文 é", 2), ("हिन्दी है", 2)]
        {
            assert_eq!(count_words(text), expected, "{text}");
        }
    }
}
