//! What commands begin with: the registry of plugins, and the suite.

use crate::arguments::ConfigArguments;
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal::{self, CompilingLine};
use anyhow::anyhow;
use gage_backend::{ModelProgram, OpenOptions};
use gage_config::{PipelineConfig, Problems, is_secret_name};
use gage_core::SECRET_MARK;
use gage_data::hub::{HubToken, ModelHub};
use gage_data::{LocateOptions, NoProgress};
use gage_observe::{LogSettings, init_logs};
use gage_plugin::{CompileProgress, ComponentCompiler, HostOptions, PluginHost, Registry, RegistryError};
use gage_suite::{LoadedSuite, SuiteError, secret_variables, without_default};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sends logs to the standard error stream.
///
/// # Errors
/// When the filter is not valid.
pub(crate) fn logs(filter: &str) -> Result<(), String> {
    init_logs(&LogSettings { filter: filter.to_owned(), ..LogSettings::default() }, std::io::stderr)
}

/// The argument by which this program is called to compile a component, as a child of itself.
pub(crate) const COMPILE: &str = "compile-component";

/// The argument by which this program is called to run a model, as a child of itself.
pub(crate) const SERVE_MODEL: &str = "serve-model";

/// The hub that models are fetched from, as the environment says.
pub(crate) fn model_hub() -> ModelHub {
    let variable = |name| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
    ModelHub {
        endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned()),
        token: hub_token(),
    }
}

/// The token that is sent to a hub.
pub(crate) fn hub_token() -> Option<HubToken> {
    let token = std::env::var("HF_TOKEN").ok().filter(|token| !token.trim().is_empty());
    token.map(|token| HubToken::new(&token))
}

/// What the backends of a command have in common.
pub(crate) fn opening(log: &str) -> OpenOptions {
    let arguments = vec![SERVE_MODEL.to_owned(), "--log".to_owned(), log.to_owned()];
    let model_program = std::env::current_exe().map(|program| ModelProgram { program, arguments });
    OpenOptions { model_program: model_program.ok(), ..OpenOptions::default() }
}

/// Sets up the engine of plugins. Without a folder for compiled components they are compiled
/// anew each time, which takes seconds and nothing else.
pub(crate) fn plugin_host(quiet: bool) -> anyhow::Result<PluginHost> {
    let line = CompilingLine::default();
    let options = HostOptions {
        cache_folder: cache_folder().map(|folder| folder.join("components")),
        compiler: match std::env::current_exe() {
            Ok(program) => ComponentCompiler::Child { program, arguments: vec![COMPILE.to_owned()] },
            Err(_) => ComponentCompiler::InProcess,
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

/// The folder that a variable names, or else the user's cache folder.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = environment::CACHE_FOLDERS.into_iter().find_map(set);
    named
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("gage-host")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/gage-host")))
}

/// How the datasets of a suite are found that are at hand: nothing is fetched.
pub(crate) fn at_hand(cache_folder: Option<&Path>, with_digests: bool) -> LocateOptions<'_> {
    LocateOptions {
        with_digests,
        cache_folder,
        is_offline: true,
        progress: &NoProgress,
        is_cancelled: &|| false,
    }
}

/// Reads a suite. What it leaves open may be said by variables of the environment.
pub(crate) fn suite(arguments: &ConfigArguments) -> anyhow::Result<(Option<PipelineConfig>, Problems)> {
    suite_at(&arguments.path(), &overrides(arguments, &Variables::default()))
}

/// The variables of the environment, as a suite takes them.
#[derive(Default)]
pub(crate) struct Variables {
    /// Those that need not be set, for nothing is sent.
    idle: BTreeSet<String>,
}

impl Variables {
    /// For answers that are played back: secrets of backends that have no default need not be set, and are then none.
    pub(crate) fn of_replay(arguments: &ConfigArguments) -> Variables {
        let mut idle = secret_variables(&arguments.path());
        let set = arguments.overrides.iter().filter(|text| text.contains("backend"));
        let set = set.flat_map(|text| without_default(text));
        idle.extend(set.filter(|name| is_secret_name(name)).map(str::to_owned));
        Variables { idle }
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let set = std::env::var(name).ok();
        set.or_else(|| self.idle.contains(name).then(|| SECRET_MARK.to_owned()))
    }
}

/// What the command line sets in a suite, and behind it what variables of the environment say where the suite says
/// nothing.
pub(crate) fn overrides(arguments: &ConfigArguments, variables: &Variables) -> Vec<String> {
    let said = loaded(&arguments.path(), &arguments.overrides, variables, false).config;
    let defaults = said.map(|config| environment::defaults_of(&config.document)).unwrap_or_default();
    [arguments.overrides.clone(), defaults].concat()
}

/// Reads the suite in a file, with values set on the command line.
pub(crate) fn suite_at(
    path: &Path,
    overrides: &[String],
) -> anyhow::Result<(Option<PipelineConfig>, Problems)> {
    let loaded = loaded(path, overrides, &Variables::default(), false);
    Ok((loaded.config, loaded.problems))
}

/// Reads the suite in a file, of whichever kind; with `datasets_only` it need not say what is done with the data.
pub(crate) fn loaded(
    path: &Path,
    overrides: &[String],
    variables: &Variables,
    datasets_only: bool,
) -> LoadedSuite {
    let mut loaded = gage_suite::load(path, overrides, &|name| variables.get(name), datasets_only);
    environment::name_variables(&mut loaded.problems);
    loaded
}

/// Whether a component, or a member of one, comes with the program.
pub(crate) fn is_bundled(name: &str) -> bool {
    let mut components = gage_plugin_bundle::COMPONENTS.iter();
    components.any(|component| component.name == name || component.members.contains(&name))
}

/// The folder of a run that is named by its folder, or by its id.
pub(crate) fn run_folder(named: &Path, root: &Path) -> PathBuf {
    if named.components().count() == 1 && !named.exists() { root.join(named) } else { named.to_owned() }
}

/// Says what is wrong with the files of a frozen suite.
///
/// # Errors
/// Where it is the machine that fails.
pub(crate) fn refuse_suite(error: SuiteError) -> anyhow::Result<ExitCode> {
    match &error {
        SuiteError::Document { problems, .. } => {
            terminal::show_problems(problems);
            Ok(ExitCode::Configuration)
        }
        other => Ok(terminal::usage_error(&other.to_string(), other.help())),
    }
}
