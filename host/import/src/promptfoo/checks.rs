//! Assertions, which become metrics.

use super::variables::{first_expression, reads, spellings};
use super::{cells, javascript_pattern, negated};
use crate::ids::metric_id_of;
use crate::metric_entry::metric_entry;
use crate::note::Notes;
use crate::python_name::{plugin_command, plugin_file};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Kinds of assertions that a language model checks.
const MODEL_GRADED: &[&str] = &[
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "factuality",
    "g-eval",
    "answer-relevance",
    "context-recall",
    "context-relevance",
    "context-faithfulness",
];

/// Kinds of assertions whose value is a text.
const TEXTS: &[&str] = &["equals", "contains", "icontains", "starts-with", "regex"];

/// Kinds of assertions whose value is a text or a list of texts.
const LISTS: &[&str] =
    &["contains-any", "icontains-any", "contains-all", "icontains-all", "similar", "rouge-n", "bleu"];

/// An assertion.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// Its type without `not-`.
    kind: String,
    is_negated: bool,
    /// Its name in the results of promptfoo.
    name: Option<String>,
    value: Tree,
    threshold: Option<Value>,
    /// True if it has a weight.
    pub(super) has_weight: bool,
}

/// What a task needs besides the step `inference`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Need {
    /// Vectors of answers and references.
    Embedding,
    /// A judge that reads what each row expects.
    Judge,
}

/// A converted assertion.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    /// The entry of `metrics`.
    pub(super) entry: Mapping,
    /// The value that the row expects, with its key.
    pub(super) expected: Option<(String, Tree)>,
    pub(super) need: Option<Need>,
}

impl Check {
    pub(super) fn of(assertion: &Mapping) -> Check {
        let kind = assertion.text("type").unwrap_or("equals");
        let threshold = match assertion.get("threshold") {
            Some(Tree::Scalar(value)) => Some(value.clone()),
            _ => None,
        };
        Check {
            kind: kind.strip_prefix("not-").unwrap_or(kind).to_owned(),
            is_negated: kind.starts_with("not-"),
            name: assertion.text("metric").map(str::to_owned),
            value: assertion.get("value").cloned().unwrap_or(Tree::Scalar(Value::Null)),
            threshold,
            has_weight: assertion.has("weight"),
        }
    }

    /// Replaces the variables in the value by those of a test. `question` is the text that the model gets.
    pub(super) fn filled(&self, vars: &Mapping, question: &Tree) -> Check {
        let value = filled(&self.value, vars);
        let is_graded = MODEL_GRADED.contains(&self.kind.as_str());
        let value = if is_graded { Tree::text(criterion(&self.kind, &value, vars, question)) } else { value };
        Check { value, ..self.clone() }
    }

    /// Returns true if the assertion is about the prompt, because the test has no text `query`.
    pub(super) fn is_about_prompt(&self, vars: &Mapping) -> bool {
        self.kind == "answer-relevance" && vars.text("query").is_none()
    }

    /// Returns the first expression of the value that is not a variable of the test, with the type of the assertion.
    pub(super) fn unknown_expression(&self, vars: &Mapping) -> Option<(&str, String)> {
        let kind = self.kind.as_str();
        let is_text = [TEXTS, LISTS, MODEL_GRADED].iter().any(|kinds| kinds.contains(&kind));
        let expression = first_expression(&self.value, vars).filter(|_| is_text)?;
        Some((kind, Tree::text(expression).shown()))
    }

    /// Returns true if the value has a variable.
    pub(super) fn reads(&self, name: &str) -> bool {
        reads(&self.value, name)
    }

    /// Returns true if the value is a mapping, or a list where a text is expected.
    fn is_structure(&self) -> bool {
        match &self.value {
            Tree::Map(_) => TEXTS.contains(&self.kind.as_str()) || LISTS.contains(&self.kind.as_str()),
            Tree::List(_) if TEXTS.contains(&self.kind.as_str()) => true,
            Tree::List(items) if LISTS.contains(&self.kind.as_str()) => {
                items.iter().any(|item| matches!(item, Tree::List(_) | Tree::Map(_)))
            }
            _ => false,
        }
    }

