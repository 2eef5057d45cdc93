//! Parts of a response that are marked: bullets, highlights, placeholders, titles, paragraphs, postscripts.
//!
//! Everything here takes linear time. The patterns in the comments are those that a search with Python's `re` would
//! need.

use gage_text_kit::text::{is_space, strip};

/// Returns the number of bullets: `^\s*\*[^\*].*$` and `^\s*-.*$`, each searched on its own, in every line.
pub(crate) fn bullets(text: &str) -> usize {
    let star = |rest: &str| {
        let after = rest.strip_prefix('*')?;
        let next = after.chars().next().filter(|next| *next != '*')?;
        Some(1 + next.len_utf8())
    };
    lines_with(text, star) + lines_with(text, |rest| rest.starts_with('-').then_some(1))
}

/// Returns the number of lines that begin, after white space, with a mark. The mark's length is given by `mark`. White
/// space spans lines, and a mark can end with a line break; then the next line belongs to it.
fn lines_with(text: &str, mark: impl Fn(&str) -> Option<usize>) -> usize {
    let mut count = 0;
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_space);
        if let Some(length) = mark(rest) {
            count += 1;
            rest = rest.get(length..).unwrap_or_default();
        }
        match rest.split_once('\n') {
            Some((_, next)) => rest = next,
            None => return count,
        }
    }
}

/// Returns the number of highlights that are not blank: `\*[^\n\*]*\*` and `\*\*[^\n\*]*\*\*`, each searched on its own.
pub(crate) fn highlights(text: &str) -> usize {
    between(text, "*") + between(text, "**")
}

/// Returns the number of parts of a line between two marks of stars that have visible text and no other star.
fn between(text: &str, mark: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(mark) {
        let length = after.find(['\n', '*']).unwrap_or(after.len());
        let (inside, behind) = after.split_at(length);
        rest = match behind.strip_prefix(mark) {
            Some(behind) => {
                count += usize::from(!strip(inside).is_empty());
                behind
            }
            // The search goes on after the first star.
            None => rest.split_once('*').map_or("", |(_, after)| after),
        };
    }
    count
}

/// Returns the number of placeholders such as `[name]`: `\[.*?\]`.
pub(crate) fn placeholders(text: &str) -> usize {
    let in_line = |line: &str| {
        let mut count = 0;
        let mut rest = line;
        while let Some((_, after)) = rest.split_once('[') {
            let Some((_, behind)) = after.split_once(']') else { break };
            count += 1;
            rest = behind;
        }
        count
    };
    text.split('\n').map(in_line).sum()
}

/// Returns whether a line has a title such as `<<name>>`: `<<[^\n]+>>`, and not only angle brackets and spaces.
pub(crate) fn has_title(text: &str) -> bool {
    let title = |line: &str| {
        let start = line.find("<<")?;
        let end = line.rfind(">>").filter(|end| *end >= start + 3)?;
        let inside = line.get(start..end)?.trim_start_matches('<').trim_end_matches('>');
        Some(!strip(inside).is_empty())
    };
    text.split('\n').any(|line| title(line) == Some(true))
}

/// Returns the number of paragraphs, separated by `\s?\*\*\*\s?`. Blank ones at the ends do not count. `None` if
/// another one is blank.
pub(crate) fn paragraphs(text: &str) -> Option<usize> {
    let parts: Vec<&str> = text.split("***").collect();
    let last = parts.len() - 1;
    let mut count = 0;
    for (place, part) in parts.iter().enumerate() {
        if !strip(part).is_empty() {
            count += 1;
        } else if place != 0 && place != last {
            return None;
        }
    }
    Some(count)
}

