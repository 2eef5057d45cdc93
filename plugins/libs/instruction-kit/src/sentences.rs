//! Sentences of English texts, by the procedure of Punkt as in NLTK 3.10, without its trained model. The words that it
//! asks for are listed in [`english`].
//!
//! Kiss and Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32, 2006.

mod english;
mod token;

use gage_text_kit::text::is_space;
use std::ops::Range;
use token::ends_sentence_within;

/// A period, a question mark or an exclamation mark that may end a sentence.
struct Candidate {
    /// The word before the mark.
    word: Range<usize>,
    /// End of the mark.
    end: usize,
    /// Beginning of the next word, if white space separates it from the mark.
    next: Option<usize>,
    /// End of what decides, after the mark: one character, or white space and the next word.
    context_end: usize,
}

/// Returns the sentences of a text.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut sentences = Vec::new();
    let mut pieces = pieces(text).into_iter().peekable();
    // Length of what begins a piece and belongs to the sentence before it.
    let mut moved = 0;
    while let Some(piece) = pieces.next() {
        let start = piece.start + moved;
        let closing = pieces.peek().and_then(|next| closing(text.get(next.clone()).unwrap_or_default()));
        match closing.zip(pieces.peek()) {
            Some(((marks, with_space), next)) => {
                sentences.push(start..next.start + marks);
                moved = with_space;
            }
            None => {
                moved = 0;
                if start < piece.end {
                    sentences.push(start..piece.end);
                }
            }
        }
    }
    sentences.into_iter().map(move |sentence| text.get(sentence).unwrap_or_default())
}

/// Returns the parts of a text between the marks that end sentences.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for candidate in candidates(text) {
        let context = text.get(candidate.word.start..candidate.context_end).unwrap_or_default();
        if ends_sentence_within(context) {
            pieces.push(start..candidate.end);
            start = candidate.next.unwrap_or(candidate.end);
        }
    }
    pieces.push(start..text.trim_end_matches(is_space).len());
    pieces
}

/// Returns the marks that may end a sentence. Of several marks after the same word, only the last counts.
fn candidates(text: &str) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (at, _) in text.match_indices(['.', '?', '!']) {
        let end = at + 1;
        let Some((next, context_end)) = after_mark(text, end) else { continue };
        let (earlier_start, earlier_end) =
            found.last().map_or((0, 0), |last| (last.word.start, last.word.end));
        let between = text.get(earlier_end..at).unwrap_or_default();
        // A space at the very beginning does not count.
        let space = between.rfind([' ', '\t', '\n', '\r', '\x0b', '\x0c']).filter(|space| *space > 0);
        let start = space.map_or(earlier_start, |space| earlier_end + space + 1);
        if found.last().is_some_and(|last| last.word.end > start) {
            found.pop();
        }
        found.push(Candidate { word: start..at, end, next, context_end });
    }
    found
}

/// Returns the beginning of the next word, and the end of the context. `None` if the mark is inside of a word.
fn after_mark(text: &str, end: usize) -> Option<(Option<usize>, usize)> {
    let after = text.get(end..)?;
    let first = after.chars().next()?;
    if token::is_separate(first) {
        return Some((None, end + first.len_utf8()));
    }
    let word = after.trim_start_matches(is_space);
    if !is_space(first) || word.is_empty() {
        return None;
    }
    let start = text.len() - word.len();
    Some((Some(start), start + word.find(is_space).unwrap_or(word.len())))
}

/// Returns the length of the quotes and brackets that begin a text and belong to the sentence before it. The second
/// length has the white space after them too.
fn closing(text: &str) -> Option<(usize, usize)> {
    const MARKS: &str = "\"')]}\u{2018}\u{2019}\u{201c}\u{201d}\u{ab}\u{bb}";
    let mut length = 0;
    for mark in text.chars().take_while(|mark| MARKS.contains(*mark)) {
        length += mark.len_utf8();
        let after = text.get(length..).unwrap_or_default();
        let visible = after.trim_start_matches(is_space);
        if after.is_empty() || after.starts_with("--") || visible.len() < after.len() {
            return Some((length, text.len() - visible.len()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sentences_are_those_of_nltk() {
        for (text, expected) in [
            ("", vec![]),
            ("  ", vec![]),
            ("No mark", vec!["No mark"]),
            ("Dr. Smith left. He said \"Hi.\" OK!", vec!["Dr. Smith left.", "He said \"Hi.\"", "OK!"]),
            ("(One.) Two... three. Four", vec!["(One.)", "Two... three.", "Four"]),
            ("J. Bach came at 5 p.m. The end.", vec!["J. Bach came at 5 p.m.", "The end."]),
            ("What?! No way.\n\nYes", vec!["What?!", "No way.", "Yes"]),
            ("Version 1.5 of U.S. law. It", vec!["Version 1.5 of U.S. law.", "It"]),
        ] {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn megabytes_are_split() {
        for text in ["a.b)c. D!? ", "word ", "...", ". ", "!)\"' "] {
            assert!(sentences(&text.repeat(100_000)).count() > 0, "{text}");
        }
    }

    proptest! {
        #[test]
        fn sentences_are_in_order(text in r#"[A-Ca-c0-1.?!,;:'")(\n \-“”é]{0,40}"#) {
            let mut rest = text.as_str();
            for sentence in sentences(&text) {
                let at = rest.find(sentence);
                prop_assert!(at.is_some(), "{}", sentence);
                rest = &rest[at.unwrap_or(0) + sentence.len()..];
            }
        }
    }
}
