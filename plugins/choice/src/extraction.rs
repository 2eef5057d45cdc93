//! Finding the option that an answer names.

use crate::choices::Choices;
use crate::cues::announced;
use crate::letters::Answer;
use crate::option_texts::{mentioned, whole};
use gage_text_kit::text::{fold, strip};
use gage_text_kit::thoughts::{before_open_thought, strip_thought_tags};

/// Gives the label of the option that an answer names, in upper case.
///
/// Thoughts in `<think>` tags are no answer. In what is left, the first of these that is found wins:
///
/// 1. the whole answer is a label, whatever brackets and marks stand around it;
/// 2. the whole answer is the text of an option;
/// 3. the last `\boxed{…}` holds a label or the text of an option;
/// 4. the last phrase like `the answer is …`, `答案是…`, `选…` is followed by one;
/// 5. a letter that stands alone is a label, and is neither denied (`not A`) nor the article `a` nor the
///    pronoun `I`; the first one;
/// 6. the text of an option stands somewhere in the answer, not denied and not inside a longer one.
///
/// Without `by_text` the texts of options count nowhere.
pub fn extract(answer: &str, choices: &Choices, by_text: bool) -> Option<String> {
    let answer = strip_thought_tags(answer);
    let answer = fold(before_open_thought(&answer));
    let text = strip(&answer);
    if text.is_empty() {
        return None;
    }
    let by_text = by_text && !choices.is_unknown();
    let is_whole =
        |text: &str| choices.label(text).or_else(|| by_text.then(|| whole(text, choices)).flatten());
    let is_mentioned = |text: &str| by_text.then(|| mentioned(text, choices)).flatten();
    if let Some(label) = is_whole(text) {
        return Some(label);
    }
    if let Some(held) = boxed(text) {
        let label = is_whole(held)
            .or_else(|| Answer::new(held).first_letter(choices).map(String::from))
            .or_else(|| is_mentioned(held));
        if label.is_some() {
            return label;
        }
    }
    let answer = Answer::new(text);
    announced(&answer, choices, by_text)
        .or_else(|| answer.first_letter(choices).map(String::from))
        .or_else(|| is_mentioned(text))
}

/// What the last `\boxed{…}` or `\fbox{…}` holds, without further commands around it.
fn boxed(text: &str) -> Option<&str> {
    let boxes = [r"\boxed{", r"\fbox{"];
    let held = boxes.iter().flat_map(move |opening| {
        text.match_indices(*opening).filter_map(move |(at, opening)| {
            let start = at + opening.len();
            Some((start, up_to_closing_brace(text.get(start..)?)?))
        })
    });
    held.max_by_key(|(start, _)| *start).map(|(_, held)| without_commands(held))
}

/// The text up to the brace that closes one that was opened before it.
fn up_to_closing_brace(text: &str) -> Option<&str> {
    let mut open = 1_usize;
    let end = text.char_indices().find_map(|(at, character)| {
        match character {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })?;
    text.get(..end)
}

/// What stands inside `\text{…}`, `\mathrm{\text{…}}` and so on.
fn without_commands(text: &str) -> &str {
    let mut text = strip(text);
    while let Some(held) = text
        .strip_prefix('\\')
        .map(|command| command.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()))
        .and_then(|argument| argument.strip_prefix('{'))
        .and_then(|argument| argument.strip_suffix('}'))
    {
        text = strip(held);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn check(options: &str, table: &[(&str, Option<&str>)]) {
        let choices = Choices::new(&Value::Json(options.to_owned()));
        for (answer, expected) in table {
            assert_eq!(extract(answer, &choices, true).as_deref(), *expected, "{answer}");
        }
    }

    #[test]
    fn answers() {
        check(
            r#"{"A":"Shark","B":"Dolphin","C":"Trout","D":"Octopus"}"#,
            &[
                ("b", Some("B")),
                ("**B.**", Some("B")),
                ("（Ｂ）", Some("B")),
                ("$B$", Some("B")),
                ("B：Dolphin", Some("B")),
                ("B.Dolphin", Some("B")),
                ("B-Dolphin", Some("B")),
                (r#"["B"]"#, Some("B")),
                ("  DOLPHIN ", Some("B")),
                (r"A or B? \boxed{B}", Some("B")),
                (r"\boxed{\text{B}}", Some("B")),
                (r"\boxed{\textbf{(D) Octopus}}", Some("D")),
                (r"\boxed{42} B", Some("B")),
                ("<think>maybe A</think>B", Some("B")),
                ("maybe A</think>B", Some("B")),
                ("<think>maybe A", None),
                ("A mammal is a dolphin, so B", Some("B")),
                ("It is not A, it is B", Some("B")),
                ("B because A is wrong", Some("B")),
                ("not a Shark but a Dolphin", Some("B")),
                ("Both A and C are wrong, so the answer is D.", Some("D")),
                ("Final answer: dolphin", Some("B")),
                ("E", None),
                ("AB", None),
                ("В", None),
                ("   ", None),
            ],
        );
    }

    #[test]
    fn numeric_labels_are_found_alone_only() {
        check(
            r#"{"1":"Shark","2":"Dolphin"}"#,
            &[("2", Some("2")), ("(2).", Some("2")), ("The answer is 2", None)],
        );
    }

    #[test]
    fn unknown_options_are_letters() {
        let choices = Choices::default();
        assert_eq!(extract("I think B", &choices, true).as_deref(), Some("B"));
        assert_eq!(extract("Dolphin", &choices, true), None);
    }

    #[test]
    fn texts_can_be_left_out() {
        let choices = Choices::new(&Value::Json(r#"{"A":"Shark","B":"Dolphin"}"#.to_owned()));
        assert_eq!(extract("Dolphin", &choices, false), None);
        assert_eq!(extract("The answer is B", &choices, false).as_deref(), Some("B"));
    }
}
