//! Turns a template into a RunConfig, or back into a PipelineConfig.

use crate::document::{each_text, listed};
use crate::editor_schema::{schema_comment, write_schema};
use crate::parameters::runtime_of;
use crate::rewrite_paths::rebase;
use crate::template::{BuiltinTemplate, number_of, versions};
use crate::{SuiteError, files, placeholders, yaml};
use gage_config::{API_VERSION, Entry, Node, NodeValue};
use gage_core::{foreign_file, printable_line};
use std::path::{Path, PathBuf};

/// Kind of configuration that is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitMode {
    /// A RunConfig, which specifies where the template runs.
    RunConfig,
    /// A PipelineConfig, which is fully editable.
    PipelineConfig,
}

/// Options for creating a configuration.
#[derive(Clone, Debug)]
pub struct InitOptions<'o> {
    /// The name of a template, or its file.
    pub suite: &'o str,
    /// The version; default the latest.
    pub version: Option<&'o str>,
    /// Kind of configuration.
    pub mode: InitMode,
    /// Folder of all templates.
    pub templates: &'o Path,
    /// The file to write; default a new one next to that folder, in `run_configs` or `custom`.
    pub output: Option<&'o Path>,
}

/// A created configuration.
#[derive(Clone, Debug)]
pub struct InitializedRunConfig {
    /// Path of its file.
    pub path: PathBuf,
    /// The template that it was created from.
    pub template: BuiltinTemplate,
    /// True if it was written; false if an equal file already existed.
    pub is_new: bool,
}

/// Creates a configuration from a template.
///
/// # Errors
/// Fails if the template does not exist or was edited, if the file already exists, or if it cannot be written.
pub fn init(options: &InitOptions<'_>) -> Result<InitializedRunConfig, SuiteError> {
    let template = BuiltinTemplate::read(&find(options)?)?;
    let folder = match options.output {
        Some(path) => files::folder_of(path),
        None => files::folder_of(options.templates).join(match options.mode {
            InitMode::RunConfig => "run_configs",
            InitMode::PipelineConfig => "custom",
        }),
    };
    let from = files::folder_of(&template.path);
    let text = match options.mode {
        InitMode::RunConfig => run_config(&template, &from, &folder),
        InitMode::PipelineConfig => pipeline_config(&template, &from, &folder)?,
    };
    let text = schema_comment() + &text;
    let path = match options.output {
        Some(path) => path.to_owned(),
        None => free_path(options.mode, &folder, &template, &text),
    };
    let is_new = !holds(&path, &text);
    if is_new {
        files::write_new(&path, &text)?;
    }
    write_schema(&files::folder_of(&path))?;
    Ok(InitializedRunConfig { path, template, is_new })
}

/// Returns true if the content of a file is exactly this text.
fn holds(path: &Path, text: &str) -> bool {
    foreign_file::read_named(path, files::MAX_SUITE_SIZE).is_ok_and(|found| found == text.as_bytes())
}

fn find(options: &InitOptions<'_>) -> Result<PathBuf, SuiteError> {
    let suite = options.suite;
    if suite.ends_with(".yaml") || suite.contains('/') && !suite.starts_with("builtin/") {
        return Ok(PathBuf::from(suite));
    }
    let name = suite.strip_prefix("builtin/").unwrap_or(suite);
    let folder = options.templates.join(name);
    let known = versions(&folder);
    let Some(last) = known.last() else {
        let names = std::fs::read_dir(options.templates).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            names.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        names.sort();
        let help = match names.is_empty() {
            true => "make one with `gage-host distill`, or name its folder with --templates".to_owned(),
            false => format!("expected one of: {}", names.join(", ")),
        };
        let message = format!("there is no template `{name}` in {}", options.templates.display());
        return Err(SuiteError::refused(message, help));
    };
    let number = match options.version {
        None => *last,
        Some(version) => number_of(version).filter(|number| known.contains(number)).ok_or_else(|| {
            let all: Vec<String> = known.iter().map(|number| format!("v{number}")).collect();
            SuiteError::refused(
                format!("the template `{name}` has no version `{version}`"),
                format!("it has {}", all.join(", ")),
            )
        })?,
    };
    Ok(folder.join(format!("v{number}.yaml")))
}

/// Returns `piqa_suite_run_1.yaml`, `piqa_suite_from_v1_1.yaml`, with the first number that is free or whose file
/// has this text.
fn free_path(mode: InitMode, folder: &Path, template: &BuiltinTemplate, text: &str) -> PathBuf {
    let (name, version) = (&template.reference.name, &template.reference.version);
    let stem = match mode {
        InitMode::RunConfig => format!("{name}_run"),
        InitMode::PipelineConfig => format!("{name}_from_{version}"),
    };
    let path = |number: u64| folder.join(format!("{stem}_{number}.yaml"));
    let mut number = 1;
    while path(number).exists() && !holds(&path(number), text) {
        number += 1;
    }
    path(number)
}

