//! Rows of a task: the preprocessor of the dataset, and computed fields.

use super::question::Question;
use super::target::{Choices, Target, computed_target};
use super::task::Task;
use crate::template_names::{first_field, first_list, is_name};
use crate::tree::{Mapping, Tree};
use serde_json::Value;
use std::collections::BTreeSet;

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
    let computed = match target {
        Target::Computed(place) => Some(place.clone()),
        Target::AfterMarks(_) | Target::List(_) | Target::Other(_) => match computed_place(task, target) {
            Some(place) => Some(place),
            None => return Rows::without_target(task),
        },
        Target::Column(_) | Target::Field(..) | Target::Letter(..) | Target::PlaceIn(..) => None,
    };
    let mut fields = ComputedFields::of(task);
    if let (Choices::Fields(names), Some(answer)) = (choices, target.field())
        && let [first, second] = names.as_slice()
    {
        let question = fields.question(task, None);
        let parameters = [
            ("goal_field", question.as_str(), "goal"),
            ("sol1_field", first.as_str(), "sol1"),
            ("sol2_field", second.as_str(), "sol2"),
            ("label_field", answer, "label"),
        ];
        let mut rows = Rows::of("piqa", &parameters);
        rows.kwargs.set("style", Tree::text("question_only"));
        return Rows { fields: fields.made, ..rows };
    }
    let template = task.text_of("doc_to_text").unwrap_or_default();
    let letters = first_list(&template).filter(|_| choices.are_letters());
    let scores_letters = letters.is_some();
    let list = match (choices, letters) {
        (_, Some(letters)) => letters,
        (Choices::Field(path), None) => path.clone(),
        (choices, None) => {
            let Some(computed) = choices.jinja() else {
                let written = task.shown("doc_to_choice");
                return Rows::missing(task, format!("`doc_to_choice: {written}` is not a field of the row"));
            };
            fields.add("choices", &computed)
        }
    };
    let computed = computed.or_else(|| target.place_in(choices, &list).filter(|_| !scores_letters));
    let is_computed = computed.is_some();
    let answer = match (computed, target) {
        (Some(computed), _) => fields.add("target", &computed),
        (None, Target::Letter(path, _) | Target::PlaceIn(_, path)) => path.clone(),
        (None, target) => target.field().unwrap_or("answer").to_owned(),
    };
    let question = fields.question_among(task, &list);
    let mut rows = multi_choice(&question, &list, &answer);
    let base = match target {
        // Rows that label their options with numbers count them from 1.
        Target::PlaceIn(..) => Some(1),
        // Digits that a template writes are a place.
        Target::Field(..) if scores_letters => Some(0),
        Target::Column(_) | Target::Field(..) if !scores_letters && choices.may_be_digits() => Some(0),
        _ => is_computed.then_some(0),
    };
    if let Some(base) = base {
        rows.kwargs.set("answer_index_base", Tree::Scalar(base.into()));
    }
    rows.kwargs.set("style", Tree::text("question_only"));
    Rows { fields: fields.made, scores_letters, ..rows }
}

/// Returns the place of the right option: a number, or an expression.
fn computed_place(task: &Task, target: &Target) -> Option<String> {
    if matches!(target, Target::List(_)) {
        return None;
    }
    let written = task.text_of("doc_to_target").unwrap_or_default();
    let written = written.trim();
    if written.parse::<usize>().is_ok() { Some(written.to_owned()) } else { computed_target(written) }
}

fn multi_choice(question: &str, list: &str, answer: &str) -> Rows {
    Rows::of(
        "multi_choice",
        &[
            ("question_field", question, "question"),
            ("choices_field", list, "choices"),
            ("answer_field", answer, "answer"),
        ],
    )
}

/// Returns the preprocessor of a task that scores one text: it is the only option of its row.
pub(super) fn of_continuation(task: &Task, target: &Target) -> Rows {
    if matches!(target, Target::List(_)) {
        return Rows::without_target(task);
    }
    let written = task.text_of("doc_to_target").unwrap_or_default();
    let computed = if is_name(&written) { Some(written) } else { computed_target(&written) };
    let Some(computed) = computed else { return Rows::without_target(task) };
    let mut fields = ComputedFields::of(task);
    let list = fields.add("choices", &format!("[{computed}]"));
    let answer = fields.add("target", "0");
    let question = fields.question_among(task, &list);
    let mut rows = multi_choice(&question, &list, &answer);
    rows.kwargs.set("answer_index_base", Tree::Scalar(0.into()));
    rows.kwargs.set("style", Tree::text("question_only"));
    Rows { fields: fields.made, ..rows }
}

