//! Dataset, options and target of a task: the entry of `datasets` and its preprocessor.

use super::task::Task;
use crate::template_names::{expression, first_field, first_list, is_name, path_of};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// The options of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choices {
    /// A list in the row.
    Field(String),
    /// A field of the row for each option.
    Fields(Vec<String>),
    /// The same texts for every row.
    Texts(Vec<String>),
    /// Anything else, as it is written.
    Other(String),
}

/// The right answer of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// A field of the row.
    Field(String),
    /// The place of a field's value in another list of the row: the list, and the field.
    PlaceIn(String, String),
    /// The text after `####` of a field.
    AfterMarks(String),
    /// Anything else, as it is written.
    Other(String),
}

impl Choices {
    /// Reads `doc_to_choice`.
    pub(super) fn of(value: &Tree) -> Choices {
        if let Some(items) = value.as_list() {
            return Choices::Texts(items.iter().map(Tree::plain_text).collect());
        }
        let text = value.plain_text();
        if is_name(&text) {
            return Choices::Field(text);
        }
        let Some(inner) = expression(&text) else { return Choices::Other(text) };
        if let Some(path) = path_of(inner) {
            return Choices::Field(path);
        }
        let Some(items) = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return Choices::Other(text);
        };
        let items: Vec<&str> = items.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        if let Some(paths) = items.iter().map(|item| path_of(item)).collect() {
            return Choices::Fields(paths);
        }
        let texts: Option<Vec<String>> = items.iter().map(|item| quoted(item)).collect();
        texts.map_or(Choices::Other(text), Choices::Texts)
    }

    /// Returns the expression of Jinja for the list.
    pub(super) fn jinja(&self) -> Option<String> {
        match self {
            Choices::Field(path) => Some(path.clone()),
            Choices::Fields(paths) => Some(format!("[{}]", paths.join(", "))),
            Choices::Texts(texts) => Some(Value::from(texts.clone()).to_string()),
            Choices::Other(_) => None,
        }
    }

    /// Returns true if the options are the letters from A on.
    fn are_letters(&self) -> bool {
        let Choices::Texts(texts) = self else { return false };
        texts.iter().zip('A'..='Z').all(|(text, letter)| text.trim() == letter.to_string())
    }
}

fn quoted(item: &str) -> Option<String> {
    let inner = |quote| item.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).map(str::to_owned)
}

impl Target {
    /// Reads `doc_to_target`.
    pub(super) fn of(value: &Tree) -> Target {
        let text = value.plain_text();
        if is_name(&text) {
            return Target::Field(text);
        }
        let Some(inner) = expression(&text) else { return Target::Other(text) };
        if let Some(path) = path_of(inner) {
            return Target::Field(path);
        }
        if let Some((list, rest)) = inner.split_once(".index(")
            && let Some(answer) = rest.strip_suffix(')').and_then(path_of)
        {
            return match path_of(list) {
                Some(list) => Target::PlaceIn(list, answer),
                // A list of letters.
                None => Target::Field(answer),
            };
        }
        match inner.split_once(".split(") {
            Some((field, rest)) if rest.contains("##") && rest.contains("[-1]") => match path_of(field) {
                Some(field) => Target::AfterMarks(field),
                None => Target::Other(text),
            },
            _ => Target::Other(text),
        }
    }

    /// Returns the template of Jinja for the right one of the options.
    pub(super) fn jinja_among(&self, choices: &Choices) -> Option<String> {
        let list = choices.jinja()?;
        let place = match self {
            Target::Field(path) => format!("{path}|int"),
            // Lists have no method `index` here.
            Target::PlaceIn(labels, answer) => {
                let chosen =
                    format!("{{% if one == {answer} %}}{{{{ ({list})[loop.index0] }}}}{{% endif %}}");
                return Some(format!("{{% for one in {labels} %}}{chosen}{{% endfor %}}"));
            }
            Target::Other(place) if place.parse::<usize>().is_ok() => place.clone(),
            Target::AfterMarks(_) | Target::Other(_) => return None,
        };
        Some(format!("{{{{ ({list})[{place}] }}}}"))
    }
}

/// The preprocessor of a task.
pub(super) struct Rows {
    /// The name, or the file of a plugin that a person has to write.
    pub(super) preprocess: String,
    /// Its parameters.
    pub(super) kwargs: Mapping,
    /// True if the letters of options are scored, not their texts.
    pub(super) scores_letters: bool,
    /// The reason why there is no built-in preprocessor for these rows.
    pub(super) missing: Option<String>,
}

