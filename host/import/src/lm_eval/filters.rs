//! Filters of answers, which become extractors.

use super::pattern::{groups, is_choice_of_groups, with_white_space};
use super::task::Task;
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// One way to read the answers of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pipeline {
    /// Its name, if the task has several.
    pub(super) name: Option<String>,
    /// The extractors of the step `extract`.
    pub(super) extractors: Vec<Tree>,
    /// The pattern by which the metric finds the answer, with the match that counts: `first` or `last`.
    pub(super) pattern: Option<(String, &'static str)>,
    /// True if white space around the answer does not count.
    pub(super) strips: bool,
    /// True if case does not count.
    pub(super) ignores_case: bool,
    /// True if punctuation does not count, because the answer is a letter without its brackets.
    pub(super) ignores_punctuation: bool,
    /// True if a person has to write an extractor.
    pub(super) lacks_extractor: bool,
    /// Comments about filters without a counterpart.
    pub(super) comments: Vec<String>,
    /// The patterns of the extractors, and `None` for an extractor without one.
    patterns: Vec<Option<(String, &'static str)>>,
}

/// Properties of the metrics of a task that decide how filters are converted.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricTraits {
    /// True if they can find an answer by a pattern themselves.
    pub(super) find_patterns: bool,
    /// True if all of them ignore the case of letters.
    pub(super) ignore_case: bool,
}

/// Returns the ways to read the answers of a task, at least one.
pub(super) fn convert(task: &Task, metrics: MetricTraits, notes: &mut Notes) -> Vec<Pipeline> {
    let filters = task.entries_of("filter_list");
    let has_several = filters.len() > 1;
    let mut pipelines: Vec<Pipeline> = Vec::new();
    for (place, filter) in filters.into_iter().enumerate() {
        let name = filter.text("name").map_or_else(|| format!("filter-{place}"), str::to_owned);
        let key = task.key(&format!("filter_list[{place}]"));
        let mut pipeline = Pipeline { name: has_several.then_some(name), ..Pipeline::default() };
        for step in filter.get("filter").and_then(Tree::as_list).unwrap_or_default() {
            let Some(step) = step.as_map() else { continue };
            pipeline.add(step, &key, notes);
        }
        if pipeline.ignores_case && !metrics.ignore_case {
            pipeline.note_case(&key, notes);
        }
        if metrics.find_patterns {
            pipeline.give_pattern_to_metric();
        }
        pipeline.note_extractors(&key, notes);
        pipelines.push(pipeline);
    }
    if pipelines.is_empty() {
        pipelines.push(Pipeline::default());
    }
    pipelines
}

impl Pipeline {
    /// Returns true if one task can read the answers in this way and in others.
    pub(super) fn shares_task(&self) -> bool {
        self.extractors.is_empty() && !self.lacks_extractor
    }

    /// Leaves the last pattern to the metric, so that the step `extract` does not find the answer before it.
    fn give_pattern_to_metric(&mut self) {
        if self.lacks_extractor || !matches!(self.patterns.last(), Some(Some(_))) {
            return;
        }
        self.extractors.pop();
        self.pattern = self.patterns.pop().flatten();
    }

    /// Notes what the extractors do in another way than the filters.
    fn note_extractors(&mut self, key: &str, notes: &mut Notes) {
        let is_other = |(pattern, _): &(String, &str)| groups(pattern) > 1 && !is_choice_of_groups(pattern);
        if self.patterns.iter().flatten().any(is_other) {
            let message = "lm-eval takes the first group that is not empty; here it is the whole match. Set `group` to \
                           the right one";
            notes.needs_work(key.to_owned(), message.to_owned(), &mut self.comments);
        }
        if self.extractors.len() > 1 {
            let message = "the filters find the answer one after another; here the first extractor that finds one \
                           ends the chain";
            notes
                .needs_work(key.to_owned(), message.to_owned(), &mut self.comments)
                .help("write one pattern for all of them");
        }
    }

    /// Notes that the case of targets counts in lm-eval.
    fn note_case(&mut self, key: &str, notes: &mut Notes) {
        let message = "`lowercase` and `uppercase` change the answer, and lm-eval compares it with the target as it is \
                       written; here the case of both is ignored";
        notes
            .needs_work(key.to_owned(), message.to_owned(), &mut self.comments)
            .help("if the targets are written in that case, there is nothing to do");
    }