/// The computed fields of a dataset.
struct ComputedFields {
    made: Mapping,
    /// The fields that the templates of the task read.
    read: BTreeSet<String>,
}

impl ComputedFields {
    fn of(task: &Task) -> ComputedFields {
        ComputedFields { made: Mapping::default(), read: task.fields_read() }
    }

    /// Adds a field, and returns its name: one that no template reads.
    fn add(&mut self, name: &str, computed: &str) -> String {
        let name = if self.read.contains(name) { format!("{name}_of_row") } else { name.to_owned() };
        self.made.set(&name, Tree::text(computed));
        name
    }

    /// Returns the field of the question of a row with options. Without a prompt, it is the first option: a row must have a
    /// question.
    fn question_among(&mut self, task: &Task, list: &str) -> String {
        match task.text_of("doc_to_text").unwrap_or_default().trim().is_empty() {
            true => self.add("question", &format!("{list}[0]")),
            false => self.question(task, None),
        }
    }

    /// Returns the field of the question: one of the row, or a computed one. `taken` is a field that the preprocessor
    /// takes out of the row.
    fn question(&mut self, task: &Task, taken: Option<&str>) -> String {
        match Question::of(task, taken) {
            Question::Field(path) => path,
            Question::Computed(computed) => self.add("question", &computed),
        }
    }
}

/// Returns the preprocessor of a task whose model writes an answer.
pub(super) fn of_answer(task: &Task, target: &Target) -> Rows {
    let mut fields = ComputedFields::of(task);
    if let Target::AfterMarks(answer) = target {
        let question = fields.question(task, None);
        return Rows { fields: fields.made, ..solutions(&question, answer) };
    }
    let (question, answer) = match target.field() {
        Some(answer) => (fields.question(task, Some(answer)), answer.to_owned()),
        None => {
            let computed = match target {
                Target::Computed(place) | Target::Letter(_, place) => Some(place.clone()),
                Target::List(texts) => Some(Value::from(texts.clone()).to_string()),
                _ => computed_target(&task.text_of("doc_to_target").unwrap_or_default()),
            };
            let Some(computed) = computed else { return Rows::without_target(task) };
            let answer = fields.add("target", &computed);
            (fields.question(task, None), answer)
        }
    };
    let parameters =
        [("question_field", question.as_str(), "question"), ("answer_field", answer.as_str(), "answer")];
    Rows { fields: fields.made, ..Rows::of("default", &parameters) }
}

fn solutions(question: &str, answer: &str) -> Rows {
    let mut rows =
        Rows::of("gsm8k", &[("question_field", question, "question"), ("answer_field", answer, "answer")]);
    rows.kwargs.set("instruction", Tree::text(""));
    rows
}

/// The field of whole texts: the preprocessor keeps the white space around it, and the text may be empty.
const TEXT: &str = "text";

/// Returns the preprocessor of whole texts.
pub(super) fn of_texts(task: &Task, target: &Target) -> Rows {
    if task.function("doc_to_target").is_some() {
        let query = task.text_of("doc_to_decontamination_query");
        let query = query.and_then(|query| if is_name(&query) { Some(query) } else { first_field(&query) });
        let field = query.unwrap_or_else(|| TEXT.to_owned());
        return Rows::of("default", &[("question_field", &field, TEXT)]);
    }
    let written = task.text_of("doc_to_target").unwrap_or_default();
    let computed = match target {
        Target::List(_) => None,
        _ if written.is_empty() => None,
        _ if is_name(&written) => Some(written),
        _ => computed_target(&written),
    };
    let Some(computed) = computed else { return Rows::without_target(task) };
    // Without the name, a row may have a `question`, which comes first.
    let rows = Rows::of("default", &[("question_field", TEXT, "")]);
    let mut fields = Mapping::default();
    if computed != TEXT {
        fields.set(TEXT, Tree::text(computed));
    }
    Rows { fields, ..rows }
}
