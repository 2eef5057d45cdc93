//! A task of lm-evaluation-harness, with its keys.

use super::files::FUNCTION;
use crate::ids::id_of;
use crate::template_names::{fields, is_name};
use crate::tree::{Mapping, Tree};
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys whose texts lm-eval renders with Jinja.
pub(super) const TEMPLATES: [&str; 5] =
    ["description", "doc_to_text", "doc_to_target", "doc_to_choice", "gen_prefix"];

/// A task with all its includes.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Id of the task and of its dataset in the new suite.
    pub(super) id: String,
    map: Mapping,
    /// Beginning of keys in notes: the name of the task if there are several.
    prefix: String,
}

/// Kind of the requests of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputType {
    MultipleChoice,
    GenerateUntil,
    Loglikelihood,
    Rolling,
}

impl Task {
    pub(super) fn new(mut map: Mapping, has_others: bool) -> Task {
        unify_line_breaks(&mut map);
        if let Some(Tree::Map(examples)) = map.get_mut("fewshot_config") {
            unify_line_breaks(examples);
        }
        let name = map.text("task").unwrap_or("task").to_owned();
        let prefix = if has_others { format!("{name}.") } else { String::new() };
        Task { id: id_of(&name), map, prefix }
    }

    /// Returns the path of a key in notes.
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        self.map.get(key)
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.map.keys()
    }

    /// Returns the text of a scalar.
    pub(super) fn text_of(&self, key: &str) -> Option<String> {
        self.get(key)
            .filter(|value| matches!(value, Tree::Scalar(_) | Tree::Variable(_)))
            .map(Tree::plain_text)
    }

    /// Returns a value for a message, shortened.
    pub(super) fn shown(&self, key: &str) -> String {
        self.get(key).map(Tree::shown).unwrap_or_default()
    }

    /// Returns the name of the function of Python at a key.
    pub(super) fn function(&self, key: &str) -> Option<String> {
        self.text_of(key)?.strip_prefix(FUNCTION).map(str::to_owned)
    }

    /// Returns true if a key or a metric is a function of Python.
    pub(super) fn has_functions(&self) -> bool {
        let metrics = self.entries_of("metric_list");
        let mut names = metrics.iter().filter_map(|metric| metric.text("metric"));
        names.any(|name| name.starts_with(FUNCTION))
            || self.keys().iter().any(|key| self.function(key).is_some())
    }

    /// Returns the fields of the row that the templates read, those of examples, too.
    pub(super) fn fields_read(&self) -> BTreeSet<String> {
        let examples = self.get("fewshot_config").and_then(Tree::as_map);
        let maps = std::iter::once(&self.map).chain(examples);
        let texts = maps.flat_map(|map| TEMPLATES.into_iter().filter_map(move |key| map.text(key)));
        let names = texts.flat_map(|text| if is_name(text) { vec![text.to_owned()] } else { fields(text) });
        names.collect()
    }

    /// Returns a whole number.
    pub(super) fn count_of(&self, key: &str) -> Option<u64> {
        self.text_of(key)?.parse().ok()
    }

    pub(super) fn dataset(&self) -> String {
        self.text_of("dataset_path").unwrap_or_default()
    }

    pub(super) fn output_type(&self) -> OutputType {
        match self.text_of("output_type").as_deref() {
            Some("multiple_choice") => OutputType::MultipleChoice,
            Some("loglikelihood") => OutputType::Loglikelihood,
            Some("loglikelihood_rolling") => OutputType::Rolling,
            _ => OutputType::GenerateUntil,
        }
    }

    /// Returns the entries of a list of mappings.
    pub(super) fn entries_of(&self, key: &str) -> Vec<&Mapping> {
        let items = self.get(key).and_then(Tree::as_list).unwrap_or_default();
        items.iter().filter_map(Tree::as_map).collect()
    }
}

/// Writes each line break of the templates as `\n`, as Jinja reads them. Delimiters are not templates.
fn unify_line_breaks(task: &mut Mapping) {
    for key in TEMPLATES {
        if let Some(Tree::Scalar(Value::String(text))) = task.get_mut(key)
            && text.contains('\r')
        {
            *text = text.replace("\r\n", "\n").replace('\r', "\n");
        }
    }
}
