//! Metrics of a task.

use super::files::FUNCTION;
use super::filters::Pipeline;
use super::task::{OutputType, Task};
use crate::ids::metric_id_of;
use crate::metric_entry::metric_entry;
use crate::note::Notes;
use crate::python_name::{plugin_command, plugin_file};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Columns that are lists of right answers, each with its dataset. Their names do not say so.
const LIST_COLUMNS: [(&str, &str); 2] =
    [("google-research-datasets/nq_open", "answer"), ("nq_open", "answer")];

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

fn convert_one(
    task: &Task,
    name: &str,
    entry: &Mapping,
    pipeline: &Pipeline,
    key: &str,
    notes: &mut Notes,
) -> Mapping {
    let is_choice = task.output_type() == OutputType::MultipleChoice;
    let is_single = task.output_type() == OutputType::Loglikelihood;
    match name {
        "acc" if is_choice => metric_entry("acc", "multi_choice_accuracy", &[]),
        "acc_norm" if is_choice => {
            let field = Value::from("model_output.answer_normalized");
            metric_entry("acc_norm", "multi_choice_accuracy", &[("prediction_field", field)])
        }
        "acc_bytes" | "acc_mutual_info" | "brier_score" | "likelihood" if is_choice => {
            let mut found = metric_entry(name, "loglikelihood_accuracy", &[]);
            let value = match name {
                "brier_score" => "brier",
                "likelihood" => "probability",
                same => same,
            };
            let message = format!("`{name}` is the value `{value}` of this metric; the figure is `acc`");
            notes.changed(key.to_owned(), message, &mut found.comments);
            found
        }
        "acc" if is_single => metric_entry("acc", "greedy_match", &[]),
        "perplexity" if is_single => {
            let mut found = metric_entry("perplexity", "greedy_match", &[]);
            found.set("aggregation", Tree::text("corpus_perplexity"));
            found
        }
        "exact_match" => exact_match(task, entry, pipeline, key, notes),
        "word_perplexity" | "byte_perplexity" | "bits_per_byte" => metric_entry(name, name, &[]),
        "bleu" | "chrf" => {
            let mut found = metric_entry(name, name, &[]);
            let message = format!(
                "lm-eval computes `{name}` over all answers at once; here it is the mean of the \
                                   samples"
            );
            notes.changed(key.to_owned(), message, &mut found.comments);
            found
        }
        "rouge1" | "rouge2" | "rougeL" | "rougeLsum" => {
            metric_entry(name, "reference_rouge", &[("tokenizer", Value::from("rouge_score"))])
        }
        "anls" => metric_entry("anls", "docvqa_anls", &[]),
        "math_verify" => metric_entry("math_verify", "math_equal", &[]),
        "f1" if !is_choice => {
            let mut found = metric_entry("f1", "token_f1", &[]);
            let message = "`f1` becomes the word overlap with the reference";
            notes.changed(key.to_owned(), message.to_owned(), &mut found.comments);
            found
        }
        other => {
            let function = other.strip_prefix(FUNCTION).unwrap_or(other);
            let id = function.rsplit('.').next().unwrap_or(function);
            let mut found = metric_entry(id, &plugin_file(id), &[]);
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

/// Returns true if the metrics of a task can find answers by a pattern themselves.
pub(super) fn find_patterns(task: &Task) -> bool {
    task.entries_of("metric_list").iter().all(|entry| entry.text("metric") == Some("exact_match"))
}

/// Returns true if every metric ignores the case of answers and targets.
pub(super) fn ignore_case(task: &Task) -> bool {
    let entries = task.entries_of("metric_list");
    let is_set = |entry: &&Mapping| matches!(entry.get("ignore_case"), Some(Tree::Scalar(Value::Bool(true))));
    !entries.is_empty() && entries.iter().all(is_set)
}

/// Converts `exact_match` with its flags. If a pattern or a flag says so, `extracted_match` takes its place.
fn exact_match(task: &Task, entry: &Mapping, pipeline: &Pipeline, key: &str, notes: &mut Notes) -> Mapping {
    let is_set = |name: &str| matches!(entry.get(name), Some(Tree::Scalar(Value::Bool(true))));
    let mut ignored = entry.get("regexes_to_ignore").and_then(Tree::as_list).unwrap_or_default().to_vec();
    if is_set("ignore_numbers") {
        ignored.push(Tree::text("[0-9]"));
    }
    let ignores_case = is_set("ignore_case") || pipeline.ignores_case;
    let ignores_punctuation = is_set("ignore_punctuation") || pipeline.ignores_punctuation;
    let id = pipeline.name.as_deref().map_or_else(|| "exact_match".to_owned(), metric_id_of);
    let mut params: Vec<(&str, Value)> = Vec::new();
    if pipeline.pattern.is_none() && ignored.is_empty() && !ignores_punctuation {
        if !ignores_case {
            params.push(("case_sensitive", true.into()));
        }
        if !pipeline.strips {
            params.push(("strip_whitespace", false.into()));
        }
        if task.has_several_targets() {
            params.push(("any_reference", true.into()));
            params.push(("label_field", "sample.references".into()));
        }
        return metric_entry(&id, "exact_match", &params);
    }
    if let Some((pattern, which)) = &pipeline.pattern {
        params.push(("pattern", pattern.clone().into()));
        params.push(("which", (*which).into()));
    }
    for (name, is_on) in [("ignore_case", ignores_case), ("ignore_punctuation", ignores_punctuation)] {
        if is_on {
            params.push((name, true.into()));
        }
    }
    let mut found = metric_entry(&id, "extracted_match", &params);
    if !ignored.is_empty()
        && let Some(params) = found.section("params")
    {
        params.set("ignore_patterns", Tree::List(ignored));
    }
    if !pipeline.strips {
        let message = "`extracted_match` ignores white space around the answer, which lm-eval compares";
        notes.changed(key.to_owned(), message.to_owned(), &mut found.comments);
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
    /// Returns true if the references of a row are a list, or probably are one: its field is a plural, or a
    /// known column.
    pub(super) fn has_several_targets(&self) -> bool {
        if self.get("doc_to_target").is_some_and(|target| target.as_list().is_some()) {
            return true;
        }
        let target = self.text_of("doc_to_target").unwrap_or_default();
        let path = target.trim_matches(['{', '}', ' ']);
        let last = path.rsplit('.').next().unwrap_or(path);
        let is_known = LIST_COLUMNS.contains(&(self.dataset().as_str(), path));
        is_known
            || ["aliases", "answers", "targets", "references", "texts", "possible_answers"].contains(&last)
    }
}
