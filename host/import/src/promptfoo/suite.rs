//! Puts tests, prompts and models together to a suite and its rows.

use super::checks::{Metric, Need};
use super::tests::Test;
use super::{options, prompts, providers};
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::{Map, Value, json};

/// Prompt of the judge.
const JUDGE_TEMPLATE: &str = "Does the answer meet these criteria?\n\nCriteria:\n{{ row.expected.criteria }}\n\n\
                              Answer:\n{{ payload.model_output.answer }}\n\nGive the reason in one sentence. Then end \
                              with the line `VERDICT: PASS` or `VERDICT: FAIL`.";
/// Model that promptfoo asks as a judge if the configuration names none.
const JUDGE_MODEL: &str = "gpt-4.1";
/// Model that promptfoo takes vectors from if the configuration names none.
const EMBEDDING_MODEL: &str = "text-embedding-3-large";
/// Names of fields that are probably the question, the likely ones first.
const QUESTION_NAMES: [&str; 7] = ["question", "query", "input", "prompt", "message", "text", "body"];
/// Maximum number of groups of tests with the same metrics.
const MAX_GROUPS: usize = 200;
/// Maximum number of characters of a group's name.
const MAX_NAME_CHARS: usize = 60;

/// A suite with its rows.
pub(super) struct SuiteDocument {
    pub(super) document: Mapping,
    /// The rows, as JSON Lines.
    pub(super) lines: String,
}

/// Tests with the same metrics.
struct Group {
    id: String,
    metrics: Vec<Mapping>,
    needs: Vec<Need>,
}

/// The rows and the groups of the tests.
#[derive(Default)]
struct Rows {
    groups: Vec<Group>,
    /// The rows without their groups, and the place of the group of each.
    rows: Vec<(Map<String, Value>, usize)>,
    comments: Vec<String>,
}

/// Returns the suite and the rows. `file` is the name of the configuration, and `rows` that of the file of rows.
#[expect(clippy::too_many_arguments, reason = "the sections of one document")]
pub(super) fn document(
    config: &Mapping,
    file: &str,
    rows: &str,
    prompts: Vec<Mapping>,
    models: Vec<Tree>,
    tests: Vec<Test>,
    notes: &mut Notes,
) -> SuiteDocument {
    let mut found = Rows::default();
    tests.into_iter().for_each(|test| found.add(test, notes));
    found.rename();
    let mut document = Mapping::default();
    let mut metadata = Mapping::default();
    metadata.set("name", Tree::text(file.split('.').next().unwrap_or(file)));
    if let Some(description) = config.get("description") {
        metadata.set("description", description.clone());
    }
    document.set("metadata", Tree::Map(metadata));
    let question = found.question_field(&prompts::fields_of(&prompts));
    document.set("datasets", found.datasets(rows, &question));
    let model = if models.len() == 1 { models.into_iter().next() } else { Some(Tree::List(models)) };
    document.set("model", model.unwrap_or(Tree::Scalar(Value::Null)));
    set_prompts(&mut document, prompts, found.needs(&Need::Judge));
    let usual_options =
        config.get("defaultTest").and_then(Tree::as_map).and_then(|test| test.get("options")?.as_map());
    set_roles(&mut document, &found, usual_options.and_then(|options| options.get("provider")), notes);
    let custom = options::convert(config, notes, &mut found.comments);
    found.set_tasks(&mut document, custom);
    document.comments.append(&mut found.comments);
    let has_several = found.groups.len() > 1;
    let mut lines = String::new();
    for (mut row, group) in found.rows {
        if has_several && let Some(group) = found.groups.get(group) {
            row.insert("checks".to_owned(), Value::from(group.id.clone()));
        }
        lines.push_str(&Value::Object(row).to_string());
        lines.push('\n');
    }
    SuiteDocument { document, lines }
}

impl Rows {
    fn add(&mut self, test: Test, notes: &mut Notes) {
        let mut metrics: Vec<Metric> = Vec::new();
        let mut expected = Map::new();
        for (place, check) in test.checks.iter().enumerate() {
            let same = test.checks[..=place].iter().filter(|other| other.has_name_of(check)).count();
            let Some(metric) = check.metric(same, notes, &mut self.comments) else { continue };
            if let Some((key, value)) = &metric.expected {
                match expected.get_mut(key) {
                    // A judge is asked once about all criteria.
                    Some(Value::String(known)) => {
                        known.push('\n');
                        known.push_str(&value.plain_text());
                        add_comments(&mut metrics, &metric);
                        continue;
                    }
                    _ => {
                        expected.insert(key.clone(), value.to_json());
                    }
                }
            }
            metrics.push(metric);
        }
        let needs = metrics.iter().filter_map(|metric| metric.need.clone()).collect();
        let entries: Vec<Mapping> = metrics.into_iter().map(|metric| metric.entry).collect();
        let group = self.group_of(entries, needs);
        let mut row = Map::new();
        row.insert("id".to_owned(), Value::from(format!("test-{}", self.rows.len() + 1)));
        for var in &test.vars.entries {
            row.insert(var.key.clone(), var.value.to_json());
        }
        if !expected.is_empty() {
            row.insert("expected".to_owned(), Value::Object(expected));
        }
        self.rows.push((row, group));
    }