    /// Returns the name of the metric.
    fn id(&self) -> String {
        let kind = if self.is_negated { format!("not-{}", self.kind) } else { self.kind.clone() };
        metric_id_of(self.name.as_deref().unwrap_or(&kind))
    }

    /// Returns true if both have the same name in results.
    pub(super) fn has_name_of(&self, other: &Check) -> bool {
        self.id() == other.id()
    }

    fn texts(&self) -> Vec<String> {
        match &self.value {
            Tree::List(items) => items.iter().map(Tree::plain_text).collect(),
            Tree::Map(_) => Vec::new(),
            scalar => cells::items_of(&scalar.plain_text()),
        }
    }

    /// Converts the assertion. `number` counts those with the same name in a test. `None` if no metric takes its place;
    /// `comments` then say why.
    pub(super) fn metric(
        &self,
        number: usize,
        notes: &mut Notes,
        comments: &mut Vec<String>,
    ) -> Option<Metric> {
        let id = if number > 1 { format!("{}-{number}", self.id()) } else { self.id() };
        let key = format!("assert.{}{}", if self.is_negated { "not-" } else { "" }, self.kind);
        if self.is_structure() {
            let message = format!("`{}` compares a list or a mapping, which has no counterpart", self.kind);
            return Some(plugin(&id, key, message, notes));
        }
        if self.kind == "cost" {
            let message = "there is no metric of cost: `pricing` and `budget: {max_cost: …}` limit it, and the \
                           summary of a run has it";
            notes.dropped(key, message.to_owned(), comments);
            return None;
        }
        let Some(mut metric) = self.compared(&id) else { return Some(self.other(&id, key, notes)) };
        let text = self.value.plain_text();
        if self.kind == "regex" && javascript_pattern::to_python(&text).is_none() {
            let message = "JavaScript and Python may read this pattern in different ways";
            let note = notes.changed(key, message.to_owned(), &mut metric.entry.comments);
            note.help("check `pattern` in the syntax of Python's `re`");
        } else if text.is_empty() && self.kind != "equals" && TEXTS.contains(&self.kind.as_str()) {
            let message = format!(
                "`{}` expects an empty text: here every answer contains it, and newer versions of promptfoo refuse it",
                self.kind
            );
            notes.changed(key, message, &mut metric.entry.comments);
        }
        Some(metric)
    }

