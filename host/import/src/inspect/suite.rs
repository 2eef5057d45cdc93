//! Writes the two suites of a log: one gives the scores of the log, the other scores the answers of any model.

use super::figures::other_reducer;
use super::sample::SampleConversion;
use super::scorers::{counterpart, scorer_of};
use super::{ANSWERS, LogHead, ROWS, SUITE};
use crate::convert::Import;
use crate::ids::id_of;
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use crate::yaml;
use serde_json::Value;

/// The model of a suite that names none.
const MODEL: &str = "openai:my-model@http://localhost:8000/v1";

/// Writes the suites of a log.
pub(super) fn write(
    name: &str,
    head: &LogHead,
    mut converted: SampleConversion,
    notes: &mut Notes,
) -> Import {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let text = |key: &str| head.eval.get(key).and_then(Value::as_str).unwrap_or_default();
    let task = text("task").rsplit('/').next().unwrap_or_default().to_owned();
    let task = id_of(&task);
    let mut comments = Vec::new();
    add_notes(head, &converted, notes, &mut comments);
    converted.sums.add_notes(head, converted.has_epochs, notes, &mut comments);
    let mut recorded = beginning(&task, &converted);
    metadata(&mut recorded, name, head);
    recorded.set("answers", Tree::Variable(format!("${{config_dir}}/{ANSWERS}")));
    let metrics = converted.scores.iter().map(|score| {
        let mut params = Mapping::default();
        params.set("score_field", Tree::text(format!("metadata.inspect.scores.{score}")));
        let mut metric = Mapping::default();
        metric.set("metric_id", Tree::text(score.clone()));
        metric.set("implementation", Tree::text("judge_score"));
        metric.set("params", Tree::Map(params));
        Tree::Map(metric)
    });
    set_metrics(&mut recorded, metrics.collect());
    if recorded.has("metrics") {
        let comment = "These are the scores of the log, read from the rows. They belong to its answers only.";
        recorded.comments_of("metrics").push(comment.to_owned());
    }
    set_steps(&mut recorded, &converted, None);
    recorded.comments.extend(comments);
    recorded.escape_variables();
    let mut suite = rescoring(&task, head, &converted, notes);
    suite.escape_variables();
    let heads = |what: &str| {
        vec![format!("Converted from {name} of Inspect by `gage-host import inspect`."), what.to_owned()]
    };
    let suite = yaml::write(&heads("Scores the answers of any model with metrics of gage-host."), &suite);
    let rows = converted.rows();
    Import {
        suite: yaml::write(
            &heads(&format!(
                "A run of this suite has the answers and scores of the log; {SUITE} evaluates another model."
            )),
            &recorded,
        ),
        notes: std::mem::take(notes).into_distinct(),
        files: vec![
            (SUITE.to_owned(), suite),
            (ROWS.to_owned(), rows),
            (ANSWERS.to_owned(), converted.answers),
        ],
    }
}