/// Returns the number of paragraphs that are not blank, and the first word of the paragraph with this number. An empty
/// line separates paragraphs. Blank ones have a number too, and the first is 1. The word is in lower case, and ends at a
/// punctuation mark.
pub(crate) fn first_word(text: &str, number: usize) -> (usize, Option<String>) {
    let parts: Vec<&str> = text.split("\n\n").collect();
    let count = parts.iter().filter(|part| !strip(part).is_empty()).count();
    let part = number.checked_sub(1).filter(|_| number <= count).and_then(|place| parts.get(place));
    let word = part.and_then(|part| gage_text_kit::text::words(part).next()).map(|word| {
        let word = word.trim_start_matches('\'').trim_start_matches('"');
        let end = word.find(['.', ',', '?', '!', '\'', '"']).unwrap_or(word.len());
        word.get(..end).unwrap_or_default().chars().flat_map(char::to_lowercase).collect()
    });
    (count, word)
}

/// Returns whether there are two responses, separated by six stars, that differ.
pub(crate) fn are_two_responses(text: &str) -> bool {
    let parts: Vec<&str> = text.split("******").map(strip).collect();
    let inner = parts.get(1..parts.len() - 1).unwrap_or_default();
    if inner.iter().any(|part| part.is_empty()) {
        return false;
    }
    let responses: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    matches!(responses.as_slice(), [first, second] if first != second)
}

/// Returns the text inside of a fence of code, if it has one that Markdown marks as JSON or not at all.
pub(crate) fn unfenced(text: &str) -> &str {
    let mut text = strip(text);
    for start in ["```json", "```Json", "```JSON", "```"] {
        text = text.strip_prefix(start).unwrap_or(text);
    }
    strip(text.strip_suffix("```").unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_are_lines() {
        for (text, expected) in [
            ("* a\n* b\n- c", 3),
            ("  * a\n\n\t- b", 2),
            ("** a **\n*\n* b", 1),
            ("*", 0),
            ("a * b - c", 0),
            ("--- \n-", 2),
            ("*\n\n* b", 2),
        ] {
            assert_eq!(bullets(text), expected, "{text:?}");
        }
    }

    #[test]
    fn highlights_are_counted_once_for_each_mark() {
        for (text, expected) in [
            ("*a* and *b c*", 2),
            ("**a**", 1),
            ("***a***", 2),
            ("* * ** **", 0),
            ("*a\nb*", 0),
            ("**a* b**", 1),
            ("", 0),
        ] {
            assert_eq!(highlights(text), expected, "{text:?}");
        }
    }

    #[test]
    fn placeholders_and_titles_stay_in_a_line() {
        for (text, expected) in [("[a] [b", 1), ("[[a]] []", 2), ("[a\n]", 0), ("][", 0)] {
            assert_eq!(placeholders(text), expected, "{text:?}");
        }
        for (text, expected) in
            [("x <<a>>", true), ("<<>>", false), ("<< >>", false), ("<<<>>>", false), ("<<a\n>>", false)]
        {
            assert_eq!(has_title(text), expected, "{text:?}");
        }
    }

    #[test]
    fn paragraphs_are_separated() {
        for (text, expected) in [
            ("a *** b\n***\nc", Some(3)),
            ("***\na\n***", Some(1)),
            ("a *** *** b", None),
            ("a ****** b", None),
            ("", Some(0)),
        ] {
            assert_eq!(paragraphs(text), expected, "{text:?}");
        }
        for (text, number, expected) in [
            ("One a.\n\n'Two, b", 2, (2, Some("two"))),
            ("a\n\n \n\nB", 2, (2, None)),
            ("a", 2, (1, None)),
            ("\"'It's", 1, (1, Some(""))),
        ] {
            let expected = (expected.0, expected.1.map(str::to_owned));
            assert_eq!(first_word(text, number), expected, "{text:?}");
        }
    }

    #[test]
    fn responses_are_two() {
        for (text, expected) in [
            ("a ****** b", true),
            ("******a******b******", true),
            ("a ****** a", false),
            ("a", false),
            ("a ****** ****** b", false),
            ("a******b******c", false),
        ] {
            assert_eq!(are_two_responses(text), expected, "{text:?}");
        }
    }

    #[test]
    fn fences_are_removed() {
        for (text, expected) in [
            (" ```json\n{}\n``` ", "{}"),
            ("```{}```", "{}"),
            ("{}", "{}"),
            ("```python\n{}```", "python\n{}"),
        ] {
            assert_eq!(unfenced(text), expected);
        }
    }
}
