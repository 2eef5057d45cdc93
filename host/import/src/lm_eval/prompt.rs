//! The prompt of a task: description, examples, question, and the beginning of the answer.

use super::files::FUNCTION;
use super::target::{Choices, Target};
use super::task::{OutputType, Task};
use super::template_parts::{Delimiter, Part, joined, literal, push_part, with_last_line_break};
use crate::note::Notes;
use crate::template_names::{is_name, with_owner};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Text between two examples, if the task does not set it.
pub(super) const DEFAULT_FEWSHOT_DELIMITER: &str = "\n\n";
/// Text between question and answer, if the task does not set it.
pub(super) const DEFAULT_TARGET_DELIMITER: &str = " ";

/// Text between `gen_prefix` and the answer of an example.
const PREFIX_DELIMITER: &str = " ";

/// Name of the sampler that takes the first examples.
const FIRST_EXAMPLES: &str = "first_n";

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
    let mut choices = choices;
    let source = match examples(task, &mut prompt, notes) {
        Some(examples) => {
            if have_texts(&examples, target) {
                choices = None;
            }
            let mut params = Mapping::default();
            params.set("examples", examples);
            prompt.set("params", Tree::Map(params));
            Some("params.examples")
        }
        None => examples_of_split(task).map(|_| "few_shot"),
    };
    if let Some(source) = source {
        let example = example(task, &question, choices, target, &mut prompt, notes);
        template.push_str(&format!("{{% for example in {source} %}}{example}{{% endfor %}}"));
    }
    let prefix = task.text_of("gen_prefix").unwrap_or_default();
    let parts = [Part::new("question_text", &question), Part::new("prefix_text", &prefix)];
    let delimiter = delimiter_of_target(task);
    push_part(&mut template, &joined(&parts, &[Delimiter::new(&delimiter)]));
    if template.trim().is_empty() && task.output_type() != OutputType::GenerateUntil {
        let message = "the options are scored without a prompt; here a prompt must have text";
        notes.needs_work(task.key("doc_to_text"), message.to_owned(), &mut prompt.comments).help(
            "write a text that may stand before them; the figures then differ a little from those of lm-eval",
        );
    }
    prompt.set_first("template", Tree::text(with_last_line_break(template)));
    Some(prompt)
}

/// Returns the template of one example, with the text after it.
fn example(
    task: &Task,
    question: &str,
    choices: Option<&Choices>,
    target: &Target,
    prompt: &mut Mapping,
    notes: &mut Notes,
) -> String {
    note_functions(task, prompt, notes);
    let text = task.example_template("doc_to_text").unwrap_or_else(|| question.to_owned());
    let choices = task.of_examples("doc_to_choice").filter(|_| choices.is_some()).map(Choices::of);
    let answer = match (task.example_template("doc_to_target"), target, &choices) {
        (Some(answer), _, _) => Some(answer),
        (None, target, Some(choices)) => target.jinja_among(choices),
        (None, Target::List(texts), None) => Some(literal(texts.first().map_or("", String::as_str))),
        // Of several right answers, the examples show the first.
        (None, Target::Column(path) | Target::Field(path, _), None) if task.has_several_targets() => {
            Some(format!("{{{{ {path}[0] if {path} is sequence else {path} }}}}"))
        }
        (None, _, None) => template_of(&task.text_of("doc_to_target").unwrap_or_default()),
    };
    if answer.is_none() {
        let message = "the answers of examples are made by Python: write them into the template";
        notes.needs_work(task.key("doc_to_target"), message.to_owned(), &mut prompt.comments);
    }
    let answer = answer.unwrap_or_else(|| "{{ target }}".to_owned());
    let prefix = task.example_text("gen_prefix").unwrap_or_default();
    let [text, prefix, answer] = [text, prefix, answer].map(|part| with_owner(&part, "example"));
    let between = task.example_text("target_delimiter");
    let between = between.unwrap_or_else(|| DEFAULT_TARGET_DELIMITER.to_owned());
    let after = task.example_text("fewshot_delimiter");
    let after = after.unwrap_or_else(|| DEFAULT_FEWSHOT_DELIMITER.to_owned());
    let parts = [
        Part::new("question_text", &text),
        Part::new("prefix_text", &prefix),
        Part::new("answer_text", &answer),
    ];
    // Without a prefix, there is always a delimiter before the answer.
    let delimiters = [Delimiter::also_before_empty(&between), Delimiter::new(PREFIX_DELIMITER)];
    let mut example = joined(&parts, &delimiters);
    push_part(&mut example, &literal(&after));
    example
}

