//! Metrics of a task.

use super::files::FUNCTION;
use super::filters::Pipeline;
use super::task::{OutputType, Task};
use crate::note::Notes;
use crate::python_name::{plugin_command, plugin_file};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Metrics of a task that names none.
fn defaults(output_type: OutputType) -> &'static [&'static str] {
    match output_type {
        OutputType::MultipleChoice => &["acc", "acc_norm"],
        OutputType::GenerateUntil => &["exact_match"],
        OutputType::Loglikelihood => &["perplexity", "acc"],
        OutputType::Rolling => &["word_perplexity", "byte_perplexity", "bits_per_byte"],
    }
}

/// Returns the metrics of a task for one way to read its answers.
pub(super) fn convert(task: &Task, pipeline: &Pipeline, notes: &mut Notes) -> Vec<Tree> {
    let given = task.entries_of("metric_list");
    let made: Vec<Mapping>;
    let entries: Vec<&Mapping> = if given.is_empty() {
        made = defaults(task.output_type()).iter().map(|name| named(name)).collect();
        made.iter().collect()
    } else {
        given
    };
    let mut metrics = Vec::new();
    for (place, entry) in entries.into_iter().enumerate() {
        let name = entry.get("metric").map(Tree::plain_text).unwrap_or_default();
        let key = task.key(&format!("metric_list[{place}]"));
        let mut metric = convert_one(task, &name, entry, pipeline, &key, notes);
        check_aggregation(entry, &name, &key, &mut metric, notes);
        // A comment needs a mapping to stand above.
        match (metric.comments.is_empty(), metric.entries.as_slice()) {
            (true, [only]) if only.key == "metric_id" => metrics.push(only.value.clone()),
            _ => metrics.push(Tree::Map(metric)),
        }
    }
    metrics
}

fn named(name: &str) -> Mapping {
    let mut entry = Mapping::default();
    entry.set("metric", Tree::text(name));
    entry
}

fn metric(id: &str, implementation: &str, params: &[(&str, Value)]) -> Mapping {
    let mut metric = Mapping::default();
    metric.set("metric_id", Tree::text(id));
    if id != implementation {
        metric.set("implementation", Tree::text(implementation));
    }
    if !params.is_empty() {
        let mut mapping = Mapping::default();
        for (key, value) in params {
            mapping.set(key, Tree::Scalar(value.clone()));
        }
        metric.set("params", Tree::Map(mapping));
    }
    metric
}

fn convert_one(
    task: &Task,
    name: &str,
    entry: &Mapping,
    pipeline: &Pipeline,
    key: &str,
    notes: &mut Notes,
) -> Mapping {
    let is_choice = task.output_type() == OutputType::MultipleChoice;
    match name {
        "acc" if is_choice => metric("acc", "multi_choice_accuracy", &[]),
        "acc_norm" if is_choice => {
            let field = Value::from("model_output.answer_normalized");
            metric("acc_norm", "multi_choice_accuracy", &[("prediction_field", field)])
        }
        "acc_bytes" | "acc_mutual_info" | "brier_score" | "likelihood" if is_choice => {
            let mut found = metric(name, "loglikelihood_accuracy", &[]);
            let value = match name {
                "brier_score" => "brier",
                "likelihood" => "probability",
                same => same,
            };
            let message = format!("`{name}` is the value `{value}` of this metric; the figure is `acc`");
            notes.changed(key.to_owned(), message, &mut found.comments);
            found
        }
        "exact_match" => exact_match(task, entry, pipeline, key, notes),
        "word_perplexity" | "byte_perplexity" | "bits_per_byte" => metric(name, name, &[]),
        "bleu" | "chrf" => {
            let mut found = metric(name, name, &[]);
            let message = format!(
                "lm-eval computes `{name}` over all answers at once; here it is the mean of the \
                                   samples"
            );
            notes.changed(key.to_owned(), message, &mut found.comments);
            found
        }
        "rouge1" | "rouge2" | "rougeL" | "rougeLsum" => {
            metric(name, "reference_rouge", &[("tokenizer", Value::from("rouge_score"))])
        }
        "anls" => metric("anls", "docvqa_anls", &[]),
        "f1" if !is_choice => {
            let mut found = metric("f1", "token_f1", &[]);
            let message = "`f1` becomes the word overlap with the reference";
            notes.changed(key.to_owned(), message.to_owned(), &mut found.comments);
            found
        }
        other => {
            let function = other.strip_prefix(FUNCTION).unwrap_or(other);
            let id = function.rsplit('.').next().unwrap_or(function);
            let mut found = metric(id, &plugin_file(id), &[]);
            let message = match other.starts_with(FUNCTION) {
                true => format!("the metric `{function}` is Python"),
                false => format!("there is no metric `{other}` for these requests"),
            };
            let help = format!("write it as a plugin: {}", plugin_command(id, "metric"));
            notes.needs_work(key.to_owned(), message, &mut found.comments).help(help);
            found
        }
    }
}

