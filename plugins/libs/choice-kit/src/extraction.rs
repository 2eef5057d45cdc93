//! Finding the option that an answer names.

use crate::choices::Choices;
use crate::cues::announced;
use crate::letters::{Answer, MAX_WORD_BYTES};
use crate::option_texts::mentioned;
use gage_text_kit::latex_boxed::{last_box, without_commands};
use gage_text_kit::text::{fold, strip};
use gage_text_kit::thoughts::{before_open_thought, strip_thought_tags};
use std::borrow::Cow;

/// Returns the label of the option that an answer names, in upper case.
///
/// Thoughts in `<think>` tags do not count. In the rest, the first rule that matches wins:
///
/// 1. the whole answer is a label, with any brackets and marks around it;
/// 2. the whole answer is the text of an option;
/// 3. the last `\boxed{…}` holds a label or the text of an option;
/// 4. the last phrase like `the answer is …`, `答案是…`, `选…` is followed by one;
/// 5. the first stand-alone letter that is a label and is neither denied (`not A`) nor said to be wrong (`A is wrong`,
///    `A错误`). The article `a` and the pronoun `I` do not count. A label right after a word (`AnswerB`) comes first;
/// 6. the text of an option occurs in the answer, not denied and not inside a longer one;
/// 7. the only letter of the answer, even if it is said to be wrong: the question may have asked for that.
///
/// Without `by_text`, the texts of options are ignored everywhere.
pub fn extract(answer: &str, choices: &Choices, by_text: bool) -> Option<String> {
    let answer = readable(answer);
    let text = answer.as_ref();
    if text.is_empty() {
        return None;
    }
    let by_text = by_text && !choices.is_unknown();
    let is_whole =
        |text: &str| choices.label(text).or_else(|| by_text.then(|| choices.with_text(text)).flatten());
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
        .or_else(|| answer.joined_letter(choices).map(String::from))
        .or_else(|| answer.first_letter(choices).map(String::from))
        .or_else(|| is_mentioned(text))
        .or_else(|| answer.only_letter(choices).map(String::from))
}

/// Returns the last stand-alone letter that is a label, in upper case, even if it is denied. A to E may be joined to
/// other words (`e-mail`). Other letters may not, and must be upper case. Without such a letter, one in lower case counts
/// if it is the whole text or a phrase announces it. So does one that follows a word without a space (`AnswerB`).
pub fn last_letter(text: &str, choices: &Choices) -> Option<char> {
    let answer = Answer::new(text);
    let only = |label: String| {
        let mut characters = label.chars();
        characters.next().filter(|_| characters.next().is_none())
    };
    answer
        .last_letter(choices)
        .or_else(|| if text.len() <= MAX_WORD_BYTES { choices.label(text).and_then(only) } else { None })
        .or_else(|| announced(&answer, choices, false).and_then(only))
        .or_else(|| answer.joined_letter(choices))
}

/// Returns the answer without thoughts and surrounding white space, with fullwidth forms as ASCII.
pub(crate) fn readable(answer: &str) -> Cow<'_, str> {
    let folded = |answer: &str| strip(&fold(before_open_thought(answer))).to_owned();
    match strip_thought_tags(answer) {
        // Most answers are short and plain, and need no copy.
        Cow::Borrowed(answer) => match fold(before_open_thought(answer)) {
            Cow::Borrowed(answer) => Cow::Borrowed(strip(answer)),
            Cow::Owned(_) => Cow::Owned(folded(answer)),
        },
        Cow::Owned(answer) => Cow::Owned(folded(&answer)),
    }
}

/// Returns the content of the last `\boxed{…}` or `\fbox{…}`, without further commands around it.
pub fn boxed(text: &str) -> Option<&str> {
    last_box(text).map(|found| without_commands(found.held))
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
                ("A is wrong, B is right", Some("B")),
                ("A错误，B正确", Some("B")),
                ("Ａ错误，Ｂ正确", Some("B")),
                ("答案：A错误，B正确", Some("B")),
                ("A is wrong", Some("A")),
                ("A 项错误，B 项正确", Some("B")),
                ("(A) 不正确，(B) 正确", Some("B")),
                ("A：不正确；B：正确", Some("B")),
                ("A（Shark）错误，B（Dolphin）正确", Some("B")),
                ("A:错。B:对。", Some("B")),
                ("A: incorrect", Some("A")),
                ("A: Shark", Some("A")),
                ("A (Shark)", Some("A")),
                ("not a Shark but a Dolphin", Some("B")),
                ("Both A and C are wrong, so the answer is D.", Some("D")),
                ("Final answer: dolphin", Some("B")),
                ("the answer is (B)", Some("B")),
                (r#"{"answer": "B"}"#, Some("B")),
                ("选：B", Some("B")),
                ("选Ｂ", Some("B")),
                ("【答案】B", Some("B")),
                ("答案为「B」", Some("B")),
                ("答案:B", Some("B")),
                ("B。", Some("B")),
                ("B选项正确", Some("B")),
                ("A、C、D都不对，选B", Some("B")),
                ("AnswerB", Some("B")),
                ("**OptionB** because A is wrong", Some("B")),
                ("optionb", Some("B")),
                ("AnswerE", None),
                ("the options", None),
                ("so b", Some("B")),
                ("the answer is b", Some("B")),
                ("option b.", Some("B")),
                ("E", None),
                ("AB", None),
                ("В", None),
                ("   ", None),
            ],
        );
    }

    #[test]
    fn the_last_letter_may_be_in_lower_case() {
        for (text, expected) in [
            ("f", Some('F')),
            ("(f).", Some('F')),
            ("the answer is f", Some('F')),
            ("it is f", None),
            ("AnswerF", Some('F')),
            ("answers", None),
        ] {
            assert_eq!(last_letter(text, &Choices::default()), expected, "{text}");
        }
    }

    #[test]
    fn the_last_box_that_is_closed_counts() {
        for (text, expected) in [
            (r"\boxed{A} \fbox{B}", Some("B")),
            (r"\boxed{A} \boxed{B", Some("A")),
            (r"\boxed{A \boxed{B}", Some("B")),
            (r"\boxed{A \boxed{B", None),
            (r"\boxed{{A} \boxed{", None),
        ] {
            assert_eq!(boxed(text), expected, "{text}");
        }
        assert_eq!(boxed(&r"\boxed{".repeat(100_000)), None);
    }

    #[test]
    fn numeric_labels_are_found_alone_only() {
        check(
            r#"{"1":"Shark","2":"Dolphin"}"#,
            &[("2", Some("2")), ("(2).", Some("2")), ("The answer is 2", None)],
        );
    }

    #[test]
    fn an_option_may_say_that_something_is_wrong() {
        check(
            r#"{"A":"正确","B":"错误"}"#,
            &[
                ("B 错误", Some("B")),
                ("B：错误", Some("B")),
                ("B. 错误。", Some("B")),
                ("我认为B（错误），A 不对", Some("B")),
            ],
        );
        check(
            r#"{"A":"Correct","B":"Incorrect"}"#,
            &[
                ("B: Incorrect", Some("B")),
                ("It is B (incorrect), see A", Some("B")),
                ("B is wrong, A", Some("A")),
            ],
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
