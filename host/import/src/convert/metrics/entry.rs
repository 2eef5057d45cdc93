//! One metric, in each of its forms.

use crate::convert::old_keys::{path_of, settle};
use crate::note::Notes;
use crate::python_name::{is_path, last_name, plugin_command, plugin_file};
use crate::tables::keys::{OldKey, OldKeys};
use crate::tables::metrics::{
    AGGREGATIONS, MetricMatch, MetricReplacement, READ_ANSWERS, SHARED_PARAMS, find, may_read_parsed,
};
use crate::tables::preprocessors::impossible;
use crate::tree::{Mapping, Tree};
use gage_config::{Span, is_aggregation, parse_call};
use serde_json::Value;

const METRIC_KEYS: &[&str] = &["metric_id", "implementation", "params", "aggregation"];

const OLD_METRIC_KEYS: &OldKeys = &[
    ("id", OldKey::Renamed("metric_id")),
    ("metric", OldKey::Renamed("implementation")),
    ("type", OldKey::Renamed("implementation")),
    ("class_path", OldKey::Renamed("implementation")),
    ("args", OldKey::Renamed("params")),
    ("kwargs", OldKey::Renamed("params")),
    ("default_aggregation", OldKey::Renamed("aggregation")),
    ("aggregator", OldKey::Renamed("aggregation")),
    ("description", OldKey::Dropped("it is a remark")),
    ("tags", OldKey::Dropped("it is a remark")),
    ("reporting", OldKey::Dropped("it has no effect")),
];

/// A metric.
pub(super) struct MetricEntry {
    /// Name in results.
    id: String,
    /// Name of the implementation.
    name: String,
    params: Mapping,
    aggregation: Option<Tree>,
    /// True if it is written in full.
    is_full: bool,
    comments: Vec<String>,
}

impl MetricEntry {
    /// Reads an entry; `None` if it has none of the forms.
    pub(super) fn of(
        item: &Tree,
        path: &str,
        notes: &mut Notes,
        comments: &mut Vec<String>,
    ) -> Option<MetricEntry> {
        let short = |name: String, params: Mapping| MetricEntry {
            id: name.clone(),
            name,
            params,
            aggregation: None,
            is_full: false,
            comments: Vec::new(),
        };
        let Tree::Map(mapping) = item else {
            let text = item.as_text()?;
            let (name, params) = parse_call(text, Span { source: 0, start: 0, end: 0 }).ok()?;
            let Tree::Map(params) = Tree::of(&params) else { return None };
            return Some(short(name, params));
        };
        let is_full =
            ["metric_id", "implementation", "id", "metric", "class_path"].iter().any(|key| mapping.has(key));
        if !is_full {
            let [entry] = mapping.entries.as_slice() else { return None };
            let params = entry.value.as_map().cloned().unwrap_or_default();
            return Some(short(entry.key.clone(), params));
        }
        let mut mapping = mapping.clone();
        settle(&mut mapping, path, &[METRIC_KEYS], OLD_METRIC_KEYS, notes);
        comments.append(&mut mapping.comments);
        let id = mapping.text("metric_id").map(str::to_owned);
        let name = mapping.text("implementation").map(str::to_owned).or_else(|| id.clone())?;
        let params = match mapping.remove("params") {
            Some(Tree::Map(params)) => params,
            _ => Mapping::default(),
        };
        let aggregation = mapping.remove("aggregation").filter(|aggregation| !aggregation.is_empty());
        let id = id.unwrap_or_else(|| name.clone());
        Some(MetricEntry { id, name, params, aggregation, is_full: true, comments: Vec::new() })
    }

