//! Loads a suite file of either kind as one configuration.

use crate::files;
use crate::run_config::{Folders, compile};
use crate::template::OtherTemplate;
use crate::{READY_SUITES, SuiteError, TemplateRef, placeholders};
use gage_config::{
    Environment, Node, Permissions, PipelineConfig, Problems, Purpose, SuiteChoices, apply_override,
    load_document, loader_of_file, parse_document, shown_path,
};
use gage_core::foreign_file;
use std::path::{Path, PathBuf};

/// What a suite gets from outside its file.
#[derive(Clone, Copy)]
pub struct SuiteInputs<'i> {
    /// Values that override those of the file: `tasks.0.max_samples=5`.
    pub overrides: &'i [String],
    /// Returns the values of variables.
    pub variable: &'i dyn Fn(&str) -> Option<String>,
    /// What the suite may reach.
    pub permissions: &'i Permissions,
}

/// Origin of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the suite: of its template, or else its own name, or its file's.
    pub name: String,
    /// The bound template.
    pub template: Option<TemplateRef>,
    /// Folder of the file, as `${config_dir}` is written.
    pub config_dir: String,
}

/// A suite that was read.
#[derive(Debug)]
pub struct LoadedSuite {
    /// The configuration, as far as it could be read.
    pub config: Option<PipelineConfig>,
    /// The origin, or `None` if it could not be read.
    pub origin: Option<Origin>,
    /// The file that was found instead of the bound template. The suite is unusable then.
    pub(crate) other_template: Option<OtherTemplate>,
    /// The errors and warnings.
    pub problems: Problems,
}

impl LoadedSuite {
    fn unusable(problems: Problems) -> LoadedSuite {
        LoadedSuite { config: None, origin: None, other_template: None, problems }
    }
}

/// Reads a PipelineConfig or a RunConfig.
pub fn load(path: &Path, inputs: &SuiteInputs<'_>, purpose: Purpose) -> LoadedSuite {
    read(path, inputs, purpose, &|folder| files::shown_folder(folder))
}

/// Reads a suite with `${config_dir}` unexpanded, so that the result does not depend on its location. The caller has loaded
/// the suite before: its files cannot be checked by their unexpanded paths, and none of them is opened.
pub(crate) fn portable(path: &Path, inputs: &SuiteInputs<'_>) -> Result<PipelineConfig, SuiteError> {
    let own = files::canonical_path(&files::folder_of(path));
    let spell = |folder: &Path| crate::rewrite_paths::spelled(&own, folder);
    let permissions = Permissions::default();
    let unchecked = SuiteInputs { permissions: &permissions, ..*inputs };
    let loaded = read(path, &unchecked, Purpose::Run, &spell);
    match loaded.config {
        Some(config) => Ok(config),
        None => Err(SuiteError::document(path, loaded.problems)),
    }
}

/// Returns the `runtime` of a RunConfig, with its own placeholders at their defaults, or `None` for other suites.
/// Errors are reported when the suite is loaded for use.
fn runtime_of(
    name: &str,
    text: &str,
    overrides: &[String],
    environment: &Environment<'_>,
    permissions: &Permissions,
) -> Option<Node> {
    let mut unreported = Problems::restricted(permissions.clone());
    let variable = |variable: &str| match variable.starts_with("runtime.") {
        true => Some(String::new()),
        false => (environment.variable)(variable),
    };
    let unfilled = Environment { variable: &variable, config_dir: environment.config_dir.clone() };
    let mut root = parse_document(name, text, Some(&unfilled), &mut unreported)?;
    if root.text_of("kind") != Some("RunConfig") {
        return None;
    }
    for text in overrides {
        apply_override(&mut root, text, &unfilled, &mut unreported);
    }
    root.get("runtime").filter(|runtime| !runtime.is_null()).cloned()
}

/// Returns true if an override targets `runtime` of a RunConfig, rather than the resulting suite.
fn is_of_runtime(text: &str) -> bool {
    let key = text.split('=').next().unwrap_or_default().trim();
    key == "runtime" || key.starts_with("runtime.")
}

/// Returns the models and prompts that a suite lists. Errors are reported when the suite is loaded.
pub fn choices(path: &Path, inputs: &SuiteInputs<'_>) -> SuiteChoices {
    let mut unreported = Problems::restricted(inputs.permissions.clone());
    let environment =
        Environment { variable: inputs.variable, config_dir: files::shown_folder(&files::folder_of(path)) };
    let text = foreign_file::read_named_text(path, files::MAX_SUITE_SIZE).unwrap_or_default();
    let root = parse_document(&path.display().to_string(), &text, Some(&environment), &mut unreported);
    root.map(|root| gage_config::choices(&root)).unwrap_or_default()
}

