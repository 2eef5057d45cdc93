//! The settings of a [`crate::PluginHost`].

use crate::compile::{CompileLimits, CompileProgress, ComponentCompiler};
use std::path::PathBuf;
use std::sync::Arc;

/// How a [`crate::PluginHost`] is set up.
#[derive(Clone, Default)]
pub struct HostOptions {
    /// Where compiled components are kept; without it each process compiles anew.
    pub cache_folder: Option<PathBuf>,
    /// Who compiles.
    pub compiler: ComponentCompiler,
    /// How much a compilation may use.
    pub compile_limits: CompileLimits,
    /// Compiles code that counts neither fuel nor time, to measure what counting costs; nothing ends
    /// a guest then, so this is for components that are trusted. Default no.
    pub uncounted: bool,
    /// The value of a granted secret, by name; default: the environment variable.
    pub secret: Option<fn(&str) -> Option<String>>,
    /// Told how a compilation goes.
    pub on_compile: Option<Arc<dyn Fn(CompileProgress<'_>) + Send + Sync>>,
}
