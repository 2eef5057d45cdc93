//! What commands begin with: the registry of plugins, and the suite.

use crate::arguments::ConfigArguments;
use anyhow::anyhow;
use gage_config::{Environment, PipelineConfig, Problems, load, shown_path};
use gage_observe::{LogFormat, init_logs};
use gage_plugin::{HostOptions, Limits, PluginHost, Registry};
use std::path::{Path, PathBuf};

/// Sends logs to the standard error stream.
///
/// # Errors
/// When the filter is not valid.
pub(crate) fn logs(filter: &str) -> Result<(), String> {
    init_logs(filter, LogFormat::Text, std::io::stderr)
}

/// Sets up the engine of plugins. Without a folder for compiled components they are compiled
/// anew each time, which takes seconds and nothing else.
pub(crate) fn registry() -> anyhow::Result<Registry> {
    let folder = cache_folder();
    let host = match PluginHost::new(&HostOptions {
        cache_folder: folder.map(|folder| folder.join("components")),
    }) {
        Ok(host) => host,
        Err(message) => {
            tracing::warn!("{message}; plugins are compiled anew in each process");
            PluginHost::new(&HostOptions::default()).map_err(|message| anyhow!(message))?
        }
    };
    Ok(Registry::new(host, Limits::default(), gage_plugin_bundle::COMPONENTS))
}

/// `$GAGE_HOST_CACHE_DIR`, or else the user's cache folder.
fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("GAGE_HOST_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("gage-host")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/gage-host")))
}

/// Reads a suite.
pub(crate) fn suite(arguments: &ConfigArguments) -> anyhow::Result<(Option<PipelineConfig>, Problems)> {
    let path = arguments.path();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let mut problems = Problems::default();
            let message = format!("cannot read the suite {}: {error}", shown_path(&path));
            problems.error_without_place(message);
            return Ok((None, problems));
        }
    };
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment { variable: &variable, config_dir: folder_of(&path) };
    Ok(load(&path.display().to_string(), &text, &arguments.overrides, &environment))
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
