//! What commands begin with: the registry of plugins, and the suite.

use crate::arguments::ConfigArguments;
use crate::terminal::CompilingLine;
use anyhow::anyhow;
use gage_backend::{ModelProgram, OpenOptions};
use gage_config::{Environment, PipelineConfig, Problems, load, shown_path};
use gage_observe::{LogFormat, init_logs};
use gage_plugin::{CompileProgress, Compiler, HostOptions, PluginHost, Registry, RegistryError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sends logs to the standard error stream.
///
/// # Errors
/// When the filter is not valid.
pub(crate) fn logs(filter: &str) -> Result<(), String> {
    init_logs(filter, LogFormat::Text, std::io::stderr)
}

/// The argument by which this program is called to compile a component, as a child of itself.
pub(crate) const COMPILE: &str = "compile-component";

/// The argument by which this program is called to run a model, as a child of itself.
pub(crate) const SERVE_MODEL: &str = "serve-model";

/// What the backends of a command have in common.
pub(crate) fn opening(log: &str) -> OpenOptions {
    let arguments = vec![SERVE_MODEL.to_owned(), "--log".to_owned(), log.to_owned()];
    let model_program = std::env::current_exe().map(|program| ModelProgram { program, arguments });
    OpenOptions { model_program: model_program.ok() }
}

/// Sets up the engine of plugins. Without a folder for compiled components they are compiled
/// anew each time, which takes seconds and nothing else.
pub(crate) fn plugin_host(quiet: bool) -> anyhow::Result<PluginHost> {
    let line = CompilingLine::default();
    let options = HostOptions {
        cache_folder: cache_folder().map(|folder| folder.join("components")),
        compiler: match std::env::current_exe() {
            Ok(program) => Compiler::Child { program, arguments: vec![COMPILE.to_owned()] },
            Err(_) => Compiler::InProcess,
        },
        on_compile: (!quiet).then(|| Arc::new(move |progress: CompileProgress<'_>| line.note(progress)) as _),
        ..HostOptions::default()
    };
    match PluginHost::new(&options) {
        Ok(host) => Ok(host),
        Err(message) => {
            tracing::warn!("{message}; plugins are compiled anew in each process");
            PluginHost::new(&HostOptions { cache_folder: None, ..options })
                .map_err(|message| anyhow!(message))
        }
    }
}

/// The components that come with the program, and those of some folders.
///
/// # Errors
/// The inner one: what is wrong with a folder.
pub(crate) fn registry(
    plugin_folders: &[PathBuf],
    quiet: bool,
) -> anyhow::Result<Result<Registry, RegistryError>> {
    let mut registry = Registry::new(plugin_host(quiet)?, gage_plugin_bundle::COMPONENTS);
    for folder in plugin_folders {
        if let Err(error) = registry.add_folder(folder) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(registry))
}

/// `$GAGE_CACHE_DIR`, or else the user's cache folder.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("GAGE_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("gage-host")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/gage-host")))
}

/// Reads a suite.
pub(crate) fn suite(arguments: &ConfigArguments) -> anyhow::Result<(Option<PipelineConfig>, Problems)> {
    suite_at(&arguments.path(), &arguments.overrides)
}

/// Reads the suite in a file, with values set on the command line.
pub(crate) fn suite_at(
    path: &Path,
    overrides: &[String],
) -> anyhow::Result<(Option<PipelineConfig>, Problems)> {
    Ok(suite_with(path, overrides, load))
}

/// How a suite is read from its text.
type Load = fn(&str, &str, &[String], &Environment<'_>) -> (Option<PipelineConfig>, Problems);

/// Reads the suite in a file in one of the ways that there are.
pub(crate) fn suite_with(
    path: &Path,
    overrides: &[String],
    load: Load,
) -> (Option<PipelineConfig>, Problems) {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let mut problems = Problems::default();
            let message = format!("cannot read the suite {}: {error}", shown_path(path));
            problems.error_without_place(message);
            return (None, problems);
        }
    };
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment { variable: &variable, config_dir: folder_of(path) };
    load(&path.display().to_string(), &text, overrides, &environment)
}

/// The folder of a suite, relative to the working folder where it lies below it: the same text
/// however the suite's path was spelled.
fn folder_of(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let settled = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    match here.ok().and_then(|here| settled.strip_prefix(here).map(Path::to_owned).ok()) {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => below.display().to_string(),
        None => settled.display().to_string(),
    }
}