    /// Converts an assertion about texts of the answer. `None` for others.
    fn compared(&self, id: &str) -> Option<Metric> {
        let ignores_case = self.kind.starts_with("icontains");
        let (text, texts) = (self.value.plain_text(), self.texts());
        // Metrics do not score a blank reference.
        let is_blank = text.trim().is_empty();
        let has_blank = texts.is_empty() || texts.iter().any(|text| text.trim().is_empty());
        let mut params = Vec::new();
        if !ignores_case {
            params.push(("case_sensitive", Value::from(true)));
        }
        Some(match (self.kind.as_str(), self.is_negated) {
            ("equals", false) if is_blank => pattern(id, &format!(r"\A{}\Z", negated::escaped(&text)), false),
            ("equals", false) => {
                params.push(("strip_whitespace", Value::from(false)));
                self.expecting(id, "exact_match", &params, self.reference())
            }
            ("equals", true) => pattern(id, &format!(r"\A(?!{}\Z)", negated::escaped(&text)), false),
            ("contains" | "icontains", false) if is_blank => {
                pattern(id, &format!("(?:{})", negated::escaped(&text)), false)
            }
            ("contains" | "icontains", false) => self.expecting(id, "contains", &params, Tree::text(text)),
            ("contains-any" | "icontains-any", false) if has_blank => {
                pattern(id, &format!("(?:{})", negated::any(&texts)), ignores_case)
            }
            ("contains-any" | "icontains-any", false) => {
                params.push(("any_reference", Value::from(true)));
                self.expecting(id, "contains", &params, list(texts))
            }
            ("contains-all" | "icontains-all", false) => pattern(id, &negated::all(&texts), ignores_case),
            ("contains-all" | "icontains-all", true) => {
                pattern(id, &format!(r"\A(?!{})", negated::all(&texts)), ignores_case)
            }
            ("contains" | "icontains", true) => {
                pattern(id, &negated::absent(&negated::escaped(&text)), ignores_case)
            }
            ("contains-any" | "icontains-any", true) => {
                pattern(id, &negated::absent(&negated::any(&texts)), ignores_case)
            }
            ("starts-with", false) => pattern(id, &format!(r"\A{}", negated::escaped(&text)), false),
            ("starts-with", true) => pattern(id, &format!(r"\A(?!{})", negated::escaped(&text)), false),
            ("regex", is_negated) => {
                let python = javascript_pattern::to_python(&text).unwrap_or(text);
                let python = if python.is_empty() { "(?:)".to_owned() } else { python };
                pattern(id, &if is_negated { negated::absent(&python) } else { python }, false)
            }
            _ => return None,
        })
    }

    /// Converts an assertion that is not about a text of the answer, or has no counterpart.
    fn other(&self, id: &str, key: String, notes: &mut Notes) -> Metric {
        let threshold: Vec<(&str, Value)> =
            self.threshold.iter().map(|threshold| ("threshold", threshold.clone())).collect();
        match self.kind.as_str() {
            "similar" if !self.is_negated => {
                let metric = self.expecting(id, "semantic_similarity", &threshold, self.reference());
                let mut entry = metric.entry;
                // The step `embed` names the reference.
                remove_param(&mut entry, "label_field");
                Metric { entry, need: Some(Need::Embedding), ..metric }
            }
            graded if MODEL_GRADED.contains(&graded) && !self.is_negated => self.graded(id, key, notes),
            "rouge-n" if !self.is_negated => {
                self.expecting(id, "reference_rouge", &threshold, self.reference())
            }
            "bleu" if !self.is_negated => {
                let percent = self.threshold.as_ref().and_then(Value::as_f64).map(|share| share * 100.0);
                let params: Vec<(&str, Value)> =
                    percent.into_iter().map(|percent| ("threshold", Value::from(percent))).collect();
                self.expecting(id, "bleu", &params, self.reference())
            }
            "latency" => {
                let limit = self.threshold.as_ref().map(Value::to_string).unwrap_or_default();
                let mut entry = metric_entry(id, "latency", &[]);
                let message =
                    format!("the figure is the latency in ms; the limit of {limit} ms has no counterpart");
                notes.changed(key, message, &mut entry.comments);
                Metric { entry, expected: None, need: None }
            }
            kind => {
                let name = if self.is_negated { format!("not-{kind}") } else { kind.to_owned() };
                let message = match kind {
                    "javascript" | "python" | "webhook" | "ruby" => {
                        format!("`{name}` runs code: {}", self.value.shown())
                    }
                    _ => format!("the assertion `{name}` has no counterpart"),
                };
                plugin(id, key, message, notes)
            }
        }
    }

    /// Converts an assertion that a model checks: the judge reads the criterion of the row.
    fn graded(&self, id: &str, key: String, notes: &mut Notes) -> Metric {
        let mut entry = metric_entry(id, "judge_score", &[]);
        let message =
            format!("`{}` becomes a judge that reads what the row expects: PASS or FAIL", self.kind);
        notes.changed(key.clone(), message, &mut entry.comments);
        if let Some(threshold) = &self.threshold {
            let message =
                format!("the threshold {threshold} of `{}` is left out: PASS is 1, FAIL is 0", self.kind);
            notes.dropped(key, message, &mut entry.comments);
        }
        let expected = Some(("criteria".to_owned(), Tree::text(self.value.plain_text())));
        Metric { entry, expected, need: Some(Need::Judge) }
    }