/// Returns the text of a suite. A file that cannot be read, or that holds rows, is an error.
fn text_of(path: &Path, problems: &mut Problems) -> Option<String> {
    let shown = shown_path(path);
    let text = match foreign_file::read_named_text(path, files::MAX_SUITE_SIZE) {
        Ok(text) => text,
        Err(error) => {
            let message = gage_core::system_message(&error);
            let problem = problems.error_without_place(format!("cannot read the suite {shown}: {message}"));
            if let Some(help) = help_for_missing(path) {
                problem.help(help);
            }
            return None;
        }
    };
    if is_data_file(path) {
        let help = format!("make a suite for it: gage-host new {}", path.display());
        problems.error_without_place(format!("{shown} is a data file, not a suite")).help(help);
        return None;
    }
    Some(text)
}

/// Returns whether a file holds rows by its name. A suite may be JSON.
fn is_data_file(path: &Path) -> bool {
    loader_of_file(path).is_some_and(|loader| loader != "json")
}

/// Maximum number of files whose names are compared with that of a missing suite.
const MAX_COMPARED_FILES: usize = 1_000;

/// Returns what to do about a path of no file.
fn help_for_missing(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    if let Some(near) = near_suite(path) {
        return Some(format!("did you mean {}?", near.display()));
    }
    let ready =
        path.to_str().and_then(|name| gage_core::nearest(name, READY_SUITES.iter().map(|suite| suite.name)));
    Some(match ready {
        Some(name) => format!("did you mean the ready suite {name}?"),
        None => "check the path, or name a ready suite that `gage-host suites list` prints".to_owned(),
    })
}

/// Returns the suite that a path of no file was most likely meant to name, from the same folder.
fn near_suite(path: &Path) -> Option<PathBuf> {
    let folder = files::folder_of(path);
    let name = path.file_name().filter(|_| !path.exists())?.to_str()?;
    let is_yaml = |name: &String| [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending));
    let entries = std::fs::read_dir(&folder).ok()?.flatten().take(MAX_COMPARED_FILES);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_yaml).collect();
    names.sort();
    let completed =
        || names.iter().find(|known| Path::new(known).file_stem().is_some_and(|stem| stem == name));
    let near = gage_core::nearest(name, names.iter().map(String::as_str));
    near.or_else(|| completed().map(String::as_str)).map(|near| path.with_file_name(near))
}

fn read(
    path: &Path,
    inputs: &SuiteInputs<'_>,
    purpose: Purpose,
    spell: &dyn Fn(&Path) -> String,
) -> LoadedSuite {
    let SuiteInputs { overrides, variable, permissions } = *inputs;
    let mut problems = Problems::restricted(permissions.clone());
    let Some(text) = text_of(path, &mut problems) else { return LoadedSuite::unusable(problems) };
    let own = files::folder_of(path);
    let config_dir = spell(&own);
    let environment = Environment { variable, config_dir: config_dir.clone() };
    let name = path.display().to_string();
    let (of_runtime, of_suite): (Vec<String>, Vec<String>) =
        overrides.iter().cloned().partition(|text| is_of_runtime(text));
    // Placeholders in a RunConfig are filled with its own values, as those of its template are.
    let runtime = runtime_of(&name, &text, &of_runtime, &environment, permissions);
    let filling = |name: &str| match &runtime {
        Some(runtime) if name.starts_with("runtime.") => placeholders::mark(name, Some(runtime)),
        _ => variable(name),
    };
    let filling = Environment { variable: &filling, config_dir: config_dir.clone() };
    let Some(mut root) = parse_document(&name, &text, Some(&filling), &mut problems) else {
        return LoadedSuite::unusable(problems);
    };
    let is_run_config = root.text_of("kind") == Some("RunConfig");
    if is_run_config {
        for text in &of_runtime {
            apply_override(&mut root, text, &filling, &mut problems);
        }
    }
    let overrides = if is_run_config { of_suite.as_slice() } else { overrides };
    if let Some(runtime) = &runtime {
        placeholders::check_values(runtime, &mut problems);
        placeholders::fill(&mut root, runtime, &mut problems);
    }
    let mut template = None;
    if is_run_config {
        let folders = Folders { own: &own, spell };
        let mut other_template = None;
        match compile(&root, &folders, variable, &mut other_template, &mut problems) {
            Some((document, reference)) => {
                root = document;
                template = Some(reference);
            }
            None => return LoadedSuite { other_template, ..LoadedSuite::unusable(problems) },
        }
    }
    let own_name = root.get("metadata").and_then(|node| node.get("name")).and_then(Node::as_text);
    let own_name = own_name.map(str::to_owned);
    let config = load_document(root, overrides, &environment, purpose, &mut problems);
    let name = name_of(path, template.as_ref(), own_name, config.as_ref());
    LoadedSuite {
        config,
        origin: Some(Origin { name, template, config_dir }),
        other_template: None,
        problems,
    }
}

/// Returns the name of a suite: from an override, which makes it a different suite, or else of its template, its
/// own name, or its file's.
fn name_of(
    path: &Path,
    template: Option<&TemplateRef>,
    own_name: Option<String>,
    config: Option<&PipelineConfig>,
) -> String {
    let set_name = config.and_then(|config| config.name.clone());
    match (template, set_name.filter(|name| Some(name) != own_name.as_ref())) {
        (_, Some(name)) => name,
        (Some(reference), None) => reference.name.clone(),
        (None, None) => own_name.unwrap_or_else(|| {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        }),
    }
}
