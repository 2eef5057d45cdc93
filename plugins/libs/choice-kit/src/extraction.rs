//! Finding the option that an answer names.

use crate::characters::is_alphanumeric;
use crate::choices::Choices;
use crate::cues::{announced, concluded, placed};
use crate::decision::{Decision, Outcome};
use crate::letters::{Answer, MAX_WORD_BYTES};
use crate::option_texts::mentioned;
use crate::readable::readable;
use crate::scan::find_any;
use gage_text_kit::latex_boxed::{last_box, without_commands};
use gage_text_kit::text::{is_space, strip};

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
    let early = announced(&answer, choices, by_text)
        .or_else(|| concluded(&answer, choices))
        .or_else(|| Outcome::of(answer.joined_letter(choices)));
    if early != Outcome::Nothing {
        return early;
    }
    let decision = Decision::new(&answer, choices);
    let place = || placed(&answer, choices);
    decision
        .outcome()
        .or_else(place)
        .or_else(|| mention(&answer, choices, by_text))
        .or_else(|| decision.wrong())
}

/// Returns the option whose text an answer mentions.
fn mention(answer: &Answer<'_>, choices: &Choices, by_text: bool) -> Outcome {
    by_text.then(|| mentioned(answer, choices)).flatten().map_or(Outcome::Nothing, Outcome::One)
}

/// Returns the option that a text names as its whole, or in its last box.
fn whole_or_boxed(text: &str, choices: &Choices, by_text: bool) -> Outcome {
    let is_whole = |text: &str| {
        let label = choices.label(text).or_else(|| by_text.then(|| choices.with_text(text)).flatten());
        label.map_or(Outcome::Nothing, Outcome::One)
    };
    let in_box = || {
        let Some(held) = boxed(text) else { return Outcome::Nothing };
        let answer = Answer::new(held);
        let letter = || Decision::new(&answer, choices).outcome();
        is_whole(held).or_else(letter).or_else(|| mention(&answer, choices, by_text))
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

/// Returns whether the first two characters of a text may begin one of [`QUESTIONS`]. Most lines of a text begin
/// otherwise.
fn may_begin_question(text: &str) -> bool {
    let mut characters = text.chars().map(|character| character.to_ascii_lowercase());
    match (characters.next(), characters.next()) {
        (Some('q'), next) => next.is_some_and(|next| next == 'u' || !next.is_alphabetic()),
        (Some('f' | 'p'), Some('r')) | (Some('n' | 'p'), Some('e')) | (Some('d'), Some('o')) => true,
        (first, _) => {
            matches!(first, Some('в' | 'В' | '问' | '題' | '题' | '問' | '質' | '문' | '질'))
        }
    }
}

/// Returns the text before a line that begins another question: a model may go on to invent one. `None` if there is
/// none.
fn before_next_question(text: &str) -> Option<&str> {
    let mut start = 0;
    while let Some(end) = find_any(text.as_bytes(), start, [b'\n']) {
        start = end + 1;
        let said = text.get(start..)?.trim_start_matches(|mark| mark != '\n' && !is_alphanumeric(mark));
        if !may_begin_question(said) {
            continue;
        }
        let said = said.get(..said.floor_char_boundary(MAX_WORD_BYTES)).unwrap_or_default();
        let lower = said.split_inclusive('\n').next().unwrap_or_default().to_lowercase();
        let is_end = |next: char| is_space(next) || next.is_numeric() || matches!(next, ':' | '：' | '.');
        let is_question =
            QUESTIONS.iter().filter_map(|word| lower.strip_prefix(word)).any(|rest| rest.starts_with(is_end));
        if is_question {
            return text.get(..start).map(strip).filter(|before| !before.is_empty());
        }
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

/// Returns the content of the last `\boxed{…}` or `\fbox{…}`, without further commands around it.
pub fn boxed(text: &str) -> Option<&str> {
    // A search for braces is slow, and most texts have no box that is closed.
    let mut signs = std::iter::successors(find_any(text.as_bytes(), 0, [b'\\']), |sign| {
        find_any(text.as_bytes(), sign + 1, [b'\\'])
    });
    let first = signs.find_map(|sign| {
        let rest = text.get(sign..)?;
        BOXES.iter().any(|command| rest.starts_with(command)).then_some(rest)
    })?;
    find_any(first.as_bytes(), 0, [b'}'])?;
    last_box(first).map(|found| without_commands(found.held))
}

/// Commands that begin a box.
const BOXES: [&str; 2] = [r"\boxed", r"\fbox"];

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
    fn questions_begin_as_they_may() {
        for word in QUESTIONS {
            for word in [(*word).to_owned(), word.to_uppercase()] {
                for end in ["\n", ":", " 2", "3", "。"] {
                    let text = format!("B\n## {word}{end}");
                    let expected = (end != "。").then_some("B");
                    assert_eq!(before_next_question(&text), expected, "{text}");
                }
            }
        }
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
