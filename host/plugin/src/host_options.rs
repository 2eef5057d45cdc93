//! The settings of a [`crate::PluginHost`].

use crate::compile::{CompileLimits, CompileProgress, ComponentCompiler};
use std::path::PathBuf;
use std::sync::Arc;

/// Checks that compiled code makes. Measurements of what one costs leave it out, and run trusted components only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompiledChecks {
    /// Counts fuel, and makes every NaN canonical.
    #[default]
    All,
    /// Counts no fuel, so guests run without limits of work and time.
    WithoutFuel,
    /// Keeps the bits that the processor gives a NaN, by which a guest can recognize the processor.
    WithoutCanonicalNan,
}

/// Options of a [`crate::PluginHost`].
#[derive(Clone, Default)]
pub struct HostOptions {
    /// Folder of compiled components; if `None`, each process compiles them again.
    pub cache_folder: Option<PathBuf>,
    /// Process that compiles.
    pub compiler: ComponentCompiler,
    /// Maximum resources of a compilation.
    pub compile_limits: CompileLimits,
    /// Checks of compiled code.
    pub checks: CompiledChecks,
    /// Keeps the code of the functions of large components in the cache folder, and uses it when a rebuilt component has
    /// the same functions. Only a child process does so, and only for components of the user's own projects. Default
    /// false.
    pub reuses_functions: bool,
    /// Looks up a granted secret by name; default: the environment variable.
    pub secret: Option<fn(&str) -> Option<String>>,
    /// Callback for the progress of compilations.
    pub on_compile: Option<Arc<dyn Fn(CompileProgress<'_>) + Send + Sync>>,
}
