//! Phrases that announce the answer: `the answer is B`, `Answer: B`, `答案是B`, `选B`.

use crate::characters::{is_word, may_lead, may_trail, split_last_word, word_at};
use crate::choices::Choices;
use crate::letters::Answer;
use crate::option_texts;
use gage_text_kit::text::is_space;

/// Words allowed between `answer` and the answer itself.
const FILLERS: &[&str] = &[
    "is",
    "was",
    "be",
    "the",
    "option",
    "choice",
    "letter",
    "should",
    "would",
    "must",
    "will",
    "probably",
    "most",
    "likely",
    "therefore",
    "thus",
    "definitely",
    "clearly",
    "correct",
    "best",
    "final",
    "to",
    "this",
    "question",
    "that",
    "of",
    "for",
    "simply",
    "boxed",
    "text",
    "textbf",
    "mathrm",
];

/// Fillers that link the cue to the answer. Without such a link, `the answer A is wrong` would announce A.
const LINKS: &[&str] = &["is", "was", "be"];

/// Chinese fillers, longer ones first.
const CHINESE_FILLERS: &[&str] =
    &["应该", "应当", "正确", "选择", "选项", "择", "应", "为", "是", "选", "就", "的", "项"];

/// Words before `选` that reverse its meaning.
const REFUSALS: &[&str] = &["不", "不应", "不应该", "不能", "不会", "不可", "勿", "别"];

/// Maximum number of fillers between a cue and its answer.
const MAX_FILLERS: usize = 12;

/// Maximum number of cues examined, from the end of the answer. No meaningful answer has more.
const MAX_CUES: usize = 5_000;

/// Returns the answer that the last cue announces. The last one counts because a model that thinks aloud names its
/// answer at the end.
pub(crate) fn announced(answer: &Answer<'_>, choices: &Choices, by_text: bool) -> Option<String> {
    let cues = cues(&answer.lower);
    cues.into_iter().take(MAX_CUES).find_map(|(end, linked)| follow(answer, end, linked, choices, by_text))
}

/// Returns the text after the last cue, without the words that link it to the answer.
pub(crate) fn last_announcement(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let (mut at, _) = cues(&lower).into_iter().next()?;
    for _ in 0..MAX_FILLERS {
        let rest = lower.get(at..)?;
        at += rest.len() - rest.trim_start_matches(is_separator).len();
        let next = lower.get(at..)?;
        let word = word_at(&lower, at);
        match CHINESE_FILLERS.iter().find(|filler| next.starts_with(**filler)) {
            Some(filler) => at += filler.len(),
            None if matches!(word, "are" | "were" | "options") || FILLERS.contains(&word) => at += word.len(),
            None => break,
        }
    }
    text.get(at..)
}

/// Returns the end positions of cues, last first, and whether each needs no link.
fn cues(lower: &str) -> Vec<(usize, bool)> {
    let bytes = lower.as_bytes();
    // A single pass that checks the first bytes: a long answer may be full of either.
    let found = bytes.iter().enumerate().filter_map(|(at, byte)| match byte {
        b'a' if bytes.get(at + 1) == Some(&b'n') => english_cue(lower, at),
        _ if Some(byte) == CHINESE_ANSWER.as_bytes().first() => {
            lower.get(at..)?.starts_with(CHINESE_ANSWER).then_some((at + CHINESE_ANSWER.len(), true))
        }
        _ if Some(byte) == CHOOSE.as_bytes().first() => chinese_choice(lower, at),
        _ => None,
    });
    let mut cues: Vec<(usize, bool)> = found.collect();
    cues.reverse();
    cues
}

const ANSWER: &str = "answer";
const CHINESE_ANSWER: &str = "答案";
const CHOOSE: &str = "选";

/// Returns the end of the word `answer` if that word begins at `at`.
fn english_cue(lower: &str, at: usize) -> Option<(usize, bool)> {
    let rest = lower.get(at..)?.strip_prefix(ANSWER)?;
    let before = lower.get(..at)?;
    if before.ends_with(is_word) || rest.starts_with(is_word) {
        return None;
    }
    let word = split_last_word(before.trim_end_matches(is_space)).1;
    (!matches!(word, "wrong" | "incorrect")).then_some((at + ANSWER.len(), false))
}

/// Returns the end of `选` at `at`, unless the words before it reverse its meaning. `选项` means `option` and announces
/// nothing.
fn chinese_choice(lower: &str, at: usize) -> Option<(usize, bool)> {
    let rest = lower.get(at..)?.strip_prefix(CHOOSE)?;
    let before = lower.get(..at)?;
    let announces = !REFUSALS.iter().any(|refusal| before.ends_with(*refusal)) && !rest.starts_with('项');
    announces.then_some((at + CHOOSE.len(), true))
}

/// Returns the answer after a cue that ends at `at`. `linked` is true if the cue needs no link.
fn follow(
    answer: &Answer<'_>,
    cue_end: usize,
    mut linked: bool,
    choices: &Choices,
    by_text: bool,
) -> Option<String> {
    let lower = answer.lower.as_str();
    let mut at = cue_end;
    for _ in 0..MAX_FILLERS {
        let rest = lower.get(at..)?;
        let next = rest.trim_start_matches(is_separator);
        let skipped = rest.len() - next.len();
        linked |= rest.get(..skipped)?.contains([':', '=', '>', '：']);
        at += skipped;
        if let Some(filler) = CHINESE_FILLERS.iter().find(|filler| next.starts_with(**filler)) {
            at += filler.len();
            continue;
        }
        let word = word_at(lower, at);
        if let (1, Some(letter)) = (word.len(), word.chars().next())
            && linked
            && letter.is_ascii_alphabetic()
            && answer.names_option(at, letter.to_ascii_uppercase(), choices)
        {
            if answer.is_refuted(at, choices) {
                return None;
            }
            return Some(letter.to_ascii_uppercase().into());
        }
        if !FILLERS.contains(&word) {
            break;
        }
        linked |= LINKS.contains(&word);
        at += word.len();
    }
    if !linked || !by_text {
        return None;
    }
    let word = word_at(lower, at);
    let skipped = if matches!(word, "a" | "an" | "the") { word.len() } else { 0 };
    option_texts::prefix(answer.text.get(at + skipped..)?, choices)
}

fn is_separator(character: char) -> bool {
    may_lead(character) || may_trail(character) || matches!(character, '=' | '-' | '—')
}

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
        ] {
            assert_eq!(announced(&Answer::new(text), &choices, true).as_deref(), expected, "{text}");
        }
    }
}
