//! What commands begin with: the registry of plugins, and the suite.

use crate::arguments::ConfigArguments;
use anyhow::{Context as _, anyhow};
use gage_config::{Environment, PipelineConfig, Problems, load};
use gage_plugin::{HostOptions, Limits, PluginHost, Registry};
use std::path::{Path, PathBuf};

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
            let resolved = std::path::absolute(&path).with_context(|| path.display().to_string())?;
            let message = format!(
                "cannot read the suite '{}' (that is {}): {error}",
                path.display(),
                resolved.display()
            );
            problems.error_without_place(message);
            return Ok((None, problems));
        }
    };
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment { variable: &variable, config_dir: folder_of(&path) };
    Ok(load(&path.display().to_string(), &text, &arguments.overrides, &environment))
}

fn folder_of(path: &Path) -> String {
    match path.parent().map(|folder| folder.display().to_string()) {
        Some(folder) if !folder.is_empty() => folder,
        _ => ".".to_owned(),
    }
}
