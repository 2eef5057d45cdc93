//! Finding the option that an answer names.

use crate::choices::Choices;
use crate::cues::{announced, concluded, placed};
use crate::decision::{Decision, Outcome};
use crate::letters::{Answer, MAX_WORD_BYTES};
use crate::option_texts::mentioned;
use gage_text_kit::latex_boxed::{last_box, without_commands};
use gage_text_kit::text::{fold, is_space, strip};
use gage_text_kit::thoughts::{before_open_thought, strip_thought_tags};
use std::borrow::Cow;

/// Returns the label of the option that an answer names, in upper case. An answer that names several options and
/// chooses none of them has none.
///
/// Thoughts in `<think>` tags do not count, and neither does a further question that the model asked itself after its
/// answer. In the rest, the first rule that matches wins:
///
/// 1. the whole answer is a label, with any brackets and marks around it;
/// 2. the whole answer is the text of an option;
/// 3. the last `\boxed{…}` holds a label or the text of an option;
/// 4. the last phrase like `the answer is …`, `I choose …`, `答案是…` is followed by one, or by `the second option`;
///    otherwise the last conclusion like `so it must be …`;
/// 5. a label right after a word: `AnswerB`;
/// 6. a stand-alone letter that is a label. It is alone in its line, is called right (`B is correct`, `B ✅`), begins the
///    answer, or is the only one. These do not count: denied letters (`not A`), those said to be wrong (`A错误`), words
///    (*a*, *I*), parts of a name (`vitamin C`) or a formula. Neither do the labels of a list of options;
/// 7. the text of an option occurs in the answer, not denied and not inside a longer one;
/// 8. the only letter of the answer, even if it is said to be wrong: the question may have asked for that.
///
/// Rules 3, 4 and 6 end the search without an answer if they find several options: `Both A and C could be right`.
///
/// Without `by_text`, the texts of options are ignored everywhere.
pub fn extract(answer: &str, choices: &Choices, by_text: bool) -> Option<String> {
    let answer = readable(answer);
    let text = answer.as_ref();
    let by_text = by_text && !choices.is_unknown();
    before_next_question(text)
        .and_then(|first| clear(first, choices, by_text))
        .or_else(|| named(text, choices, by_text).label())
}

/// Returns the label that a text gives as its whole, in a box, after a phrase that announces it, or alone in a line.
fn clear(text: &str, choices: &Choices, by_text: bool) -> Option<String> {
    let answer = Answer::new(text);
    let alone = || Decision::new(&answer, choices).alone();
    whole_or_boxed(text, choices, by_text)
        .or_else(|| announced(&answer, choices, by_text))
        .or_else(alone)
        .label()
}

fn named(text: &str, choices: &Choices, by_text: bool) -> Outcome {
    if text.is_empty() {
        return Outcome::Nothing;
    }
    let early = whole_or_boxed(text, choices, by_text);
    if early != Outcome::Nothing {
        return early;
    }
    let answer = Answer::new(text);
    let is_mentioned =
        || by_text.then(|| mentioned(text, choices)).flatten().map_or(Outcome::Nothing, Outcome::One);
    let early = announced(&answer, choices, by_text)
        .or_else(|| concluded(&answer, choices))
        .or_else(|| Outcome::of(answer.joined_letter(choices)));
    if early != Outcome::Nothing {
        return early;
    }
    let decision = Decision::new(&answer, choices);
    let place = || placed(&answer, choices);
    decision.outcome().or_else(place).or_else(is_mentioned).or_else(|| decision.wrong())
}

/// Returns the option that a text names as its whole, or in its last box.
fn whole_or_boxed(text: &str, choices: &Choices, by_text: bool) -> Outcome {
    let is_whole = |text: &str| {
        let label = choices.label(text).or_else(|| by_text.then(|| choices.with_text(text)).flatten());
        label.map_or(Outcome::Nothing, Outcome::One)
    };
    let in_box = || {
        let Some(held) = boxed(text) else { return Outcome::Nothing };
        let letter = || Decision::new(&Answer::new(held), choices).outcome();
        let is_mentioned =
            || by_text.then(|| mentioned(held, choices)).flatten().map_or(Outcome::Nothing, Outcome::One);
        is_whole(held).or_else(letter).or_else(is_mentioned)
    };
    is_whole(text).or_else(in_box)
}

/// Words that begin a question.
const QUESTIONS: &[&str] = &[
    "question",
    "next question",
    "q",
    "frage",
    "pregunta",
    "pergunta",
    "questão",
    "domanda",
    "вопрос",
    "问题",
    "题目",
    "問題",
    "質問",
    "문제",
    "질문",
];

/// Returns whether a character may begin one of [`QUESTIONS`]. Most lines of a text begin otherwise.
fn may_begin_question(first: char) -> bool {
    let first = first.to_ascii_lowercase();
    matches!(first, 'd' | 'f' | 'n' | 'p' | 'q' | 'в' | 'В' | '问' | '題' | '题' | '問' | '質' | '문' | '질')
}

/// Returns the text before a line that begins another question: a model may go on to invent one. `None` if there is
/// none.
fn before_next_question(text: &str) -> Option<&str> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let said = line.trim_start_matches(|mark: char| !mark.is_alphanumeric());
        if start == 0 || !said.starts_with(may_begin_question) {
            start += line.len();
            continue;
        }
        let said = said.get(..said.floor_char_boundary(MAX_WORD_BYTES)).unwrap_or_default();
        let lower = said.to_lowercase();
        let is_end = |next: char| is_space(next) || next.is_numeric() || matches!(next, ':' | '：' | '.');
        let is_question =
            QUESTIONS.iter().filter_map(|word| lower.strip_prefix(word)).any(|rest| rest.starts_with(is_end));
        if is_question {
            return text.get(..start).map(strip).filter(|before| !before.is_empty());
        }
        start += line.len();
    }
    None
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
        .or_else(|| announced(&answer, choices, false).label().and_then(only))
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
    fn several_options_are_no_answer() {
        check(
            r#"{"A":"Shark","B":"Dolphin","C":"Trout"}"#,
            &[
                ("A or B", None),
                ("Both A and C could be right.", None),
                ("The answer is A or B", None),
                (r"\boxed{A, C}", None),
                ("It could be A or B, but I'd say B", Some("B")),
            ],
        );
    }

    #[test]
    fn further_questions_do_not_count() {
        check(
            r#"{"A":"Shark","B":"Dolphin","C":"Trout"}"#,
            &[
                ("B\n\nQuestion 2: Which?\nAnswer: C", Some("B")),
                ("Answer: B\n\nNext question: Which?\nAnswer: C", Some("B")),
                ("Question: Which?\nA. Shark\nAnswer: C", Some("C")),
                ("Let me see.\nQuestion: Which?\nAnswer: C", Some("C")),
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
