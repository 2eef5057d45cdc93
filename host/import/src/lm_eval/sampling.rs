//! Sampling parameters of a task.

use super::prompt::DEFAULT_FEWSHOT_DELIMITER;
use super::task::Task;
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Largest number of tokens of an answer, if the task does not set it.
const DEFAULT_MAX_GEN_TOKS: u64 = 256;

/// Returns the sampling parameters of a task whose model writes an answer.
pub(super) fn convert(task: &Task, notes: &mut Notes) -> Mapping {
    let empty = Mapping::default();
    let given = task.get("generation_kwargs").and_then(Tree::as_map).unwrap_or(&empty);
    let mut params = Mapping::default();
    params.set("max_new_tokens", Tree::Scalar(DEFAULT_MAX_GEN_TOKS.into()));
    let mut stop = match task.text_of("fewshot_delimiter") {
        Some(delimiter) => vec![delimiter],
        None => vec![DEFAULT_FEWSHOT_DELIMITER.to_owned()],
    };
    for entry in &given.entries {
        let value = &entry.value;
        match entry.key.as_str() {
            "until" => stop = texts(value),
            "max_gen_toks" | "max_new_tokens" | "max_tokens" => params.set("max_new_tokens", value.clone()),
            "temperature" | "top_p" | "top_k" | "min_p" | "seed" | "repetition_penalty" => {
                params.set(&entry.key, value.clone());
            }
            "do_sample" => {}
            other => {
                let key = task.key(&format!("generation_kwargs.{other}"));
                let message = format!("`{other}: {}` has no counterpart", value.shown());
                notes.dropped(key, message, &mut params.comments);
            }
        }
    }
    match given.get("do_sample") {
        // Without sampling, lm-eval ignores the temperature.
        Some(Tree::Scalar(Value::Bool(true))) => params.set_missing("temperature", Tree::Scalar(1.into())),
        _ if !params.has("temperature") => params.set("temperature", Tree::Scalar(0.into())),
        Some(_) => params.set("temperature", Tree::Scalar(0.into())),
        None => {}
    }
    stop.retain(|text| !text.is_empty());
    if !stop.is_empty() {
        params.set("stop", Tree::List(stop.into_iter().map(Tree::text).collect()));
    }
    params
}

fn texts(value: &Tree) -> Vec<String> {
    match value {
        Tree::List(items) => items.iter().map(Tree::plain_text).collect(),
        scalar if scalar.is_null() => Vec::new(),
        scalar => vec![scalar.plain_text()],
    }
}