fn run_config(template: &BuiltinTemplate, from: &Path, to: &Path) -> String {
    let span = template.definition.span;
    let reference = &template.reference;
    let mut head = vec![
        Entry::new("api_version", Node::text(API_VERSION, span)),
        Entry::new("kind", Node::text("RunConfig", span)),
        Entry::new("base_task", Node::text(format!("builtin/{}", reference.name), span)),
        Entry::new("template_version", Node::text(&reference.version, span)),
        Entry::new("template_digest", Node::text(reference.digest.to_string(), span)),
    ];
    let named = format!("builtin_templates/{}/{}.yaml", reference.name, reference.version);
    if crate::run_config::find_template(to, &reference.name, &reference.version).is_none() {
        let mut place = Node::text(format!("${{config_dir}}/{}.yaml", reference.version), span);
        rebase(&mut place, from, to);
        head.push(Entry::new("template_path", place));
    }
    let mut runtime = runtime_of(&template.parameters, span);
    rebase(&mut runtime, from, to);
    let head = yaml::of_node(&Node::new(NodeValue::Map(head), span));
    let runtime = yaml::of_node(&Node::new(NodeValue::Map(vec![Entry::new("runtime", runtime)]), span));
    format!(
        "# Runs the frozen suite {name} {version}. Only where it runs can be changed here, not what it does.\n\
         #\n# For reading only, from {named}:\n{snapshot}\n{head}\n\
         # Settings over those of the template, key by key: what is left out is as it is there.\n{runtime}",
        name = reference.name,
        version = reference.version,
        snapshot = snapshot(&template.definition),
    )
}

/// Summarizes the suite, as comments. Line breaks in its texts are escaped, so that they end no comment.
fn snapshot(definition: &Node) -> String {
    let mut out = String::new();
    let mut line =
        |what: &str, rest: String| out.push_str(&format!("#   {what:<9}{}\n", printable_line(&rest)));
    for (id, dataset) in listed(definition, "datasets", "dataset_id") {
        line("dataset", format!("{id} ({})", dataset.text_of("loader").unwrap_or("?")));
    }
    for (id, backend) in listed(definition, "backends", "backend_id") {
        line("backend", format!("{id} ({})", backend.text_of("type").unwrap_or("?")));
    }
    for (id, role) in listed(definition, "role_adapters", "adapter_id") {
        line("role", format!("{id} ({})", role.text_of("role_type").unwrap_or("?")));
    }
    let own = definition.get("custom").or_else(|| definition.get("builtin"));
    if let Some(steps) = own.and_then(|own| own.get("steps")) {
        line("steps", steps_of(steps));
    }
    let metrics = definition.get("metrics").and_then(Node::as_list).unwrap_or_default();
    for metric in metrics {
        line("metric", metric_of(metric));
    }
    for (id, task) in listed(definition, "tasks", "task_id") {
        let own = task.get("metric_overrides").and_then(Node::as_list).unwrap_or_default();
        let own: Vec<String> = own.iter().map(metric_of).collect();
        let steps = task.get("steps").map(|steps| format!(": {}", steps_of(steps))).unwrap_or_default();
        let metrics = if own.is_empty() { String::new() } else { format!("; {}", own.join(", ")) };
        line("task", format!("{id} of {}{steps}{metrics}", task.text_of("dataset_id").unwrap_or("?")));
    }
    out
}

fn steps_of(steps: &Node) -> String {
    let names = steps.as_list().unwrap_or_default().iter().filter_map(|step| step.text_of("step"));
    names.collect::<Vec<_>>().join(", ")
}

fn metric_of(metric: &Node) -> String {
    match (metric.as_text(), metric.as_map()) {
        (Some(name), _) => name.to_owned(),
        (None, Some([only])) => only.key.clone(),
        _ => metric.text_of("metric_id").unwrap_or("?").to_owned(),
    }
}

/// Returns the definition as a standalone suite.
fn pipeline_config(template: &BuiltinTemplate, from: &Path, to: &Path) -> Result<String, SuiteError> {
    let span = template.definition.span;
    let mut definition = template.definition.clone();
    rebase(&mut definition, from, to);
    for (name, default, _) in placeholders::names(&definition) {
        let default = default
            .as_ref()
            .and_then(|node| node.plain.as_deref().or_else(|| node.as_text()))
            .ok_or_else(|| {
                SuiteError::refused(
                    format!("the parameter ${{{name}}} has no value"),
                    "make a RunConfig, which can set it",
                )
            })?;
        let written = format!("${{{name}:-{default}}}");
        each_text(&mut definition, &mut |node| {
            if let NodeValue::Text(text) = &mut node.value {
                *text = text.replace(&written, default);
            }
            node.plain = node.plain.take().map(|plain| plain.replace(&written, default));
        });
    }
    let mut entries = vec![
        Entry::new("api_version", Node::text(API_VERSION, span)),
        Entry::new("kind", Node::text("PipelineConfig", span)),
    ];
    entries.extend(definition.as_map().unwrap_or_default().iter().cloned());
    let reference = &template.reference;
    Ok(format!(
        "# Made from the frozen suite {} {}. If you change anything in it, it is no longer that suite.\n{}",
        reference.name,
        reference.version,
        yaml::of_node(&Node::new(NodeValue::Map(entries), span))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::{Problems, parse_document};

    #[test]
    fn texts_of_a_suite_do_not_end_their_comments() {
        let suite = r#"
datasets:
  - {dataset_id: "d\nkind: PipelineConfig", loader: "a\rb\u2028c\u0085d"}
metrics:
  - "m\nruntime: {}"
tasks:
  - {task_id: "t\n", dataset_id: "d\n", metric_overrides: ["m\r"]}
"#;
        let definition = parse_document("suite", suite, None, &mut Problems::default()).unwrap();
        let comments = snapshot(&definition);
        let breaks = ['\r', '\u{85}', '\u{2028}'];
        assert!(comments.lines().all(|line| line.starts_with('#')), "{comments}");
        assert!(!comments.contains(breaks), "{comments:?}");
        assert!(comments.contains(r"d\nkind: PipelineConfig (a\rb"), "{comments}");
    }
}
