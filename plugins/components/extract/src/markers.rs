//! Phrases that announce the final answer: `Final answer: 42`, `the answer is 42`, `#### 42`, `答案是42`.

/// A marker and the start of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    /// Start of the marker, in bytes.
    pub(crate) marker: usize,
    /// Start of the answer: directly after the marker.
    pub(crate) start: usize,
    /// True if the answer ends with its sentence, as after `the answer is`; false if it ends with its line.
    pub(crate) ends_with_sentence: bool,
}

/// Maximum number of words between `answer` and its link, as in `the answer to this question is`.
const MAX_WORDS_BETWEEN: usize = 8;

const ENGLISH: &str = "answer";
const CHINESE: [&str; 2] = ["答案", "答"];
const GSM8K: &str = "####";

/// Words for the answer in other languages.
const OTHER_LANGUAGES: [&str; 34] = [
    "réponse correcte",
    "respuesta correcta",
    "resposta correta",
    "الجواب الصحيح",
    "Antwort",
    "Ergebnis",
    "réponse finale",
    "Réponse finale",
    "réponse",
    "Réponse",
    "respuesta final",
    "Respuesta final",
    "respuesta",
    "Respuesta",
    "resposta final",
    "Resposta final",
    "resposta",
    "Resposta",
    "Окончательный ответ",
    "ответ",
    "Ответ",
    "最終的な答え",
    "答え",
    "正解",
    "अंतिम उत्तर",
    "उत्तर",
    "जवाब",
    "الإجابة النهائية",
    "الجواب النهائي",
    "الإجابة",
    "الجواب",
    "risposta",
    "Risposta",
    "Risultato",
];

/// Words between such a word and the answer. A word comes before those that it begins with.
pub(crate) const LINKS: [&str; 17] = [
    "ist",
    "lautet",
    "beträgt",
    "est",
    "vaut",
    "es",
    "é",
    "è",
    "—",
    "–",
    "равен",
    "равно",
    "равна",
    "は",
    "هو",
    "هي",
    "है",
];

/// Returns the markers of a text in order of position. `own` are additional ones; they match in any case of ASCII
/// letters, and their answers end with their line.
pub(crate) fn markers(text: &str, own: &[String]) -> Vec<Announcement> {
    let lower = text.to_ascii_lowercase();
    let english =
        lower.match_indices(ENGLISH).filter_map(|(at, marker)| english(&lower, at, at + marker.len()));
    let chinese = lower.match_indices(CHINESE[1]).filter_map(|(at, _)| {
        let rest = lower.get(at..)?;
        let marker = CHINESE.iter().find(|marker| rest.starts_with(**marker))?;
        chinese(&lower, at, at + marker.len(), *marker == CHINESE[0])
    });
    let gsm8k = lower.match_indices(GSM8K).filter_map(|(at, marker)| {
        let start = at + marker.len();
        let exact = !lower.get(..at)?.ends_with('#') && !lower.get(start..)?.starts_with('#');
        exact.then_some(Announcement { marker: at, start, ends_with_sentence: false })
    });
    let own = own.iter().flat_map(|marker| {
        let marker = marker.to_ascii_lowercase();
        let places: Vec<usize> = lower.match_indices(&marker).map(|(at, _)| at).collect();
        let length = marker.len();
        places.into_iter().map(move |at| Announcement {
            marker: at,
            start: at + length,
            ends_with_sentence: false,
        })
    });
    let others = OTHER_LANGUAGES.iter().flat_map(|marker| {
        text.match_indices(marker).filter_map(|(at, marker)| other_language(text, at, at + marker.len()))
    });
    let mut found: Vec<Announcement> = english.chain(chinese).chain(gsm8k).chain(own).chain(others).collect();
    found.sort_by_key(|announced| (announced.marker, announced.start));
    found
}

