//! The component that renders templates, compiled once for all targets.

use crate::campaign::results_folder;
use gage_plugin::{HostOptions, PluginHost, Registry};
use gage_template::TemplateSandbox;
use std::sync::OnceLock;

/// Returns the component.
///
/// # Errors
/// If it cannot be compiled.
pub fn template_sandbox() -> Result<&'static TemplateSandbox, String> {
    static SANDBOX: OnceLock<Result<TemplateSandbox, String>> = OnceLock::new();
    let load = || {
        let cache_folder = Some(results_folder().join("components"));
        let host = PluginHost::new(&HostOptions { cache_folder, ..HostOptions::default() })?;
        let registry = Registry::new(host, gage_plugin_bundle::COMPONENTS);
        TemplateSandbox::load(&registry).map_err(|error| error.to_string())
    };
    SANDBOX.get_or_init(load).as_ref().map_err(String::clone)
}