    /// Converts name, parameters and aggregation. Returns the extractors that it needs as JSON, which may be empty;
    /// `None` if the metric is not possible.
    pub(super) fn convert(
        &mut self,
        is_judged: bool,
        path: &str,
        notes: &mut Notes,
        comments: &mut Vec<String>,
    ) -> Option<&'static str> {
        self.params.remove_nulls();
        if is_path(&self.id) {
            self.id = last_name(&self.id);
        }
        let lifted = self.params.remove("aggregation").filter(|aggregation| !aggregation.is_empty());
        if let Some(lifted) = lifted {
            let message = "`aggregation` is a key of the metric, not a parameter".to_owned();
            notes.changed(path_of(path, "aggregation"), message, &mut self.comments);
            self.aggregation.get_or_insert(lifted);
        }
        self.convert_aggregation(path, notes);
        self.convert_fields(path, notes);
        match find(&self.name) {
            MetricMatch::Same => Some(""),
            MetricMatch::Other(replacement) => Some(self.replace(replacement, is_judged, path, notes)),
            MetricMatch::Unknown => {
                if let Some(reason) = impossible(&self.name) {
                    let message = format!("the metric `{}` is left out: {reason}", self.name);
                    notes.needs_work(path.to_owned(), message, comments);
                    return None;
                }
                let file = plugin_file(&self.name);
                let message = format!("there is no metric `{}`; a plugin takes its place", self.name);
                notes
                    .needs_work(path.to_owned(), message, &mut self.comments)
                    .help(format!("make {file} by: {}", plugin_command(&self.name, "metric")));
                self.name = file;
                Some("")
            }
        }
    }

    fn replace(
        &mut self,
        replacement: MetricReplacement,
        is_judged: bool,
        path: &str,
        notes: &mut Notes,
    ) -> &'static str {
        let by_judge = replacement.by_judge && is_judged;
        let new = if by_judge { "judge_threshold" } else { replacement.name };
        let message = format!("the metric `{}` is `{new}` here", self.name);
        let note = notes.changed(path.to_owned(), message, &mut self.comments);
        if by_judge {
            note.help("the judge decides; check that its prompt asks for the form that `judge` reads");
        } else if !replacement.extractors.is_empty() {
            note.help("check on some answers that the step `extract` finds them: `gage-host metrics NAME` explains it");
        }
        new.clone_into(&mut self.name);
        if !replacement.keeps_params {
            for key in self.params.keys() {
                let reads_judge = key == "prediction_field"
                    && self.params.text(&key).is_some_and(|path| path.starts_with("judge_output"));
                if SHARED_PARAMS.contains(&key.as_str()) || reads_judge && !by_judge {
                    continue;
                }
                self.params.remove(&key);
                let message = format!("`{key}` is left out: `{new}` finds it by itself");
                notes.dropped(path_of(&path_of(path, "params"), &key), message, &mut self.comments);
            }
        }
        if by_judge { "" } else { replacement.extractors }
    }

    /// Returns true if the metric finds the answer, a letter, in a whole text by itself.
    pub(super) fn reads_whole_text(&self) -> bool {
        self.name == "multi_choice_accuracy"
    }

    /// Lets the metric read the answer as it was written, since the step `extract` of its task is for another metric.
    /// `needs_others` is true if it needs extractors of its own.
    pub(super) fn read_written(&mut self, needs_others: bool, path: &str, notes: &mut Notes) {
        let Some((_, field)) = READ_ANSWERS.iter().find(|(name, _)| *name == self.name) else {
            if may_read_parsed(&self.name) {
                let message =
                    "the metric may read what the step `extract` finds, which is for another one".to_owned();
                notes
                    .needs_work(path.to_owned(), message, &mut self.comments)
                    .help("`model_output.written` is the answer as it was written");
            }
            return;
        };
        if self.params.text(field).is_some_and(|path| path != "model_output.answer") {
            return;
        }
        self.params.set(field, Tree::text("model_output.written"));
        let place = path_of(&path_of(path, "params"), field);
        if needs_others && !self.reads_whole_text() {
            let message =
                "the step `extract` of the task is for another metric, and this one needs other extractors"
                    .to_owned();
            notes.needs_work(place, message, &mut self.comments).help(
                "move the metric to a task of its own, with its extractors: `gage-host list extractors`",
            );
            return;
        }
        let message =
            "the metric reads the answer as it was written: the step `extract` is for another one".to_owned();
        notes.changed(place, message, &mut self.comments);
    }

    fn convert_aggregation(&mut self, path: &str, notes: &mut Notes) {
        let Some(name) = self.aggregation.as_ref().and_then(Tree::as_text).map(str::to_owned) else { return };
        let place = path_of(path, "aggregation");
        if is_aggregation(&name) || name.ends_with(".wasm") || name.contains(['/', '#', '(']) {
            return;
        }
        if let Some((_, new)) = AGGREGATIONS.iter().find(|(old, _)| *old == name) {
            self.aggregation = Some(Tree::text(*new));
            notes.changed(place, format!("the aggregation `{name}` is `{new}` here"), &mut self.comments);
            return;
        }
        self.aggregation = None;
        let message = format!("there is no aggregation `{name}`; the figure is that of the metric itself");
        notes
            .needs_work(place, message, &mut self.comments)
            .help(format!("make one by: {}", plugin_command(&name, "aggregator")));
    }

    /// Converts the paths of parameters: the first of several, and fields that are written in another place.
    fn convert_fields(&mut self, path: &str, notes: &mut Notes) {
        let place = path_of(path, "params");
        for entry in &mut self.params.entries {
            let Some(old) =
                entry.value.as_text().filter(|_| entry.key.ends_with("_field")).map(str::to_owned)
            else {
                continue;
            };
            let first = old.split('|').next().unwrap_or(&old).trim();
            let new = plain_path(first);
            if new == old {
                continue;
            }
            let message = format!("`{}` is `{new}`, which was `{old}`", entry.key);
            notes.changed(path_of(&place, &entry.key), message, &mut self.comments);
            entry.value = Tree::Scalar(Value::from(new));
        }
    }

    /// Writes the metric in the shortest form that holds everything.
    pub(super) fn into_tree(self) -> Tree {
        let MetricEntry { id, name, params, aggregation, is_full, comments } = self;
        let is_short = !is_full && id == name && aggregation.is_none();
        if is_short && params.entries.is_empty() && comments.is_empty() {
            return Tree::text(name);
        }
        let mut mapping = Mapping { comments, ..Mapping::default() };
        if is_short {
            mapping.set(&name, Tree::Map(params));
            return Tree::Map(mapping);
        }
        let is_same = id == name;
        mapping.set("metric_id", Tree::text(id));
        if !is_same {
            mapping.set("implementation", Tree::text(name));
        }
        if let Some(aggregation) = aggregation {
            mapping.set("aggregation", aggregation);
        }
        if !params.entries.is_empty() {
            mapping.set("params", Tree::Map(params));
        }
        Tree::Map(mapping)
    }
}

/// Returns a path without brackets, and the answer in place of the old result of a prediction.
fn plain_path(path: &str) -> String {
    let path = path.replace("][", ".").replace('[', ".").replace([']', '\'', '"'], "");
    let below = path.strip_prefix("sample.").unwrap_or(&path);
    match below.starts_with("predict_result") {
        true => "model_output.answer".to_owned(),
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use super::plain_path;

    #[test]
    fn old_paths_become_plain() {
        for (old, new) in [
            ("choices[0].message['content'][0].text", "choices.0.message.content.0.text"),
            ("sample.predict_result.0.message.content.0.text", "model_output.answer"),
            ("model_output.answer", "model_output.answer"),
        ] {
            assert_eq!(plain_path(old), new);
        }
    }
}
