//! Filters of answers, which become extractors.

use super::task::Task;
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// One way to read the answers of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pipeline {
    /// Its name, if the task has several.
    pub(super) name: Option<String>,
    /// The extractors.
    pub(super) extractors: Vec<Tree>,
    /// True if white space around the answer does not count.
    pub(super) strips: bool,
    /// True if case does not count.
    pub(super) ignores_case: bool,
    /// The patterns, each with the match that counts: `first` or `last`.
    pub(super) patterns: Vec<(String, &'static str)>,
    /// Comments about filters without a counterpart.
    pub(super) comments: Vec<String>,
}

/// Returns the ways to read the answers of a task, at least one.
pub(super) fn convert(task: &Task, notes: &mut Notes) -> Vec<Pipeline> {
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
        pipeline.note_groups(&key, notes);
        pipelines.push(pipeline);
    }
    if pipelines.is_empty() {
        pipelines.push(Pipeline::default());
    }
    pipelines
}

impl Pipeline {
    /// Returns true if a metric can read the answers itself: at most one pattern finds them.
    pub(super) fn is_simple(&self) -> bool {
        self.patterns.len() <= 1 && self.extractors.len() == self.patterns.len() && self.comments.is_empty()
    }

    /// Notes patterns of which an extractor takes another group than lm-eval.
    fn note_groups(&mut self, key: &str, notes: &mut Notes) {
        let is_other = |(pattern, _): &(String, &str)| groups(pattern) > 1 && !is_choice_of_groups(pattern);
        if !self.is_simple() && self.patterns.iter().any(is_other) {
            let message = "lm-eval takes the first group that is not empty; here it is the whole match. Set `group` to \
                           the right one";
            notes.needs_work(key.to_owned(), message.to_owned(), &mut self.comments);
        }
    }

    fn regex(&mut self, step: &Mapping, key: &str, notes: &mut Notes) {
        let pattern = step.text("regex_pattern").unwrap_or(r"#### (\-?[0-9\.\,]+)");
        let mut params = Mapping::default();
        params.set("pattern", Tree::text(pattern));
        if groups(pattern) > 1 {
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
        params.set("which", Tree::text(which));
        params.set("ignore_case", Tree::Scalar(Value::Bool(false)));
        let mut extractor = Mapping::default();
        extractor.set("regex", Tree::Map(params));
        self.extractors.push(Tree::Map(extractor));
        self.patterns.push((pattern.to_owned(), which));
    }

    fn add(&mut self, step: &Mapping, key: &str, notes: &mut Notes) {
        match step.text("function").unwrap_or_default() {
            "take_first" => {}
            "remove_whitespace" => self.strips = true,
            "lowercase" | "uppercase" => self.ignores_case = true,
            "regex" => {
                self.regex(step, key, notes);
                self.strips = true;
            }
            "multi_choice_regex" => {
                let message = "`multi_choice_regex` becomes `choice_letter`, which reads the letter of an option \
                               by rules of its own";
                notes.changed(key.to_owned(), message.to_owned(), &mut self.comments);
                self.extractors.push(Tree::text("choice_letter"));
            }
            "majority_vote" => {
                let message = "there is no majority vote: each of the repeated answers is scored, and the figure is \
                               their mean";
                notes.needs_work(key.to_owned(), message.to_owned(), &mut self.comments);
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
            }
        }
    }
}

/// Returns true if a pattern is a choice of groups, so that the whole match is that of the group.
fn is_choice_of_groups(pattern: &str) -> bool {
    pattern.starts_with('(') && pattern.ends_with(')') && pattern.contains(")|(")
}

/// Returns the number of groups of a pattern.
fn groups(pattern: &str) -> usize {
    let mut letters = pattern.chars().peekable();
    let (mut count, mut is_in_set) = (0, false);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '[' => is_in_set = true,
            ']' => is_in_set = false,
            '(' if !is_in_set && letters.peek() != Some(&'?') => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_patterns_are_counted() {
        for (pattern, count) in [
            (r"#### (\-?[0-9\.\,]+)", 1),
            (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", 2),
            (r"\(([(])(?:a)\)", 1),
            ("a", 0),
        ] {
            assert_eq!(groups(pattern), count, "{pattern}");
        }
    }
}
