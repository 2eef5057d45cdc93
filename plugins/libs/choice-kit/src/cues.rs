//! Answers that a phrase announces: `the answer is B`, `Answer: B`, `so it must be B`, `答案是B`, `选B`.

use crate::announcements::{Announcement, Announcements, Cue};
use crate::characters::{is_blank, may_lead, may_trail, word_at};
use crate::choices::Choices;
use crate::decision::Outcome;
use crate::denial::is_negated;
use crate::letters::Answer;
use crate::lowering::Lowered;
use crate::option_texts;
use crate::ordinals::{ordinal, ordinal_before};
use crate::scan::{find_any, leading, set_of};
use crate::verdict::{Verdict, rest_of_list, verdict};
use crate::vocabulary::{
    ADVERBS, ARTICLES, EAST_ASIAN_FILLERS, LINKS, OPTION_NOUNS, REASONS, RIGHT, Words, strip_any,
};
use std::collections::VecDeque;

/// Words allowed between a cue and the answer itself, besides links, articles, adverbs and words for an option.
static FILLERS: Words = Words::new(&[
    "should would must will can has be only to this question that of for simply boxed text textbf mathbf mathrm final",
    "either both with us on me i'd i say go going it it's",
    "mich für auf mir sich lautet endgültige endgültig nur noch diese frage wohl",
    "pour que finale il reste c'est plutôt bien",
    "por me quedo con final que ser debe definitiva",
    "com por que ser deve final fica",
    "per con che finale essere deve",
    "за на что остаётся остается быть должен",
]);

/// Maximum number of fillers between a cue and its answer.
const MAX_FILLERS: usize = 12;

/// Returns the answer that the last cue announces. The last one counts because a model that thinks aloud names its
/// answer at the end.
pub(crate) fn announced(answer: &Answer<'_>, choices: &Choices, by_text: bool) -> Outcome {
    last(answer, &answer.announcements().answers, |found| follow(answer, found, choices, by_text))
}

/// Returns the letter that the last conclusion names. It is weaker than an announcement: the explanation of an answer
/// may hold one too.
pub(crate) fn concluded(answer: &Answer<'_>, choices: &Choices) -> Outcome {
    last(answer, &answer.announcements().conclusions, |found| follow(answer, found, choices, false))
}

/// Returns the option that an answer calls right by its place: `the third option is correct`.
pub(crate) fn placed(answer: &Answer<'_>, choices: &Choices) -> Outcome {
    let lower = answer.lower.as_ref();
    let label = |found: &Announcement| {
        let is_right = verdict(lower, found.end) == Some(Verdict::Right);
        is_right.then(|| ordinal_before(lower, found.end, choices)).flatten()
    };
    let outcome = |found: &Announcement| label(found).map_or(Outcome::Nothing, Outcome::One);
    let Announcements { options, answers, .. } = answer.announcements();
    last(answer, options, outcome).or_else(|| last(answer, answers, outcome))
}

fn last(
    answer: &Answer<'_>,
    found: &VecDeque<Announcement>,
    outcome: impl Fn(&Announcement) -> Outcome,
) -> Outcome {
    let holding = found.iter().rev().filter(|found| found.holds(&answer.lower));
    holding.map(outcome).find(|outcome| *outcome != Outcome::Nothing).unwrap_or(Outcome::Nothing)
}

/// Returns the text after the last cue, without the words that link it to the answer.
pub(crate) fn last_announcement(text: &str) -> Option<&str> {
    let lower = Lowered::new(text).text;
    let is_noun = |found: &&Announcement| matches!(found.cue, Cue::Noun | Cue::EastAsian);
    let found = Announcements::new(&lower).answers;
    let mut at = found.iter().rev().filter(is_noun).find(|found| found.holds(&lower))?.end;
    for _ in 0..MAX_FILLERS {
        let rest = lower.get(at..)?;
        at += separators(rest).len();
        let next = lower.get(at..)?;
        let word = word_at(&lower, at);
        match strip_any(next, EAST_ASIAN_FILLERS) {
            Some(after) => at = lower.len() - after.len(),
            None if is_filler(word) && !is_letter(word) => at += word.len(),
            None => break,
        }
    }
    text.get(at..)
}