/// Returns true if each example has the text of its right option, which needs no search.
fn have_texts(examples: &Tree, target: &Target) -> bool {
    let Some(path) = target.field() else { return false };
    let has_text = |row: &Tree| match row.as_map().and_then(|row| row.get(path)) {
        Some(Tree::Scalar(Value::String(text))) => target.is_option_text(text),
        _ => false,
    };
    examples.as_list().is_some_and(|rows| rows.iter().all(has_text))
}

/// Notes the functions of Python that only the examples use.
fn note_functions(task: &Task, prompt: &mut Mapping, notes: &mut Notes) {
    let Some(config) = task.get("fewshot_config").and_then(Tree::as_map) else { return };
    for key in ["doc_to_text", "doc_to_target", "doc_to_choice", "process_docs", "sampler"] {
        let Some(function) = config.text(key).and_then(|text| text.strip_prefix(FUNCTION)) else { continue };
        let message = format!("`{key}` of the examples is `{function}` of Python");
        notes
            .needs_work(task.key(&format!("fewshot_config.{key}")), message, &mut prompt.comments)
            .help("change the template, or the file with the examples");
    }
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

/// Returns the examples of a task: rows, which the template shows. `None` if there are none. A split has precedence.
fn examples(task: &Task, prompt: &mut Mapping, notes: &mut Notes) -> Option<Tree> {
    if split_of_examples(task).is_some() {
        return None;
    }
    let count = task.count_of("num_fewshot").unwrap_or(0);
    let config = task.get("fewshot_config").and_then(Tree::as_map)?;
    let samples = config.get("samples")?;
    let key = task.key("fewshot_config.samples");
    let Some(rows) = samples.as_list() else {
        if count > 0 {
            let function = samples.plain_text();
            let function = function.strip_prefix(FUNCTION).unwrap_or(&function);
            let message = format!("the examples are made by `{function}` of Python; they are left out");
            notes
                .needs_work(key, message, &mut prompt.comments)
                .help("write them into `params` of the prompt, and show them in the template");
        }
        return None;
    };
    if count == 0 {
        let message = format!(
            "the task has {} examples, and shows none without `--num_fewshot`; they are left out",
            rows.len()
        );
        notes.dropped(key, message, &mut prompt.comments);
        return None;
    }
    if config.text("sampler") != Some(FIRST_EXAMPLES) {
        let message = format!(
            "lm-eval draws {count} of the {} examples at random for each row; here they are the first ones",
            rows.len()
        );
        let help = format!(
            "`few_shot` of the dataset draws examples of a file: `{{path: examples.jsonl, count: {count}, \
             pick: random, seed: {DEFAULT_SEED}}}`"
        );
        notes.needs_work(key, message, &mut prompt.comments).help(help);
    }
    let max_rows = usize::try_from(count).unwrap_or(usize::MAX);
    Some(Tree::List(rows.iter().take(max_rows).cloned().collect()))
}

/// Returns the split that the task names for its examples.
fn split_of_examples(task: &Task) -> Option<String> {
    let config = task.get("fewshot_config").and_then(Tree::as_map);
    let own = config.and_then(|config| config.text("split")).map(str::to_owned);
    own.or_else(|| task.text_of("fewshot_split"))
}

/// Returns the examples that come from a split of the dataset: `few_shot` of the dataset.
pub(super) fn examples_of_split(task: &Task) -> Option<Mapping> {
    let count = task.count_of("num_fewshot").filter(|count| *count > 0)?;
    let config = task.get("fewshot_config").and_then(Tree::as_map);
    let own = split_of_examples(task);
    if own.is_none() && config.is_some_and(|config| config.has("samples")) {
        return None;
    }
    let others = ["training_split", "validation_split", "test_split"];
    let split = own.or_else(|| others.iter().find_map(|key| task.text_of(key)))?;
    let mut shots = Mapping::default();
    shots.set("split", Tree::text(split));
    shots.set("count", Tree::Scalar(count.into()));
    if config.and_then(|config| config.text("sampler")) != Some(FIRST_EXAMPLES) {
        shots.set("pick", Tree::text("random"));
        shots.set("seed", Tree::Scalar(DEFAULT_SEED.into()));
    }
    Some(shots)
}

impl Task {
    /// Returns a value for the examples: that of `fewshot_config`, or else that of the task.
    fn of_examples(&self, key: &str) -> Option<&Tree> {
        let config = self.get("fewshot_config").and_then(Tree::as_map);
        config.and_then(|config| config.get(key)).or_else(|| self.get(key))
    }

    /// Returns the text of a scalar for the examples.
    fn example_text(&self, key: &str) -> Option<String> {
        self.of_examples(key).and_then(Tree::as_text).map(str::to_owned)
    }

    /// Returns a template of the examples, if it differs from that of the questions.
    fn example_template(&self, key: &str) -> Option<String> {
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
    task.text_of("target_delimiter").unwrap_or_else(|| DEFAULT_TARGET_DELIMITER.to_owned())
}