/// Returns the marker `answer`: a separate word followed by a colon, an equals sign or `is`. A line that ends in
/// `final answer` announces the next one.
fn english(lower: &str, at: usize, end: usize) -> Option<Announcement> {
    let (before, rest) = (lower.get(..at)?, lower.get(end..)?);
    if before.ends_with(is_word) || rest.starts_with(is_word) {
        return None;
    }
    let announced = |start: usize, ends_with_sentence| Announcement { marker: at, start, ends_with_sentence };
    let link = rest.trim_start_matches(is_decoration);
    let behind = |rest: &str| lower.len() - rest.len();
    if let Some(after) = link.strip_prefix([':', '=']).or_else(|| link.strip_prefix('：')) {
        return Some(announced(behind(after), false));
    }
    let is_final = before.trim_end_matches(is_blank).ends_with("final");
    if is_final && (link.is_empty() || link.starts_with(['\n', '\r'])) {
        return Some(announced(behind(link), false));
    }
    let mut rest = link;
    for _ in 0..=MAX_WORDS_BETWEEN {
        let word_end = rest.find(|character| !is_word(character) && character != '\'').unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        match word {
            "" => return None,
            "is" | "was" | "be" | "would" | "should" => {
                let after = after.trim_start_matches(is_decoration);
                let after = after.strip_prefix("be ").unwrap_or(after);
                let after = after.strip_prefix([':', '：']).unwrap_or(after);
                let denied = after.trim_start_matches(is_decoration).starts_with("not ");
                return (!denied).then(|| announced(behind(after), true));
            }
            "to" | "of" | "for" | "this" | "that" | "the" | "question" | "problem" | "your" | "my"
            | "here" | "therefore" | "thus" | "then" | "given" | "above" | "part" => {}
            // Any other word is only allowed after `to`, `of` and `for`: `the answer to life is 42`.
            _ if link.starts_with("to ") || link.starts_with("of ") || link.starts_with("for ") => {}
            _ => return None,
        }
        rest = after.trim_start_matches(is_blank);
    }
    None
}

/// Returns a marker of another language: alone on its line, or followed by a colon or a word that links it.
fn other_language(text: &str, at: usize, end: usize) -> Option<Announcement> {
    let (before, rest) = (text.get(..at)?, text.get(end..)?);
    let has_spaces = text.get(at..)?.starts_with(|first: char| !matches!(first, '\u{3000}'..='\u{9fff}'));
    // Chinese and Japanese have no spaces between words.
    if has_spaces && before.ends_with(char::is_alphabetic) {
        return None;
    }
    let announced = |after: &str, ends_with_sentence| Announcement {
        marker: at,
        start: text.len() - after.len(),
        ends_with_sentence,
    };
    let link = rest.trim_start_matches(is_decoration);
    if let Some(after) = link.strip_prefix([':', '：']) {
        return Some(announced(after, true));
    }
    if link.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '$' | '€' | '₹')) {
        return Some(announced(link, true));
    }
    let after = LINKS.iter().find_map(|word| link.strip_prefix(word))?;
    let is_word_end = !after.starts_with(char::is_alphabetic) || link.starts_with('は');
    is_word_end.then(|| announced(after, true))
}

/// Returns the marker `答案` followed by a colon or `是`, or `答` followed by a colon.
fn chinese(lower: &str, at: usize, end: usize, may_be_linked: bool) -> Option<Announcement> {
    let rest = lower.get(end..)?.trim_start_matches(is_decoration);
    let rest = if may_be_linked {
        ["应该", "应当", "应", "就"].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest)
    } else {
        rest
    };
    let announced = |after: &str, ends_with_sentence| Announcement {
        marker: at,
        start: lower.len() - after.len(),
        ends_with_sentence,
    };
    if let Some(after) = rest.strip_prefix([':', '：', '=']) {
        return Some(announced(after, false));
    }
    let after = ["是", "为"].iter().find_map(|link| rest.strip_prefix(link)).filter(|_| may_be_linked)?;
    let colon = after.strip_prefix([':', '：']);
    Some(announced(colon.unwrap_or(after), colon.is_none()))
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric()
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{a0}' | '\u{3000}')
}

/// Returns whether a character is a blank or sets text in bold or italics.
pub(crate) fn is_decoration(character: char) -> bool {
    is_blank(character) || matches!(character, '*' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_and_what_is_none() {
        for (text, expected) in [
            ("Final answer: 42", Some(" 42")),
            ("**Answer:** 42", Some("** 42")),
            ("**Final Answer**\n42", Some("\n42")),
            ("The answer is 42.", Some("42.")),
            ("The answer to life is 42", Some("42")),
            ("answer = 42", Some(" 42")),
            ("The answer should be 42", Some("42")),
            ("so\n#### 42", Some(" 42")),
            ("最终答案：42", Some("42")),
            ("正确答案应该是42", Some("42")),
            ("答：42", Some("42")),
            ("answers: 42", None),
            ("the answer is not 42", None),
            ("I answer that it is 42", None),
            ("the answer, which is 42", None),
            ("##### 42", None),
            ("答案不是42", None),
            ("回答是", None),
            ("", None),
        ] {
            let found = markers(text, &[]).last().and_then(|found| text.get(found.start..));
            assert_eq!(found, expected, "{text}");
        }
        let own = markers("a RESULT-> 1", &["result->".to_owned()]);
        assert_eq!(own, [Announcement { marker: 2, start: 10, ends_with_sentence: false }]);
    }
}