fn is_filler(word: &str) -> bool {
    [&FILLERS, &LINKS, &ARTICLES, &ADVERBS, &OPTION_NOUNS, &RIGHT].iter().any(|words| words.contains(word))
}

fn is_letter(word: &str) -> bool {
    word.len() == 1 && word.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Returns the answer after a cue.
fn follow(answer: &Answer<'_>, found: &Announcement, choices: &Choices, by_text: bool) -> Outcome {
    let lower = answer.lower.as_ref();
    let mut at = found.end;
    let is_loose = matches!(found.cue, Cue::Noun | Cue::EastAsian);
    let mut is_linked = !matches!(found.cue, Cue::Noun | Cue::Praise);
    for number in 0..MAX_FILLERS {
        let rest = lower.get(at..).unwrap_or_default();
        let skipped = separators(rest);
        let next = rest.get(skipped.len()..).unwrap_or_default();
        let has = |marks: [u8; 4]| find_any(skipped.as_bytes(), 0, marks).is_some();
        let has_line_end = has([b'\n'; 4]);
        let is_heading = number == 0 && has_line_end && found.begins_line(lower);
        let is_colon =
            has([b':', b'=', b'>', b':']) || (!skipped.is_ascii() && skipped.contains(['：', '—', '–']));
        if !is_loose && !is_colon && !is_heading && (has_line_end || has([b'.', b'?', b'!', b';'])) {
            return Outcome::Nothing;
        }
        is_linked |= is_colon || is_heading;
        at += skipped.len();
        if let Some(after) = strip_any(next, EAST_ASIAN_FILLERS) {
            is_linked = true;
            at = lower.len() - after.len();
            continue;
        }
        let word = word_at(lower, at);
        let letter = word.chars().next().unwrap_or_default().to_ascii_uppercase();
        if is_letter(word) && answer.names_option(at, letter, choices) {
            let is_next = number == 0 && skipped.trim_start_matches(is_blank).is_empty();
            let is_announced = if is_linked && found.cue != Cue::Conclusion {
                true
            } else {
                (is_linked || is_next) && ends_clause(lower.get(at + 1..).unwrap_or_default())
            };
            let is_denied = answer.is_refuted(at, choices) || is_negated(lower, at, None);
            return if is_announced && !is_denied {
                chosen(answer, at, letter, choices)
            } else {
                Outcome::Nothing
            };
        }
        if !is_filler(word) {
            break;
        }
        is_linked |= LINKS.contains(word);
        at += word.len();
    }
    if !is_linked || found.cue == Cue::Conclusion {
        return Outcome::Nothing;
    }
    let word = word_at(lower, at);
    let skipped = if matches!(word, "a" | "an" | "the") { word.len() } else { 0 };
    let text = by_text.then(|| answer.text.get(at + skipped..)).flatten();
    let label = text.and_then(|text| option_texts::prefix(text, choices));
    label.or_else(|| ordinal(lower, at, choices)).map_or(Outcome::Nothing, Outcome::One)
}

/// Returns the outcome of an announced letter: several, if it begins a list of options.
fn chosen(answer: &Answer<'_>, at: usize, letter: char, choices: &Choices) -> Outcome {
    let lower = answer.lower.as_ref();
    let Some((rest, is_conjoined)) = lower.get(at + 1..).and_then(rest_of_list) else {
        return Outcome::of([letter]);
    };
    let last_at = lower.len() - rest.len() - 1;
    let last =
        lower.get(last_at..).and_then(|last| last.chars().next()).unwrap_or_default().to_ascii_uppercase();
    let is_list = (is_conjoined || ends_clause(rest)) && answer.names_option(last_at, last, choices);
    if is_list { Outcome::of([letter, last]) } else { Outcome::of([letter]) }
}

/// Returns whether a clause ends at the beginning of a text, or a reason begins.
fn ends_clause(text: &str) -> bool {
    let rest = text.trim_start_matches([')', ']', '}', '*', '_', '`', '"', '\'', '$']);
    let next = rest.trim_start_matches(is_blank);
    let ends = next.starts_with(['.', ',', ';', '!', '\n', '\r', '。', '，', '<', '(', '—', '–']);
    next.is_empty() || ends || REASONS.contains(word_at(next, 0))
}

/// Returns the separators at the beginning of a text.
fn separators(text: &str) -> &str {
    let is_separator =
        |mark: char| may_lead(mark) || may_trail(mark) || matches!(mark, '=' | '-' | '—' | '–');
    let ascii = leading(text.as_bytes(), &SEPARATORS);
    let rest = text.get(ascii..).unwrap_or_default().trim_start_matches(is_separator);
    text.get(..text.len() - rest.len()).unwrap_or_default()
}

/// ASCII separators.
static SEPARATORS: [bool; 256] = set_of(b"*_\\`\"'$,:;!?([{<)]}>.=- \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f");

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    #[test]
    fn announcements() {
        let options = r#"{"A":"Shark","B":"Dolphin","C":"Trout","D":"Octopus"}"#;
        let choices = Choices::new(&Value::Json(options.to_owned()));
        for (text, expected) in [
            ("The answer is B.", Some("B")),
            ("**Answer:** (C)", Some("C")),
            ("<answer>B</answer>", Some("B")),
            ("The correct answer is option (D).", Some("D")),
            ("The answer to this question is B", Some("B")),
            ("It could be A, but the answer is B", Some("B")),
            ("Answer: B. Note that the answer A is wrong", Some("B")),
            ("The answer is a dolphin.", Some("B")),
            ("The answer is A Shark", Some("A")),
            ("The answer isn't A", None),
            ("The answer is not A", None),
            ("answers: B", None),
            ("正确答案为：B", Some("B")),
            ("答案不是A", None),
            ("我选择B", Some("B")),
            ("不选A", None),
            ("Answer: A is wrong, so B", None),
            ("答案A错误", None),
            ("Right answer: B. Wrong answer: A", Some("B")),
            ("答案：A 不正确", None),
            ("选项B", None),
            ("I would go with B.", Some("B")),
            ("Die Antwort lautet B", Some("B")),
            ("Daher ist die Antwort C.", Some("C")),
            ("La respuesta correcta es la A.", Some("A")),
            ("A resposta é a alternativa D", Some("D")),
            ("Правильный ответ — C", Some("C")),
            ("答えは(A)です。", Some("A")),
            ("답은 D입니다.", Some("D")),
            ("### Answer\n\nD", Some("D")),
            ("The answer is the second option.", Some("B")),
            ("I choose the last one", Some("D")),
            ("The answer is either A or B", None),
            ("The answers are A, B", None),
            ("The answer is B, A is wrong", Some("B")),
        ] {
            assert_eq!(announced(&Answer::new(text), &choices, true).label().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn separators_are_marks() {
        for character in '\0'..=char::MAX {
            let is_mark = may_lead(character) || may_trail(character) || "=-—–".contains(character);
            assert_eq!(!separators(&format!("{character}x")).is_empty(), is_mark, "{character:?}");
        }
    }

    #[test]
    fn conclusions() {
        for (text, expected) in [
            ("So D.", Some("D")),
            ("It must be B", Some("B")),
            ("This can only be B.", Some("B")),
            ("C'est B.", Some("B")),
            ("Il reste donc D.", Some("D")),
            ("Es la B.", Some("B")),
            ("which matches option D.", Some("D")),
            ("It could be B", None),
            ("So A and C share it", None),
            ("So A has the wrong units", None),
            ("It is not B", None),
        ] {
            assert_eq!(
                concluded(&Answer::new(text), &Choices::default()).label().as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn places_that_are_called_right() {
        let choices = Choices::new(&Value::Json(r#"{"A":"1","B":"2","C":"3"}"#.to_owned()));
        for (text, expected) in [
            ("The third option is correct.", Some("C")),
            ("La segunda opción es correcta", Some("B")),
            ("第三个选项正确", Some("C")),
            ("The third option is wrong.", None),
            ("The third law is correct.", None),
        ] {
            assert_eq!(placed(&Answer::new(text), &choices).label().as_deref(), expected, "{text}");
        }
    }
}