    /// Returns a pattern for the whole answer that finds what it finds in the answer without white space around it.
    fn pattern_of_whole(&mut self, pattern: &str, key: &str, notes: &mut Notes) -> String {
        if let Some(pattern) = with_white_space(pattern) {
            return pattern;
        }
        let message = "`remove_whitespace` comes before the pattern; here the pattern also sees the white space around \
                       the answer";
        notes
            .needs_work(key.to_owned(), message.to_owned(), &mut self.comments)
            .help(r"allow white space in the pattern, as in `^\s*(\w+)\s*$`");
        pattern.to_owned()
    }

    fn regex(&mut self, step: &Mapping, key: &str, notes: &mut Notes) {
        let pattern = step.text("regex_pattern").unwrap_or(r"#### (\-?[0-9\.\,]+)");
        // After another pattern, there is no white space around the text.
        let is_stripped = self.strips && self.patterns.is_empty();
        let pattern = match is_stripped {
            true => self.pattern_of_whole(pattern, key, notes),
            false => pattern.to_owned(),
        };
        // Before the pattern, a filter made the case of all letters the same.
        let pattern = if self.ignores_case { format!("(?i){pattern}") } else { pattern };
        let mut params = Mapping::default();
        params.set("pattern", Tree::text(pattern.clone()));
        if groups(&pattern) > 1 {
            params.set("group", Tree::Scalar(0.into()));
        }
        let select = step.get("group_select").map_or_else(|| "0".to_owned(), Tree::plain_text);
        let which = match select.as_str() {
            "-1" => "last",
            "0" => "first",
            other => {
                let message =
                    format!("`group_select: {other}` takes a later match; here it is the first one");
                notes.needs_work(key.to_owned(), message, &mut self.comments);
                "first"
            }
        };
        if let Some(fallback) = step.get("fallback") {
            let shown = fallback.shown();
            let message = format!(
                "`fallback: {shown}` has no effect: an answer in which the pattern finds nothing is wrong. lm-eval \
                 counts it as right if the target is `{shown}`"
            );
            notes.dropped(key.to_owned(), message, &mut self.comments);
        }
        params.set("which", Tree::text(which));
        params.set("ignore_case", Tree::Scalar(Value::Bool(false)));
        let mut extractor = Mapping::default();
        extractor.set("regex", Tree::Map(params));
        self.extractors.push(Tree::Map(extractor));
        self.patterns.push(Some((pattern, which)));
        self.strips = true;
    }

    fn add(&mut self, step: &Mapping, key: &str, notes: &mut Notes) {
        match step.text("function").unwrap_or_default() {
            "take_first" => {}
            "remove_whitespace" => self.strips = true,
            "lowercase" | "uppercase" => self.ignores_case = true,
            "regex" => self.regex(step, key, notes),
            "multi_choice_regex" => {
                let message = "`multi_choice_regex` becomes `choice_letter`, which reads the letter of an option \
                               by rules of its own; the punctuation around letters is ignored";
                notes.changed(key.to_owned(), message.to_owned(), &mut self.comments);
                self.extractors.push(Tree::text("choice_letter"));
                self.patterns.push(None);
                self.ignores_punctuation = true;
                self.strips = true;
            }
            "majority_vote" => {
                let message = "each of the repeated answers is scored, and the figure is their mean, not that of a \
                               majority vote";
                let help = "`aggregation: majority_vote` of the metric takes the most frequent answer; it leaves out \
                            answers in which the pattern finds nothing";
                notes.needs_work(key.to_owned(), message.to_owned(), &mut self.comments).help(help);
            }
            "take_first_k" => {
                let count = step.get("k").map(Tree::plain_text).unwrap_or_default();
                let message =
                    format!("`take_first_k` ({count}) has no counterpart: `repeat` is the number of answers");
                notes.dropped(key.to_owned(), message, &mut self.comments);
            }
            other => {
                let name = other.strip_prefix(super::files::FUNCTION).unwrap_or(other).to_owned();
                let message = format!("the filter `{name}` has no counterpart");
                let help = crate::python_name::plugin_command(&name, "extractor");
                notes.needs_work(key.to_owned(), message, &mut self.comments).help(help);
                self.lacks_extractor = true;
            }
        }
    }
}
