//! Answers that name several options: `A, C`, `AC`, `A and C`, `选AC`, `["A", "C"]`.

use crate::characters::bare;
use crate::choices::Choices;
use crate::cues::last_announcement;
use crate::extraction::{boxed, extract};
use crate::letters::Answer;
use crate::readable::readable;
use std::collections::BTreeSet;

/// Words between members of a list.
const JOINTS: &[&str] = &["and", "or", "&", "+", "/", "option", "options", "和", "与", "及", "以及"];

/// Separators between members of a list.
const SEPARATORS: &[char] = &[',', '，', '、', ';', '；', '/', '&', '+', '|', '\n', '和', '与', '及'];

/// Maximum length of a text that may be a list of options, in bytes.
const MAX_LIST_BYTES: usize = 4096;

/// Returns the labels of all options that an answer names, in upper case. These are the ones it lists ([`list_of`]),
/// otherwise each stand-alone letter that is not denied, otherwise the one option that [`extract`] finds.
pub fn extract_all(answer: &str, choices: &Choices, by_text: bool) -> BTreeSet<String> {
    let letters = || Answer::new(readable(answer).as_ref()).letters(choices).map(String::from).collect();
    let found: BTreeSet<String> = list_of(answer, choices, by_text).unwrap_or_else(letters);
    if found.is_empty() { extract(answer, choices, by_text).into_iter().collect() } else { found }
}

/// Returns the labels of the options that an answer lists, in upper case. The first of these that is a list of labels
/// or option texts counts: the whole answer; the last `\boxed{…}`; the text after the last phrase like
/// `the answer is …`.
pub fn list_of(answer: &str, choices: &Choices, by_text: bool) -> Option<BTreeSet<String>> {
    let readable = readable(answer);
    let text = readable.as_ref();
    let by_text = by_text && !choices.is_unknown();
    let listed = |text: &str| listed(text, choices, by_text);
    let announced = || {
        let rest = last_announcement(text)?;
        let end = rest.find(['\n', '。', '.']).unwrap_or(rest.len());
        rest.get(..end)
    };
    listed(text).or_else(|| listed(boxed(text)?)).or_else(|| listed(announced()?))
}

/// Returns the labels that a text lists, if the text is nothing but a list.
fn listed(text: &str, choices: &Choices, by_text: bool) -> Option<BTreeSet<String>> {
    if text.len() > MAX_LIST_BYTES {
        return None;
    }
    let mut labels = BTreeSet::new();
    let mut add = |part: &str| -> Option<()> {
        if let Some(found) = member(part, choices, by_text) {
            labels.extend(found);
            return Some(());
        }
        // Spaces separate labels, but not the words of a text.
        for word in part.split_whitespace() {
            if !JOINTS.contains(&bare(word).to_lowercase().as_str()) {
                labels.extend(member(word, choices, by_text)?);
            }
        }
        Some(())
    };
    for part in text.split(SEPARATORS) {
        add(part)?;
    }
    (!labels.is_empty()).then_some(labels)
}

/// Returns the labels that a part of a list means: one label, or letters with nothing between them.
fn member(part: &str, choices: &Choices, by_text: bool) -> Option<Vec<String>> {
    let part = bare(part);
    if let Some(label) = choices.label(part).or_else(|| by_text.then(|| choices.with_text(part)).flatten()) {
        return Some(vec![label]);
    }
    let is_run = part.len() > 1 && part.chars().all(|letter| letter.is_ascii_uppercase());
    if !is_run || !part.chars().all(|letter| choices.has_letter(letter)) {
        return None;
    }
    let mut letters: Vec<char> = part.chars().collect();
    letters.sort_unstable();
    let is_distinct = letters.windows(2).all(|pair| pair.first() != pair.last());
    is_distinct.then(|| letters.into_iter().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    #[test]
    fn several_options() {
        let options = r#"{"A":"Shark","B":"Dolphin","C":"Blue Whale","D":"Octopus"}"#;
        let choices = Choices::new(&Value::Json(options.to_owned()));
        for (answer, expected) in [
            ("A, C", "AC"),
            ("CA", "AC"),
            ("A and C", "AC"),
            ("(A) & (C)", "AC"),
            ("A、C", "AC"),
            ("A和C", "AC"),
            ("ＡＣ", "AC"),
            (r#"["A","C"]"#, "AC"),
            ("Shark, blue whale", "AC"),
            ("答案：ABD", "ABD"),
            ("正确答案是A、B和D。", "ABD"),
            ("应该选AC", "AC"),
            ("The answer is A and C.", "AC"),
            ("B is wrong. The answers... the answer is: A, C", "AC"),
            (r"\boxed{A, C}", "AC"),
            (r"\boxed{\text{AC}}", "AC"),
            ("<think>B</think>A C", "AC"),
            ("Option A fits, and not B, but D does", "AD"),
            ("A正确，B错误，C正确", "AC"),
            ("A is right. B is wrong. C is right.", "AC"),
            ("B", "B"),
            ("Dolphin", "B"),
            ("It is the dolphin", "B"),
            ("CAC", ""),
            ("AE", ""),
            ("", ""),
        ] {
            let found = extract_all(answer, &choices, true);
            assert_eq!(found.into_iter().collect::<String>(), expected, "{answer}");
        }
    }
}
