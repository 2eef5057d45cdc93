//! The sandbox of this crate's tests.

use crate::sandbox::TemplateSandbox;
use gage_plugin::{HostOptions, PluginHost, Registry};
use std::sync::OnceLock;

/// Returns the component, which is compiled once for all tests.
pub(crate) fn sandbox() -> &'static TemplateSandbox {
    static SANDBOX: OnceLock<TemplateSandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let host = PluginHost::new(&HostOptions::default()).expect("an engine");
        let registry = Registry::new(host, gage_plugin_bundle::COMPONENTS);
        TemplateSandbox::load(&registry).expect("a component")
    })
}
