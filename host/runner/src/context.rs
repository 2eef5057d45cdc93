//! Call context: folders and programs of the machine, the progress listener, and the cancellation token.

use crate::error::RunnerError;
use crate::progress::{NoProgress, RunEvent, RunProgress};
use crate::suite_defaults::{NoDefaults, SuiteDefaults};
use gage_backend::{ModelProgram, OpenOptions};
use gage_config::{HUB_TOKEN_VARIABLE, Permissions, hub_endpoint};
use gage_core::ShortageWatch;
use gage_data::LocateOptions;
use gage_data::hub::{HubProgress, ModelHub};
use gage_engine::CancelToken;
use gage_packages::{PackageStore, Trust};
use gage_plugin::{BundledComponent, CompileProgress, ComponentCompiler, HostOptions, PluginHost, Registry};
use gage_secrets::SecretString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Settings of the machine that runs the suite.
#[derive(Clone)]
pub struct HostSettings {
    /// Components that a suite can name without a file; default all first-party components.
    pub components: &'static [BundledComponent],
    /// Folders of the installation, in which optional components are looked for; default those of this program.
    pub installation_folders: Vec<PathBuf>,
    /// Folder for downloaded datasets, compiled components and answers; default [`user_cache_folder`].
    pub cache_folder: Option<PathBuf>,
    /// Component compiler; default in this process.
    pub compiler: ComponentCompiler,
    /// Whether rebuilt components reuse the code of their functions; only for components of the user's own projects.
    pub reuses_functions: bool,
    /// The program that runs models with llama.cpp; default the `gage-model` next to this program, or on `PATH`.
    pub model_program: ModelProgram,
    /// The hub that model files are downloaded from; default according to `HF_ENDPOINT` and `HF_TOKEN`.
    pub hub: ModelHub,
}

impl Default for HostSettings {
    fn default() -> HostSettings {
        HostSettings {
            components: gage_plugin_bundle::COMPONENTS,
            installation_folders: gage_core::installation_folders(),
            cache_folder: user_cache_folder(),
            compiler: ComponentCompiler::InProcess,
            reuses_functions: false,
            model_program: ModelProgram::default(),
            hub: ModelHub { endpoint: hub_endpoint(), token: hub_token() },
        }
    }
}

impl HostSettings {
    /// Returns true if a component, or a member of one, is among [`HostSettings::components`].
    pub(crate) fn is_bundled(&self, name: &str) -> bool {
        let mut components = self.components.iter().filter(|component| !component.is_internal);
        components.any(|component| component.name == name || component.members.contains(&name))
    }

    /// Returns the file of an optional component, by its name or that of a member, if it is installed.
    pub(crate) fn installed(&self, name: &str) -> Option<PathBuf> {
        let mut components = gage_plugin_bundle::OPTIONAL_COMPONENTS.iter();
        let named = components.find(|component| component.has_name(name))?;
        named.locate(&self.installation_folders).ok()
    }

    /// Returns the options for opening backends, without anything specific to a run.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions { model_program: self.model_program.clone(), ..OpenOptions::default() }
    }
}

fn variable(name: &str) -> Option<String> {
    gage_core::variable(name).filter(|text| !text.trim().is_empty())
}

/// Returns the hub token from `HF_TOKEN`.
pub fn hub_token() -> Option<SecretString> {
    variable(HUB_TOKEN_VARIABLE).map(|token| SecretString::new(HUB_TOKEN_VARIABLE, &token))
}

/// Returns the program's folder in the user's cache: `$XDG_CACHE_HOME/gage-host`, or else `~/.cache/gage-host`.
pub fn user_cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .map(|folder| folder.join("gage-host"))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/gage-host")))
}

/// Everything that a call needs apart from its request. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The machine's settings.
    pub host: HostSettings,
    /// The progress listener.
    pub progress: Arc<dyn RunProgress>,
    /// Cancels the call gracefully when set.
    pub stop: CancelToken,
    /// Defaults for values that a suite omits.
    pub defaults: Arc<dyn SuiteDefaults>,
    /// What suites may reach besides their own folders; default everything.
    pub permissions: Permissions,
    /// The plugins that may be loaded; default all.
    pub trust: Arc<Trust>,
}

impl Default for Context {
    fn default() -> Context {
        Context {
            host: HostSettings::default(),
            progress: Arc::new(NoProgress),
            stop: CancelToken::default(),
            defaults: Arc::new(NoDefaults),
            permissions: Permissions::default(),
            trust: Arc::default(),
        }
    }
}

impl Context {
    /// Returns what a suite may reach, by its file.
    pub fn permissions_of(&self, suite: &Path) -> Permissions {
        let folder = suite.parent().filter(|folder| !folder.as_os_str().is_empty());
        self.permissions.with_folder(folder.unwrap_or(Path::new(".")))
    }

    /// Starts the plugin engine. If the cache folder is unusable, each process compiles components again.
    ///
    /// # Errors
    /// Fails if the platform cannot run components.
    pub fn plugin_host(&self) -> Result<PluginHost, RunnerError> {
        let progress = Arc::clone(&self.progress);
        let options = HostOptions {
            cache_folder: self.host.cache_folder.as_ref().map(|folder| folder.join("components")),
            compiler: self.host.compiler.clone(),
            reuses_functions: self.host.reuses_functions,
            on_compile: Some(Arc::new(move |compiled: CompileProgress<'_>| {
                progress.on_event(&RunEvent::Compiling(compiled));
            })),
            ..HostOptions::default()
        };
        let shortages = ShortageWatch::start();
        PluginHost::new(&options).or_else(|message| {
            if shortages.shortage().is_some() {
                return Err(RunnerError::PluginHost(message));
            }
            tracing::warn!("{message}; plugins are compiled again in each process");
            PluginHost::new(&HostOptions { cache_folder: None, ..options }).map_err(RunnerError::PluginHost)
        })
    }

    /// Returns the store of packages from registries; `None` without a cache folder.
    pub fn packages(&self) -> Option<PackageStore> {
        self.host.cache_folder.as_ref().map(|folder| PackageStore::new(folder.join("plugins")))
    }

    /// Registers the bundled components, the optional ones of the installation, and those in some folders.
    ///
    /// # Errors
    /// Fails if the platform cannot run components, or a folder cannot be used, or the policy does not trust a component in it.
    pub fn registry(&self, plugin_folders: &[PathBuf]) -> Result<Registry, RunnerError> {
        let optional = gage_plugin_bundle::OPTIONAL_COMPONENTS;
        let mut registry = Registry::new(self.plugin_host()?, self.host.components)
            .with_packages(self.packages(), Arc::clone(&self.trust))
            .with_optional(optional, &self.host.installation_folders);
        for folder in plugin_folders {
            registry.add_folder(folder)?;
        }
        Ok(registry)
    }

    /// Returns the options for locating datasets and model files: with digests, and with downloads unless
    /// `is_offline`.
    pub(crate) fn locate_options<'o>(
        &'o self,
        is_offline: bool,
        fetching: &'o dyn HubProgress,
    ) -> LocateOptions<'o> {
        LocateOptions {
            with_digests: true,
            cache_folder: self.host.cache_folder.as_deref(),
            is_offline,
            progress: fetching,
            is_cancelled: &|| false,
        }
    }
}
