//! The question of a row, which must have text: a field of the row, or a computed one.

use super::files::FUNCTION;
use super::task::Task;
use crate::template_names::{concatenation, fields, first_field, is_name, is_whole_text};
use serde_json::Value;

/// Field of the question if no template says more.
const QUESTION: &str = "question";
/// The question of rows whose prompt has statements. Only the prompt is sent.
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

/// Returns the field that stands for the whole question: the only one of the template, or `question`. Others may be empty
/// in some rows, such as a passage before the question.
fn field_of(template: &str) -> Option<String> {
    if is_name(template) {
        return Some(template.to_owned());
    }
    let first = first_field(template)?;
    let all = fields(template);
    let path = match !first.starts_with(QUESTION) && all.iter().any(|field| field == QUESTION) {
        true => QUESTION.to_owned(),
        false => first,
    };
    // Of a field with members, others may be read, too.
    let is_only = match path.contains('.') {
        true => all.len() == 1,
        false => all.iter().all(|field| *field == path),
    };
    let is_question = is_only || path.starts_with(QUESTION);
    (is_question && is_whole_text(template, &path)).then_some(path)
}

/// Returns true if two paths name the same value, or one is a member of the other.
fn overlap(one: &str, other: &str) -> bool {
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_in(one, other) || is_in(other, one)
}

/// Returns an expression for the text of the prompt. A template with statements is none; its rows have one text.
fn computed(template: &str) -> String {
    if is_name(template) {
        return template.to_owned();
    }
    let has_code = template.contains("{{") || template.contains("{%") || template.contains("{#");
    let text = if has_code { SEE_PROMPT } else { template };
    concatenation(template).unwrap_or_else(|| Value::from(text).to_string())
}
