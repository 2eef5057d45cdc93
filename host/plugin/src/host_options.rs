//! The settings of a [`crate::PluginHost`].

use crate::compile::{CompileLimits, CompileProgress, ComponentCompiler};
use std::path::PathBuf;
use std::sync::Arc;

/// Options of a [`crate::PluginHost`].
#[derive(Clone, Default)]
pub struct HostOptions {
    /// Folder of compiled components; if `None`, each process compiles them again.
    pub cache_folder: Option<PathBuf>,
    /// Process that compiles.
    pub compiler: ComponentCompiler,
    /// Maximum resources of a compilation.
    pub compile_limits: CompileLimits,
    /// Keeps the code of the functions of large components in the cache folder, and uses it when a rebuilt component has
    /// the same functions. Only a child process does so, and only for components of the user's own projects. Default
    /// false.
    pub reuses_functions: bool,
    /// Looks up a granted secret by name; default: the environment variable.
    pub secret: Option<fn(&str) -> Option<String>>,
    /// Callback for the progress of compilations.
    pub on_compile: Option<Arc<dyn Fn(CompileProgress<'_>) + Send + Sync>>,
}
