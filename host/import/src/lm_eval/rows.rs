//! Dataset, options and target of a task: the entry of `datasets` and its preprocessor.

use super::task::Task;
use crate::template_names::{concatenation, expression, first_field, first_list, is_name, path_of};
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
    /// The place of the right option, as an expression of Jinja.
    Computed(String),
    /// The text after `####` of a field.
    AfterMarks(String),
    /// The same texts for every row; each is right.
    List(Vec<String>),
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
            Choices::Other(text) => expression(text).map(str::to_owned),
        }
    }

    /// Returns true if the options are the letters from A on.
    fn are_letters(&self) -> bool {
        let Choices::Texts(texts) = self else { return false };
        texts.iter().zip('A'..='Z').all(|(text, letter)| text.trim() == letter.to_string())
    }
}

/// Returns the items of a list that is written in a template, as they are written. `None` if it is not a list of texts,
/// numbers and booleans.
fn literals(list: &str) -> Option<Vec<&str>> {
    let items = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let items: Vec<&str> = items.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    let is_literal = |item: &&str| {
        quoted(item).is_some_and(|text| !text.contains(['"', '\'']))
            || item.parse::<i64>().is_ok()
            || ["True", "False", "true", "false"].contains(item)
    };
    items.iter().all(is_literal).then_some(items)
}

/// Returns true if the items are `'A'`, `'B'` and so on, in either case: preprocessors read such answers.
fn are_quoted_letters(items: &[&str]) -> bool {
    let is_letter = |(item, letter): (&&str, char)| {
        quoted(item).is_some_and(|text| text.eq_ignore_ascii_case(letter.encode_utf8(&mut [0; 4])))
    };
    items.iter().zip('A'..='Z').all(is_letter)
}

/// Returns the expression of the place of an answer among items: lists have no method `index` here.
fn place_among(items: &[&str], answer: &str) -> String {
    let places: Vec<String> =
        items.iter().enumerate().map(|(place, item)| format!("{item}: {place}")).collect();
    format!("{{{}}}[{answer}]", places.join(", "))
}

/// Returns the expression that a target is, with the texts around it. `None` if it cannot be computed here: a function of
/// Python, a template with statements, or a method of Python without a counterpart.
fn computed_target(written: &str) -> Option<String> {
    const UNKNOWN_METHODS: [&str; 2] = [".index(", ".rsplit("];
    let is_constant = written.trim().is_empty() || written.parse::<f64>().is_ok();
    // White space around an expression is a part of the target.
    let computed = match expression(written).filter(|_| written.trim() == written) {
        Some(inner) => Some(inner.to_owned()),
        None if is_constant => Some(Value::from(written).to_string()),
        None => concatenation(written),
    };
    computed.filter(|computed| UNKNOWN_METHODS.iter().all(|method| !computed.contains(method)))
}

fn quoted(item: &str) -> Option<String> {
    let inner = |quote| item.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).map(str::to_owned)
}

