//! The question of a row, which must have text: a field of the row, or a computed one.

use super::files::FUNCTION;
use super::task::Task;
use crate::template_names::{expressions, fields, first_field, is_name, reads_text, whole_texts};
use serde_json::Value;

/// Field of the question if no template says more.
const QUESTION: &str = "question";
/// Names of a field that is the question even if the prompt shows other fields.
const NAMES_OF_QUESTIONS: [&str; 5] = [QUESTION, "Question", "input_question", "query", "prompt"];
/// The question of rows if statements choose the fields of the prompt. Only the prompt is sent.
const SEE_PROMPT: &str = "see the prompt";

/// The question of a row.
#[derive(Debug, PartialEq)]
pub(super) enum Question {
    /// A field of the row.
    Field(String),
    /// An expression of Jinja.
    Computed(String),
}

impl Question {
    /// Reads `doc_to_text`. `taken` is a field that the preprocessor takes out of the row for the answer.
    pub(super) fn of(task: &Task, taken: Option<&str>) -> Question {
        let template = task.text_of("doc_to_text").unwrap_or_default();
        if template.trim().is_empty() || template.starts_with(FUNCTION) {
            return Question::Field(QUESTION.to_owned());
        }
        match field_of(&template).filter(|path| !taken.is_some_and(|taken| overlap(path, taken))) {
            Some(path) => Question::Field(path),
            None => Question::Computed(computed(&template)),
        }
    }
}

/// Returns the field that stands for the whole question: the only field of the template, or a field with one of
/// [`NAMES_OF_QUESTIONS`]. `None` if that field may be empty in some rows, as a question before another text may be.
fn field_of(template: &str) -> Option<String> {
    if is_name(template) {
        return Some(template.to_owned());
    }
    let first = first_field(template)?;
    let all = fields(template);
    let texts = whole_texts(template);
    // Of a field with members, others may be read, too.
    let is_only = match first.contains('.') {
        true => all.len() == 1,
        false => all.iter().all(|field| *field == first),
    };
    if (is_only || first.starts_with(QUESTION) && texts.len() == 1) && texts.contains(&first) {
        return Some(first);
    }
    let named = NAMES_OF_QUESTIONS.into_iter().find(|name| reads_text(template, name))?;
    let may_be_empty = texts.split_first().is_some_and(|(first, others)| {
        first == named && others.iter().any(|text| !is_of_series(text, others))
    });
    (!may_be_empty).then(|| named.to_owned())
}

/// Returns true if fields differ from one only in the last letter, as options do: `A` and `B`, `answer1` and `answer2`.
fn is_of_series(field: &str, fields: &[String]) -> bool {
    fields.iter().filter(|other| without_last(other) == without_last(field)).count() > 1
}

fn without_last(text: &str) -> &str {
    text.char_indices().next_back().map_or(text, |(last, _)| &text[..last])
}

/// Returns true if two paths name the same value, or one is a member of the other.
fn overlap(one: &str, other: &str) -> bool {
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_in(one, other) || is_in(other, one)
}

/// Returns an expression for the text of the question: the fields of the prompt, joined. A prompt without fields, or whose
/// statements choose them, has one text for every row.
fn computed(template: &str) -> String {
    if is_name(template) {
        return template.to_owned();
    }
    let texts = whole_texts(template);
    let written = expressions(template).filter(|written| !written.is_empty());
    let parts = match written {
        _ if texts.len() > 1 => texts,
        Some(written) => written,
        None => Vec::new(),
    };
    if !parts.is_empty() {
        let mut distinct: Vec<String> = Vec::new();
        for part in parts {
            if !distinct.contains(&part) {
                distinct.push(part);
            }
        }
        return match distinct.as_slice() {
            [only] => only.clone(),
            several => several.iter().map(|part| operand(part)).collect::<Vec<_>>().join(" ~ ' ' ~ "),
        };
    }
    let has_code = template.contains("{{") || template.contains("{%") || template.contains("{#");
    Value::from(if has_code { SEE_PROMPT } else { template }).to_string()
}

/// Returns an expression that may stand next to an operator.
fn operand(expression: &str) -> String {
    match expression.chars().all(|one| one.is_alphanumeric() || "_.".contains(one)) {
        true => expression.to_owned(),
        false => format!("({expression})"),
    }
}