/// Returns the suite that evaluates another model on the rows.
fn rescoring(task: &str, head: &LogHead, converted: &SampleConversion, notes: &mut Notes) -> Mapping {
    let mut suite = beginning(task, converted);
    suite.set("model", Tree::text(MODEL));
    let scorers = head.eval.get("scorers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (mut metrics, mut extractors, mut needs_written) = (Vec::new(), Vec::new(), Vec::new());
    for score in &converted.scores {
        let empty = Value::Null;
        let (name, options) = match scorer_of(scorers, score) {
            Some(scorer) => (scorer["name"].as_str().unwrap_or(score), &scorer["options"]),
            None => (score.as_str(), &empty),
        };
        let found = counterpart(score, name, options, converted.has_several_right);
        needs_written.push(found.extractor.is_none());
        let mut metric = found.metric;
        if let Some(difference) = found.difference {
            let key = format!("eval.scorers.{score}");
            match found.command {
                Some(command) => {
                    let help = format!("write it as a plugin: {command}")
                        .replace("write it as a plugin: docs/", "see docs/");
                    notes.needs_work(key, difference, &mut metric.comments).help(help);
                }
                None => {
                    notes.changed(key, difference, &mut metric.comments);
                }
            }
        }
        extractors.extend(found.extractor);
        metrics.push(metric);
    }
    extractors.dedup();
    if !extractors.is_empty() {
        // The step `extract` is for its metrics only; the others read the whole answer.
        let others = metrics.iter_mut().zip(needs_written).filter(|(_, needs_written)| *needs_written);
        others.for_each(|(metric, _)| read_written(metric));
    }
    set_metrics(&mut suite, metrics.into_iter().map(Tree::Map).collect());
    set_steps(&mut suite, converted, Some(extractors));
    if !converted.empty_targets.is_empty() {
        let message = format!(
            "{} of {} samples have an empty target, and so no reference: metrics that compare with it do not score \
             them (`includes` of Inspect gives 1)",
            converted.empty_targets.len(),
            converted.ids.count()
        );
        notes.changed("samples.target".to_owned(), message, &mut suite.comments);
    }
    suite
}

/// Writes the metrics, if there are any.
fn set_metrics(suite: &mut Mapping, metrics: Vec<Tree>) {
    if !metrics.is_empty() {
        suite.set("metrics", Tree::List(metrics));
    }
}

/// Makes a metric read the answer as the model wrote it.
fn read_written(metric: &mut Mapping) {
    if let Some(params) = metric.section("params") {
        params.set_missing("prediction_field", Tree::text("model_output.written"));
    }
}

fn beginning(task: &str, converted: &SampleConversion) -> Mapping {
    let mut suite = Mapping::default();
    let mut metadata = Mapping::default();
    metadata.set("name", Tree::text(task));
    suite.set("metadata", Tree::Map(metadata));
    let mut params = Mapping::default();
    params.set("path", Tree::Variable(format!("${{config_dir}}/{ROWS}")));
    let mut dataset = Mapping::default();
    dataset.set("dataset_id", Tree::text(task));
    dataset.set("loader", Tree::text("jsonl"));
    dataset.set("params", Tree::Map(params));
    suite.set("datasets", Tree::List(vec![Tree::Map(dataset)]));
    if converted.has_epochs {
        let comment =
            "Each epoch of a sample is a row of its own; `cluster_by` says that they belong together.";
        suite.comments_of("datasets").push(comment.to_owned());
    }
    suite
}

/// Marks the suite as a record of the log.
fn metadata(suite: &mut Mapping, name: &str, head: &LogHead) {
    let mut imported = Mapping::default();
    imported.set("from", Tree::text("inspect"));
    imported.set("log", Tree::text(name));
    for key in ["model", "created", "eval_id", "run_id"] {
        if let Some(value) = head.eval.get(key).and_then(Value::as_str) {
            imported.set(key, Tree::text(value));
        }
    }
    if let Some(metadata) = suite.section("metadata") {
        metadata.set("imported", Tree::Map(imported));
    }
}

fn set_steps(suite: &mut Mapping, converted: &SampleConversion, extractors: Option<Vec<Tree>>) {
    let step = |name: &str| {
        let mut step = Mapping::default();
        step.set("step", Tree::text(name));
        step
    };
    let mut custom = Mapping::default();
    if converted.has_epochs {
        custom.set("cluster_by", Tree::text("metadata.inspect.id"));
    }
    let outcomes = ["truncated", "empty_output", "refused"].map(Tree::text).to_vec();
    custom.set("score_outcomes", Tree::List(outcomes));
    let mut steps = vec![Tree::Map(step("inference"))];
    if let Some(extractors) = extractors.filter(|extractors| !extractors.is_empty()) {
        let mut extract = step("extract");
        extract.set("extractors", Tree::List(extractors));
        steps.push(Tree::Map(extract));
    }
    if suite.has("metrics") {
        steps.push(Tree::Map(step("auto_eval")));
    }
    custom.set("steps", Tree::List(steps));
    suite.set("custom", Tree::Map(custom));
}

fn add_notes(head: &LogHead, converted: &SampleConversion, notes: &mut Notes, comments: &mut Vec<String>) {
    if converted.errors > 0 {
        let message = format!(
            "{} of {} samples ended with an error in Inspect; they have no answer and no score",
            converted.errors,
            converted.len()
        );
        notes.dropped("samples".to_owned(), message, comments);
    }
    if head.status != "success" {
        let message = format!("the log has the status `{}`", gage_core::printable(&head.status));
        notes.changed("status".to_owned(), message, comments);
    }
    if converted.has_turns {
        let message = "the model was asked several times about a sample; a row has the messages before its first \
                       answer, and the answer is the last one";
        notes.dropped("samples.messages".to_owned(), message.to_owned(), comments);
    }
    if converted.ids.has_numbered {
        let message =
            "ids of samples that are equal as texts, such as 1 and \"1\", have a number after them: `1-2`";
        notes.changed("samples.id".to_owned(), message.to_owned(), comments);
    }
    for score in &converted.not_numbers {
        let message = format!("`{score}` has values that are not numbers; they are left out");
        notes.dropped(format!("samples.scores.{score}"), message, comments);
    }
    if let Some(values) = head.results.as_ref().and_then(|results| results["scores"].as_array()) {
        for score in values {
            let (name, metrics) = (score["name"].as_str().unwrap_or_default(), &score["metrics"]);
            let shown: Vec<String> = metrics
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(name, metric)| Some(format!("{name} {:.4}", metric["value"].as_f64()?)))
                .collect();
            let reducer = other_reducer(score).map(|reducer| format!(" by `{reducer}`")).unwrap_or_default();
            if !shown.is_empty() {
                comments.push(format!("Figures of the log: {name}{reducer}: {}.", shown.join(", ")));
            }
        }
    }
}