    /// Returns the place of the group with these metrics.
    fn group_of(&mut self, metrics: Vec<Mapping>, needs: Vec<Need>) -> usize {
        if let Some(place) = self.groups.iter().position(|group| group.metrics == metrics) {
            return place;
        }
        if self.groups.len() >= MAX_GROUPS {
            return self.groups.len() - 1;
        }
        self.groups.push(Group { id: String::new(), metrics, needs });
        self.groups.len() - 1
    }

    /// Names the groups by the metrics that not all of them have.
    fn rename(&mut self) {
        let ids = |group: &Group| -> Vec<String> {
            group.metrics.iter().filter_map(|metric| metric.text("metric_id")).map(str::to_owned).collect()
        };
        let all: Vec<Vec<String>> = self.groups.iter().map(ids).collect();
        let mut known: Vec<String> = Vec::new();
        for (group, names) in self.groups.iter_mut().zip(&all) {
            let is_own = |name: &&String| all.iter().any(|others| !others.contains(name));
            let own: Vec<&str> = names.iter().filter(is_own).map(String::as_str).collect();
            let name: String = own.join("-").chars().take(MAX_NAME_CHARS).collect();
            let name = if name.is_empty() { "checks".to_owned() } else { name };
            let same = known.iter().filter(|other| **other == name).count();
            group.id = if same > 0 { format!("{name}-{}", same + 1) } else { name.clone() };
            known.push(name);
        }
        // A comment of each test is enough once.
        let mut comments: Vec<String> = Vec::new();
        for comment in std::mem::take(&mut self.comments) {
            if !comments.contains(&comment) {
                comments.push(comment);
            }
        }
        self.comments = comments;
    }

    fn needs(&self, need: &Need) -> bool {
        self.groups.iter().any(|group| group.needs.contains(need))
    }

    /// Returns the field of the question: one that is a text in every row. If there is none, rows get the field `question`.
    fn question_field(&mut self, fields: &[String]) -> String {
        let is_text = |field: &&String| {
            self.rows.iter().all(
                |(row, _)| matches!(row.get(*field), Some(Value::String(text)) if !text.trim().is_empty()),
            )
        };
        let named =
            QUESTION_NAMES.iter().filter_map(|name| fields.iter().find(|field| field.as_str() == *name));
        if let Some(field) = named.chain(fields).find(is_text) {
            return field.clone();
        }
        for (place, (row, _)) in self.rows.iter_mut().enumerate() {
            row.entry("question".to_owned()).or_insert_with(|| json!(format!("test {}", place + 1)));
        }
        "question".to_owned()
    }

    fn datasets(&self, rows: &str, question: &str) -> Tree {
        let has_several = self.groups.len() > 1;
        let mut datasets = Vec::new();
        for group in &self.groups {
            let mut params = Mapping::default();
            params.set("path", Tree::Variable(format!("${{config_dir}}/{rows}")));
            if has_several {
                let mut filter = Mapping::default();
                filter.set("checks", Tree::List(vec![Tree::text(group.id.clone())]));
                params.set("filter", Tree::Map(filter));
            }
            if question != "question" {
                let mut kwargs = Mapping::default();
                kwargs.set("question_field", Tree::text(question));
                params.set("preprocess_kwargs", Tree::Map(kwargs));
            }
            let mut dataset = Mapping::default();
            let id = if has_several { group.id.as_str() } else { "tests" };
            dataset.set("dataset_id", Tree::text(id));
            dataset.set("loader", Tree::text("jsonl"));
            dataset.set("params", Tree::Map(params));
            datasets.push(Tree::Map(dataset));
        }
        Tree::List(datasets)
    }