    /// Returns a metric that compares with the value, which becomes a field of the row.
    fn expecting(&self, id: &str, implementation: &str, params: &[(&str, Value)], value: Tree) -> Metric {
        let mut params = params.to_vec();
        params.push(("label_field", Value::from(format!("metadata.expected.{id}"))));
        let entry = metric_entry(id, implementation, &params);
        Metric { entry, expected: Some((id.to_owned(), value)), need: None }
    }

    fn reference(&self) -> Tree {
        match &self.value {
            Tree::Scalar(Value::String(_)) | Tree::List(_) => self.value.clone(),
            other => Tree::text(other.plain_text()),
        }
    }
}

/// Returns a metric that a person writes.
fn plugin(id: &str, key: String, message: String, notes: &mut Notes) -> Metric {
    let mut entry = metric_entry(id, &plugin_file(id), &[]);
    let help = format!("write it as a plugin: {}", plugin_command(id, "metric"));
    notes.needs_work(key, message, &mut entry.comments).help(help);
    Metric { entry, expected: None, need: None }
}

fn list(texts: Vec<String>) -> Tree {
    Tree::List(texts.into_iter().map(Tree::text).collect())
}

fn pattern(id: &str, pattern: &str, ignores_case: bool) -> Metric {
    let params = [("pattern", Value::from(pattern)), ("ignore_case", Value::from(ignores_case))];
    Metric { entry: metric_entry(id, "regex_match", &params), expected: None, need: None }
}

/// Returns what a judge checks for an assertion that a model grades. Those about a context read variables of the test.
fn criterion(kind: &str, value: &Tree, vars: &Mapping, question: &Tree) -> String {
    let text = match value {
        Tree::List(items) => items.iter().map(text_or_json).collect::<Vec<_>>().join("\n"),
        Tree::Scalar(Value::Null) => String::new(),
        other => text_or_json(other),
    };
    let var = |name: &str| vars.get(name).map(text_or_json).unwrap_or_default();
    match kind {
        "factuality" | "model-graded-factuality" => format!("The answer agrees with this: {text}"),
        "answer-relevance" => {
            let query = vars.text("query").map(str::to_owned);
            let query = query.unwrap_or_else(|| filled(question, vars).plain_text());
            format!("The answer is about this question: {query}")
        }
        "context-recall" => format!("This context supports `{text}`: {}", var("context")),
        "context-relevance" => {
            format!("This context is needed to answer `{}`: {}", var("query"), var("context"))
        }
        "context-faithfulness" => {
            format!("The answer says only what this context supports: {}", var("context"))
        }
        _ => text,
    }
}

/// Returns a scalar as a text, and a list or a mapping as JSON.
fn text_or_json(value: &Tree) -> String {
    match value {
        Tree::List(_) | Tree::Map(_) => value.to_json().to_string(),
        scalar => scalar.plain_text(),
    }
}

fn remove_param(entry: &mut Mapping, name: &str) {
    let Some(Tree::Map(params)) = entry.get_mut("params") else { return };
    params.remove(name);
    if params.entries.is_empty() {
        entry.remove("params");
    }
}

/// Replaces `{{ name }}` by the value of a variable.
fn filled(value: &Tree, vars: &Mapping) -> Tree {
    match value {
        Tree::List(items) => Tree::List(items.iter().map(|item| filled(item, vars)).collect()),
        Tree::Scalar(Value::String(text)) if text.contains("{{") => {
            let mut text = text.clone();
            for var in &vars.entries {
                for spelling in spellings(&var.key) {
                    text = text.replace(&spelling, &var.value.plain_text());
                }
            }
            Tree::text(text)
        }
        other => other.clone(),
    }
}
