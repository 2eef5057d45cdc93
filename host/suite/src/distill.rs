//! Distills a PipelineConfig into a template.

use crate::rewrite_paths::rebase;
use crate::secrets;
use crate::template::{BuiltinTemplate, digest_of, number_of, versions};
use crate::{SuiteError, files, yaml};
use gage_config::{Node, NodeValue, Problems, expand_short_form, parse_document};
use gage_core::Digest;
use std::path::{Path, PathBuf};

/// Options for freezing a suite.
#[derive(Clone, Debug)]
pub struct DistillOptions<'o> {
    /// The PipelineConfig.
    pub config: &'o Path,
    /// Name of the template.
    pub name: &'o str,
    /// The version, `v2` or `2`; default the next one.
    pub version: Option<&'o str>,
    /// True if several tasks may become one template.
    pub force_merge: bool,
    /// Folder of all templates.
    pub templates: &'o Path,
}

/// Kind of template, by its number of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    /// One task.
    Atomic,
    /// Several tasks, as requested.
    Monolithic,
}

impl Mode {
    /// Returns the name in printed output.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A distilled template.
#[derive(Clone, Debug)]
pub struct DistilledTemplate {
    /// Path of its file.
    pub path: PathBuf,
    /// The version.
    pub version: String,
    /// The digest of its definition.
    pub digest: Digest,
    /// Kind of template.
    pub mode: Mode,
    /// The paths of its parameters.
    pub parameters: Vec<String>,
    /// Secrets removed from the suite's text, each with the variable that replaces it.
    pub removed: Vec<(String, String)>,
    /// True if it was written; false if an equal template already existed.
    pub is_new: bool,
}

/// Distills a suite into a template. The caller must have validated the suite.
///
/// # Errors
/// Fails if the suite is not a PipelineConfig, or has several tasks that may not be merged. Also fails if the
/// version is taken, or a file cannot be read or written.
pub fn distill(options: &DistillOptions<'_>) -> Result<DistilledTemplate, SuiteError> {
    gage_core::check_name(options.name)
        .map_err(|message| SuiteError::refused(format!("the name {message}"), "write it like piqa_suite"))?;
    let mut definition = raw(options.config)?;
    if definition.get("kind").and_then(Node::as_text) != Some("PipelineConfig") {
        return Err(SuiteError::refused(
            format!("{} is not a PipelineConfig, and only these can be frozen", options.config.display()),
            "a RunConfig binds a template already; make a suite of that template with `gage-host init --mode \
             pipeline-config`",
        ));
    }
    let mode = mode_of(&definition, options.force_merge)?;
    prune(&mut definition);
    let folder = options.templates.join(options.name);
    rebase(&mut definition, &files::folder_of(options.config), &folder);
    let removed = secrets::remove(&mut definition);
    // Parsed again, so that the digest is that of the written text.
    let definition = parse(options.config, &yaml::of_node(&definition), false)?;
    let digest = digest_of(&definition);

    let known = versions(&folder);
    let number = match options.version {
        Some(version) => number_of(version).ok_or_else(|| {
            SuiteError::refused(format!("`{version}` is not a version"), "versions are v1, v2 and so on")
        })?,
        None => known.last().map_or(1, |last| last + 1),
    };
    let found = |path: PathBuf, version: String, is_new| DistilledTemplate {
        path,
        version,
        digest,
        mode,
        parameters: crate::parameters::infer(&definition).into_iter().map(|one| one.name).collect(),
        removed: removed.clone(),
        is_new,
    };
    if let (None, Some(last)) = (options.version, known.last()) {
        let path = folder.join(format!("v{last}.yaml"));
        if BuiltinTemplate::read(&path).is_ok_and(|template| template.reference.digest == digest) {
            return Ok(found(path, format!("v{last}"), false));
        }
    }
    let version = format!("v{number}");
    let path = folder.join(format!("{version}.yaml"));
    let text = BuiltinTemplate::compose(options.name, &version, mode == Mode::Monolithic, &definition);
    files::write_new(&path, &text)?;
    // An unreadable template must not be kept.
    if let Err(error) = BuiltinTemplate::read(&path) {
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(found(path, version, true))
}

/// Parses a suite without expanding its variables.
fn raw(path: &Path) -> Result<Node, SuiteError> {
    parse(path, &files::read(path)?, true)
}

/// Parses a text without expanding variables. The short form of a suite becomes the long form if wanted.
fn parse(path: &Path, text: &str, to_long_form: bool) -> Result<Node, SuiteError> {
    let mut problems = Problems::default();
    let mut parsed = parse_document(&path.display().to_string(), text, None, &mut problems);
    if let Some(root) = parsed.as_mut().filter(|_| to_long_form) {
        expand_short_form(root, None, &mut problems);
    }
    match parsed {
        Some(node) if !problems.has_errors() => Ok(node),
        _ => Err(SuiteError::document(path, problems)),
    }
}

fn mode_of(config: &Node, force_merge: bool) -> Result<Mode, SuiteError> {
    let count = |key: &str| config.get(key).and_then(Node::as_list).map_or(0, <[Node]>::len);
    // Without tasks there is one for each dataset.
    let tasks = if count("tasks") > 0 { count("tasks") } else { count("datasets") };
    match (tasks, force_merge) {
        (0 | 1, _) => Ok(Mode::Atomic),
        (_, true) => Ok(Mode::Monolithic),
        (_, false) => Err(SuiteError::refused(
            format!("the suite has {tasks} tasks, but a template has one"),
            "split it into a suite for each task, or freeze them together with --force-merge",
        )),
    }
}

/// Removes keys that identify the kind of document, and empty sections.
fn prune(definition: &mut Node) {
    let is_empty = |node: &Node| match &node.value {
        NodeValue::Null => true,
        NodeValue::List(items) => items.is_empty(),
        NodeValue::Map(entries) => entries.is_empty(),
        _ => false,
    };
    if let Some(entries) = definition.entries_mut() {
        entries
            .retain(|entry| !["api_version", "kind"].contains(&entry.key.as_str()) && !is_empty(&entry.node));
    }
}