    /// Writes metrics and steps: for one group at the top, else for each task.
    fn set_tasks(&self, document: &mut Mapping, mut custom: Mapping) {
        let outcomes = ["truncated", "empty_output"].map(Tree::text).to_vec();
        custom.set("score_outcomes", Tree::List(outcomes));
        let metrics = |group: &Group| Tree::List(group.metrics.iter().cloned().map(Tree::Map).collect());
        if let [only] = self.groups.as_slice() {
            if !only.metrics.is_empty() {
                document.set("metrics", metrics(only));
            }
            custom.set("steps", steps(only));
            document.set("custom", Tree::Map(custom));
            return;
        }
        document.set("custom", Tree::Map(custom));
        let mut tasks = Vec::new();
        for group in &self.groups {
            let mut task = Mapping::default();
            task.set("task_id", Tree::text(group.id.clone()));
            task.set("dataset_id", Tree::text(group.id.clone()));
            task.set("steps", steps(group));
            if !group.metrics.is_empty() {
                task.set("metric_overrides", metrics(group));
            }
            tasks.push(Tree::Map(task));
        }
        document.set("tasks", Tree::List(tasks));
    }
}

/// Adds the comments of a metric to the metric that takes its place, because a judge is asked once.
fn add_comments(metrics: &mut [Metric], replaced: &Metric) {
    let Some(first) = metrics.iter_mut().find(|metric| metric.need == replaced.need) else { return };
    for comment in &replaced.entry.comments {
        if !first.entry.comments.contains(comment) {
            first.entry.comments.push(comment.clone());
        }
    }
}

fn steps(group: &Group) -> Tree {
    let step = |name: &str| {
        let mut step = Mapping::default();
        step.set("step", Tree::text(name));
        step
    };
    let mut steps = vec![step("inference")];
    if group.needs.contains(&Need::Embedding) {
        let mut embed = step("embed");
        let similar =
            group.metrics.iter().find(|metric| metric.text("implementation") == Some("semantic_similarity"));
        if let Some(id) = similar.and_then(|metric| metric.text("metric_id")) {
            embed.set("references_field", Tree::text(format!("sample.metadata.expected.{id}")));
        }
        steps.push(embed);
    }
    if group.needs.contains(&Need::Judge) {
        let mut labels = Mapping::default();
        labels.set("PASS", Tree::Scalar(1.into()));
        labels.set("FAIL", Tree::Scalar(0.into()));
        let mut grade = Mapping::default();
        grade.set("labels", Tree::Map(labels));
        grade.set("pattern", Tree::text("VERDICT: (PASS|FAIL)"));
        let mut judge = Mapping::default();
        judge.set("grade", Tree::Map(grade));
        let mut asked = step("judge");
        asked.set("judge", Tree::Map(judge));
        steps.push(asked);
    }
    if !group.metrics.is_empty() {
        steps.push(step("auto_eval"));
    }
    Tree::List(steps.into_iter().map(Tree::Map).collect())
}

/// Writes the prompts: one in its short form, several by their ids, which are tried one after another.
fn set_prompts(document: &mut Mapping, mut found: Vec<Mapping>, has_judge: bool) {
    let ids: Vec<Tree> = found.iter().filter_map(|prompt| prompt.get("prompt_id").cloned()).collect();
    let mut entries: Vec<Tree> = Vec::new();
    if found.len() == 1
        && let Some(only) = found.pop()
    {
        document.set("prompt", prompts::short(only));
    } else if !found.is_empty() {
        document.set("prompt", Tree::List(ids));
        entries.extend(found.into_iter().map(Tree::Map));
    }
    if has_judge {
        let mut judge = Mapping::default();
        judge.set("prompt_id", Tree::text("judge"));
        judge.set("template", Tree::text(JUDGE_TEMPLATE));
        entries.push(Tree::Map(judge));
    }
    if !entries.is_empty() {
        document.set("prompts", Tree::List(entries));
    }
}

fn set_roles(document: &mut Mapping, rows: &Rows, provider: Option<&Tree>, notes: &mut Notes) {
    let mut roles = Vec::new();
    let mut add = |id: &str, role_type: &str, prompt: bool, backend: Mapping| {
        let mut role = Mapping::default();
        role.set("adapter_id", Tree::text(id));
        role.set("role_type", Tree::text(role_type));
        if prompt {
            role.set("prompt_id", Tree::text(id));
        }
        role.set("backend", Tree::Map(backend));
        roles.push(Tree::Map(role));
    };
    if rows.needs(&Need::Judge) {
        add("judge", "judge_model", true, providers::backend(provider, JUDGE_MODEL, notes));
    }
    if rows.needs(&Need::Embedding) {
        add("embedder", "helper_model", false, providers::backend(None, EMBEDDING_MODEL, notes));
    }
    if !roles.is_empty() {
        document.set("role_adapters", Tree::List(roles));
    }
}