/// Converts `exact_match` with its flags.
fn exact_match(task: &Task, entry: &Mapping, pipeline: &Pipeline, key: &str, notes: &mut Notes) -> Mapping {
    let is_set = |name: &str| matches!(entry.get(name), Some(Tree::Scalar(Value::Bool(true))));
    if task.removes_solution() {
        let mut found = metric("numeric_match", "numeric_match", &[]);
        let message = "`exact_match` after removing `,`, `$` and the solution becomes `numeric_match`, which compares \
                       the numbers";
        notes.changed(key.to_owned(), message.to_owned(), &mut found.comments);
        return found;
    }
    let mut params: Vec<(&str, Value)> = Vec::new();
    if !is_set("ignore_case") && !pipeline.ignores_case {
        params.push(("case_sensitive", true.into()));
    }
    if !pipeline.strips {
        params.push(("strip_whitespace", false.into()));
    }
    if task.has_several_targets() {
        params.push(("any_reference", true.into()));
    }
    let mut found = metric("exact_match", "exact_match", &params);
    if is_set("ignore_punctuation") || is_set("ignore_numbers") {
        let which = if is_set("ignore_numbers") { "ignore_numbers" } else { "ignore_punctuation" };
        let message = format!(
            "`{which}` has no counterpart in `exact_match`; the value `exact_match` of the metric `squad` ignores \
             punctuation, case and articles"
        );
        notes.changed(key.to_owned(), message, &mut found.comments);
    }
    let patterns = entry.get("regexes_to_ignore").and_then(Tree::as_list).unwrap_or_default();
    if !patterns.is_empty() {
        let shown: Vec<String> =
            patterns.iter().map(|pattern| format!("`{}`", pattern.plain_text())).collect();
        let message = format!(
            "lm-eval removes {} from answer and reference first; here the texts are compared as they are",
            shown.join(", ")
        );
        notes.changed(key.to_owned(), message, &mut found.comments);
    }
    found
}

fn check_aggregation(entry: &Mapping, name: &str, key: &str, metric: &mut Mapping, notes: &mut Notes) {
    let aggregation = entry.text("aggregation").unwrap_or_default();
    let usual = ["", "mean", "nanmean", "weighted_perplexity", "bits_per_byte", name];
    if aggregation == "median" {
        metric.set("aggregation", Tree::text("median"));
    } else if !usual.contains(&aggregation) {
        let shown = aggregation.strip_prefix(FUNCTION).unwrap_or(aggregation).to_owned();
        let message =
            format!("the aggregation `{shown}` has no counterpart; the figure is that of the metric");
        let help = format!("write it as a plugin: {}", plugin_command(&shown, "aggregator"));
        notes.needs_work(format!("{key}.aggregation"), message, &mut metric.comments).help(help);
    }
}

impl Task {
    /// Returns true if the references of a row are probably a list: its field is a plural.
    fn has_several_targets(&self) -> bool {
        let target = self.text_of("doc_to_target").unwrap_or_default();
        let path = target.trim_matches(['{', '}', ' ']);
        let last = path.rsplit('.').next().unwrap_or(path);
        ["aliases", "answers", "targets", "references", "texts", "possible_answers"].contains(&last)
    }
}