impl Rows {
    fn of(preprocess: &str, parameters: &[(&str, &str, &str)]) -> Rows {
        let mut kwargs = Mapping::default();
        for (key, value, default) in parameters {
            if value != default {
                kwargs.set(key, Tree::text(*value));
            }
        }
        Rows { preprocess: preprocess.to_owned(), kwargs, scores_letters: false, missing: None }
    }

    fn missing(task: &Task, reason: String) -> Rows {
        let name = format!("{}-rows", super::plugin_part(&task.id));
        let rows = Rows::of(&format!("./{name}/{name}.wasm"), &[]);
        Rows { missing: Some(reason), ..rows }
    }
}

/// Returns the preprocessor of a task with options.
pub(super) fn of_choices(task: &Task, choices: &Choices, target: &Target) -> Rows {
    let template = task.text_of("doc_to_text").unwrap_or_default();
    let question = question_field(&template).unwrap_or_else(|| "question".to_owned());
    let is_place = matches!(target, Target::PlaceIn(..));
    let answer = match target {
        Target::Field(path) | Target::PlaceIn(_, path) => path.as_str(),
        Target::AfterMarks(_) | Target::Other(_) => {
            let written = task.shown("doc_to_target");
            return Rows::missing(task, format!("`doc_to_target: {written}` is not a field of the row"));
        }
    };
    let mut rows = match choices {
        Choices::Field(list) => Rows::of(
            "multi_choice",
            &[
                ("question_field", &question, "question"),
                ("choices_field", list, "choices"),
                ("answer_field", answer, "answer"),
            ],
        ),
        Choices::Fields(fields) if fields.len() == 2 => Rows::of(
            "piqa",
            &[
                ("goal_field", &question, "goal"),
                ("sol1_field", &fields[0], "sol1"),
                ("sol2_field", &fields[1], "sol2"),
                ("label_field", answer, "label"),
            ],
        ),
        letters if letters.are_letters() && first_list(&template).is_some() => {
            let list = first_list(&template).unwrap_or_default();
            let rows = Rows::of(
                "multi_choice",
                &[
                    ("question_field", &question, "question"),
                    ("choices_field", &list, "choices"),
                    ("answer_field", answer, "answer"),
                ],
            );
            Rows { scores_letters: true, ..rows }
        }
        Choices::Fields(_) => {
            return Rows::missing(task, "each option is a field of its own".to_owned());
        }
        Choices::Texts(texts) => {
            let shown = texts.join("`, `");
            return Rows::missing(task, format!("the options `{shown}` are not in the row"));
        }
        Choices::Other(_) => {
            let written = task.shown("doc_to_choice");
            return Rows::missing(task, format!("`doc_to_choice: {written}` is not a field of the row"));
        }
    };
    if is_place {
        // Rows that label their options with numbers count them from 1.
        rows.kwargs.set("answer_index_base", Tree::Scalar(1.into()));
    }
    rows.kwargs.set("style", Tree::text("question_only"));
    rows
}

/// Returns the preprocessor of a task whose model writes an answer.
pub(super) fn of_answer(task: &Task, target: &Target) -> Rows {
    let template = task.text_of("doc_to_text").unwrap_or_default();
    let question = question_field(&template).unwrap_or_else(|| "question".to_owned());
    let removes_solution = task.removes_solution();
    match target {
        Target::AfterMarks(answer) => solutions(&question, answer),
        Target::Field(answer) if removes_solution => solutions(&question, answer),
        Target::Field(answer) => Rows::of(
            "default",
            &[("question_field", &question, "question"), ("answer_field", answer, "answer")],
        ),
        Target::PlaceIn(..) | Target::Other(_) => {
            let written = task.shown("doc_to_target");
            Rows::missing(task, format!("`doc_to_target: {written}` is not a field of the row"))
        }
    }
}

fn solutions(question: &str, answer: &str) -> Rows {
    let mut rows =
        Rows::of("gsm8k", &[("question_field", question, "question"), ("answer_field", answer, "answer")]);
    rows.kwargs.set("instruction", Tree::text(""));
    rows
}

/// Returns the preprocessor of whole texts.
pub(super) fn of_texts(task: &Task, target: &Target) -> Rows {
    let field = match target {
        Target::Field(field) => field.clone(),
        _ => {
            let query = task.text_of("doc_to_decontamination_query");
            query.and_then(|query| question_field(&query)).unwrap_or_else(|| "text".to_owned())
        }
    };
    Rows::of("default", &[("question_field", &field, "text")])
}

/// Returns the field of the question: a name, or the first field of a template.
fn question_field(text: &str) -> Option<String> {
    if is_name(text) { Some(text.to_owned()) } else { first_field(text) }
}
