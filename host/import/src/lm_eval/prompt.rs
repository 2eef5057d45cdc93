//! The prompt of a task: description, examples, question, and the beginning of the answer.

use super::files::FUNCTION;
use super::rows::{Choices, Target};
use super::task::{OutputType, Task};
use crate::note::Notes;
use crate::template_names::{is_name, with_owner};
use crate::tree::{Mapping, Tree};

/// Text between two examples, if the task does not set it.
pub(super) const DEFAULT_FEWSHOT_DELIMITER: &str = "\n\n";
/// Text between question and answer, if the task does not set it.
pub(super) const DEFAULT_TARGET_DELIMITER: &str = " ";

/// Seed with which lm-eval draws examples.
const DEFAULT_SEED: u64 = 1234;

/// Returns the prompt of a task. `None` if whole texts are scored.
pub(super) fn convert(
    task: &Task,
    choices: Option<&Choices>,
    target: &Target,
    notes: &mut Notes,
) -> Option<Mapping> {
    if task.output_type() == OutputType::Rolling {
        return None;
    }
    let mut prompt = Mapping::default();
    let question = question(task, &mut prompt, notes);
    let mut template = task.text_of("description").unwrap_or_default();
    let source = match examples(task, &mut prompt, notes) {
        Some(examples) => {
            let mut params = Mapping::default();
            params.set("examples", examples);
            prompt.set("params", Tree::Map(params));
            Some("params.examples")
        }
        None => examples_of_split(task).map(|_| "few_shot"),
    };
    if let Some(source) = source {
        let text = task.example_text("doc_to_text").unwrap_or_else(|| question.clone());
        let answer = match (task.example_text("doc_to_target"), choices) {
            (Some(answer), _) => Some(answer),
            (None, Some(choices)) => target.jinja_among(choices),
            (None, None) => template_of(&task.text_of("doc_to_target").unwrap_or_default()),
        };
        if answer.is_none() {
            let message = "the answers of examples are made by Python: write them into the template";
            notes.needs_work(task.key("doc_to_target"), message.to_owned(), &mut prompt.comments);
        }
        let answer = answer.unwrap_or_else(|| "{{ target }}".to_owned());
        let delimiter = delimiter(task, "fewshot_delimiter", DEFAULT_FEWSHOT_DELIMITER);
        let between = delimiter_of_target(task);
        let example = with_owner(&format!("{text}{between}{answer}"), "example");
        template.push_str(&format!("{{% for example in {source} %}}{example}{delimiter}{{% endfor %}}"));
    }
    template.push_str(&question);
    if let Some(prefix) = task.text_of("gen_prefix") {
        template.push_str(&format!("{}{prefix}", delimiter_of_target(task)));
    }
    if template.trim().is_empty() && task.output_type() != OutputType::GenerateUntil {
        let message = "the options are scored without a prompt; here a prompt must have text";
        notes.needs_work(task.key("doc_to_text"), message.to_owned(), &mut prompt.comments).help(
            "write a text that may stand before them; the figures then differ a little from those of lm-eval",
        );
    }
    prompt.set_first("template", Tree::text(template));
    Some(prompt)
}

/// Returns the template of the question.
fn question(task: &Task, prompt: &mut Mapping, notes: &mut Notes) -> String {
    let text = task.text_of("doc_to_text").unwrap_or_default();
    if let Some(function) = task.function("doc_to_text") {
        let effect = super::functions::effect_of(&task.dataset(), &function);
        let effect = effect.map(|effect| format!(": {effect}")).unwrap_or_default();
        let message = format!("the prompt is made by `{function}` of Python{effect}; write it as a template");
        notes
            .needs_work(task.key("doc_to_text"), message, &mut prompt.comments)
            .help("templates are Jinja, and fields of the row are variables: `Question: {{ question }}`");
        return "{{ question }}".to_owned();
    }
    template_of(&text).unwrap_or(text)
}

/// Returns the examples of a task: rows, which the template shows. `None` if there are none.
fn examples(task: &Task, prompt: &mut Mapping, notes: &mut Notes) -> Option<Tree> {
    let count = task.count_of("num_fewshot").unwrap_or(0);
    let config = task.get("fewshot_config").and_then(Tree::as_map);
    let samples = config.and_then(|config| config.get("samples"));
    match samples {
        Some(Tree::List(rows)) if count > 0 => {
            let most = usize::try_from(count).unwrap_or(usize::MAX);
            return Some(Tree::List(rows.iter().take(most).cloned().collect()));
        }
        Some(Tree::List(rows)) => {
            let message = format!(
                "the task has {} examples, and shows none without `--num_fewshot`; they are left out",
                rows.len()
            );
            notes.dropped(task.key("fewshot_config.samples"), message, &mut prompt.comments);
            return None;
        }
        _ => {}
    }
    None
}

/// Returns the examples that come from a split of the dataset: `few_shot` of the dataset.
pub(super) fn examples_of_split(task: &Task) -> Option<Mapping> {
    let count = task.count_of("num_fewshot").filter(|count| *count > 0)?;
    let config = task.get("fewshot_config").and_then(Tree::as_map);
    if config.is_some_and(|config| config.has("samples")) {
        return None;
    }
    let splits = ["fewshot_split", "training_split", "validation_split", "test_split"];
    let split = splits.iter().find_map(|key| task.text_of(key))?;
    let mut shots = Mapping::default();
    shots.set("split", Tree::text(split));
    shots.set("count", Tree::Scalar(count.into()));
    if config.and_then(|config| config.text("sampler")) != Some("first_n") {
        shots.set("pick", Tree::text("random"));
        shots.set("seed", Tree::Scalar(DEFAULT_SEED.into()));
    }
    Some(shots)
}

impl Task {
    /// Returns a template of the examples, if it differs from that of the questions.
    fn example_text(&self, key: &str) -> Option<String> {
        let text = self.get("fewshot_config")?.as_map()?.text(key)?;
        template_of(text)
    }
}

/// Returns the template of a text that may be the name of a field. `None` if it is a function of Python.
fn template_of(text: &str) -> Option<String> {
    if is_name(text) {
        return Some(format!("{{{{ {text} }}}}"));
    }
    (!text.starts_with(FUNCTION)).then(|| text.to_owned())
}

/// Returns the text between question and answer.
pub(super) fn delimiter_of_target(task: &Task) -> String {
    delimiter(task, "target_delimiter", DEFAULT_TARGET_DELIMITER)
}

fn delimiter(task: &Task, key: &str, default: &str) -> String {
    task.text_of(key).unwrap_or_else(|| default.to_owned())
}