impl Target {
    /// Reads `doc_to_target`.
    pub(super) fn of(value: &Tree) -> Target {
        if let Some(items) = value.as_list() {
            return Target::List(items.iter().map(Tree::plain_text).collect());
        }
        let text = value.plain_text();
        if is_name(&text) {
            return Target::Field(text);
        }
        let Some(inner) = expression(&text) else { return Target::Other(text) };
        if let Some(path) = path_of(inner) {
            return Target::Field(path);
        }
        if let Some((list, rest)) = inner.split_once(".index(")
            && let Some(answer) = rest.strip_suffix(')')
        {
            return match (path_of(list), literals(list), path_of(answer)) {
                (Some(list), _, Some(answer)) => Target::PlaceIn(list, answer),
                (None, Some(items), Some(answer)) if are_quoted_letters(&items) => Target::Field(answer),
                (None, Some(items), _) => Target::Computed(place_among(&items, answer)),
                _ => Target::Other(text.clone()),
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
            Target::Computed(place) => place.clone(),
            Target::Other(place) if place.parse::<usize>().is_ok() => place.clone(),
            Target::AfterMarks(_) | Target::List(_) | Target::Other(_) => return None,
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
    /// Fields that are computed for each row, as expressions of Jinja.
    pub(super) fields: Mapping,
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
        Rows {
            preprocess: preprocess.to_owned(),
            kwargs,
            fields: Mapping::default(),
            scores_letters: false,
            missing: None,
        }
    }

    fn without_target(task: &Task) -> Rows {
        let written = task.shown("doc_to_target");
        Rows::missing(task, format!("`doc_to_target: {written}` is not a field of the row"))
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
    let mut question = question_field(&template).unwrap_or_else(|| "question".to_owned());
    let mut fields = Mapping::default();
    let answer = match target {
        Target::Field(path) | Target::PlaceIn(_, path) => path.clone(),
        Target::Computed(place) => computed_field(&mut fields, "target", place, &template),
        Target::List(_) => return Rows::without_target(task),
        Target::AfterMarks(_) | Target::Other(_) => {
            let written = task.text_of("doc_to_target").unwrap_or_default();
            let written = written.trim().to_owned();
            let place = written.parse::<usize>().is_ok().then(|| written.clone());
            let Some(computed) = place.or_else(|| computed_target(&written)) else {
                return Rows::without_target(task);
            };
            computed_field(&mut fields, "target", &computed, &template)
        }
    };
    let list = first_list(&template).filter(|_| choices.are_letters());
    let scores_letters = list.is_some();
    let mut rows = match (choices, list) {
        (Choices::Fields(names), _) if names.len() == 2 && fields.entries.is_empty() => Rows::of(
            "piqa",
            &[
                ("goal_field", &question, "goal"),
                ("sol1_field", &names[0], "sol1"),
                ("sol2_field", &names[1], "sol2"),
                ("label_field", &answer, "label"),
            ],
        ),
        (choices, list) => {
            let field = match (choices, list) {
                (_, Some(list)) => list,
                (Choices::Field(path), None) => path.clone(),
                (choices, None) => {
                    let Some(computed) = choices.jinja() else {
                        let written = task.shown("doc_to_choice");
                        let reason = format!("`doc_to_choice: {written}` is not a field of the row");
                        return Rows::missing(task, reason);
                    };
                    computed_field(&mut fields, "choices", &computed, &template)
                }
            };
            if template.trim().is_empty() {
                // Without a prompt, the first option is the question: a row must have one.
                question = computed_field(&mut fields, "question", &format!("{field}[0]"), &template);
            }
            Rows::of(
                "multi_choice",
                &[
                    ("question_field", &question, "question"),
                    ("choices_field", &field, "choices"),
                    ("answer_field", &answer, "answer"),
                ],
            )
        }
    };
    if matches!(target, Target::PlaceIn(..)) {
        // Rows that label their options with numbers count them from 1.
        rows.kwargs.set("answer_index_base", Tree::Scalar(1.into()));
    } else if matches!(target, Target::Computed(_) | Target::Other(_)) {
        rows.kwargs.set("answer_index_base", Tree::Scalar(0.into()));
    }
    rows.kwargs.set("style", Tree::text("question_only"));
    Rows { fields, scores_letters, ..rows }
}

/// Returns the preprocessor of a task that scores one text: it is the only option of its row.
pub(super) fn of_continuation(task: &Task, target: &Target) -> Rows {
    if matches!(target, Target::List(_)) {
        return Rows::without_target(task);
    }
    let written = task.text_of("doc_to_target").unwrap_or_default();
    let computed = if is_name(&written) { Some(written) } else { computed_target(&written) };
    let Some(computed) = computed else { return Rows::without_target(task) };
    let template = task.text_of("doc_to_text").unwrap_or_default();
    let question = question_field(&template).unwrap_or_else(|| "question".to_owned());
    let mut fields = Mapping::default();
    let list = computed_field(&mut fields, "choices", &format!("[{computed}]"), &template);
    let answer = computed_field(&mut fields, "target", "0", &template);
    let mut rows = Rows::of(
        "multi_choice",
        &[
            ("question_field", &question, "question"),
            ("choices_field", &list, "choices"),
            ("answer_field", &answer, "answer"),
        ],
    );
    rows.kwargs.set("answer_index_base", Tree::Scalar(0.into()));
    rows.kwargs.set("style", Tree::text("question_only"));
    Rows { fields, ..rows }
}

/// Adds a computed field, and returns its name: one that the prompt does not read.
fn computed_field(fields: &mut Mapping, name: &str, computed: &str, template: &str) -> String {
    let is_read = crate::template_names::fields(template).iter().any(|field| field == name);
    let name = if is_read { format!("{name}_of_row") } else { name.to_owned() };
    fields.set(&name, Tree::text(computed));
    name
}

/// Returns the preprocessor of a task whose model writes an answer.
pub(super) fn of_answer(task: &Task, target: &Target) -> Rows {
    let template = task.text_of("doc_to_text").unwrap_or_default();
    let question = question_field(&template).unwrap_or_else(|| "question".to_owned());
    match target {
        Target::AfterMarks(answer) => solutions(&question, answer),
        Target::Field(answer) => Rows::of(
            "default",
            &[("question_field", &question, "question"), ("answer_field", answer, "answer")],
        ),
        Target::PlaceIn(..) | Target::Computed(_) | Target::List(_) | Target::Other(_) => {
            let computed = match target {
                Target::Computed(place) => Some(place.clone()),
                Target::List(texts) => Some(Value::from(texts.clone()).to_string()),
                _ => computed_target(&task.text_of("doc_to_target").unwrap_or_default()),
            };
            let Some(computed) = computed else { return Rows::without_target(task) };
            let mut fields = Mapping::default();
            let answer = computed_field(&mut fields, "target", &computed, &template);
            let parameters = [
                ("question_field", question.as_str(), "question"),
                ("answer_field", answer.as_str(), "answer"),
            ];
            Rows { fields, ..Rows::of("default", &parameters) }
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

/// Returns the field of the question: a name, or a field of a template, which is the first one unless `question` is read.
/// Others may be empty in some rows, such as a passage before the question.
fn question_field(text: &str) -> Option<String> {
    const QUESTION: &str = "question";
    if is_name(text) {
        return Some(text.to_owned());
    }
    let first = first_field(text)?;
    let is_later = !first.starts_with(QUESTION)
        && crate::template_names::fields(text).iter().any(|field| field == QUESTION);
    Some(if is_later { QUESTION.to_owned() } else { first })
}
