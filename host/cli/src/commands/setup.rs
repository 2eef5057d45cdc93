//! Setup shared by commands: the library's context, the plugin registry, the suite.

use super::listener::Listener;
use super::permissions::{permissions, trust};
use crate::arguments::{COMPILE, ConfigArguments, DEFAULT_LOG};
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_backend::ModelProgram;
use gage_config::{Permissions, PipelineConfig, Problems, Purpose};
use gage_data::{LocateOptions, NoProgress};
use gage_observe::{LogError, LogSettings, init_logs};
use gage_plugin::{ComponentCompiler, PluginHost, Registry, RegistryError};
use gage_record::format::MANIFEST_FILE;
use gage_runner::{
    CancelToken, Context, HostSettings, RunProgress, RunnerError, SuiteDefaults, SuiteSource, Variables,
};
use gage_suite::{LoadedSuite, SuiteError};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sends logs to the standard error stream.
///
/// # Errors
/// Fails if the filter is invalid.
pub(crate) fn logs(filter: &str) -> Result<(), LogError> {
    init_logs(
        &LogSettings { filter: filter.to_owned(), ..LogSettings::default() },
        terminal::stderr_around_view,
    )
}

/// Creates the library's context. `log` is the filter for model logs. It restricts neither suites nor plugins.
pub(crate) fn context(progress: Arc<dyn RunProgress>, stop: CancelToken, log: &str) -> Context {
    let program = std::env::current_exe().ok();
    let host = HostSettings {
        cache_folder: environment::cache_folder(),
        compiler: match program {
            Some(program) => ComponentCompiler::Child { program, arguments: vec![COMPILE.to_owned()] },
            None => ComponentCompiler::InProcess,
        },
        model_program: ModelProgram { file: None, log_filter: Some(log.to_owned()) },
        ..HostSettings::default()
    };
    Context {
        host,
        progress,
        stop,
        defaults: Arc::new(VariableDefaults),
        permissions: Permissions::default(),
        trust: Arc::default(),
    }
}

/// Creates the context of a command that runs nothing. It restricts neither suites nor plugins.
pub(crate) fn plain_context(quiet: bool) -> Context {
    context(Arc::new(Listener::new(quiet)), CancelToken::default(), DEFAULT_LOG)
}

/// Returns the program that runs local models.
pub(crate) fn model_program() -> ModelProgram {
    ModelProgram { file: None, log_filter: Some(DEFAULT_LOG.to_owned()) }
}

/// Defaults from environment variables for values that a suite omits.
struct VariableDefaults;

impl SuiteDefaults for VariableDefaults {
    fn overrides(&self, document: &Value) -> Vec<String> {
        environment::defaults_of(document)
    }

    fn rename_sources(&self, problems: &mut Problems) {
        environment::name_variables(problems);
    }
}

/// Starts the plugin engine. Without a folder for compiled components, each start recompiles them, which takes
/// seconds. `reuses_functions` is only for components of the user's own projects.
pub(crate) fn plugin_host(quiet: bool, reuses_functions: bool) -> anyhow::Result<PluginHost> {
    let mut context = plain_context(quiet);
    context.host.reuses_functions = reuses_functions;
    Ok(context.plugin_host()?)
}

/// Registers the bundled components, and those of some folders, for a command that scores nothing. Packages need no digest,
/// because a lock may pin them before they score.
///
/// # Errors
/// Fails if a folder has an error, which is printed, or the machine fails.
pub(crate) fn registry(plugin_folders: &[PathBuf], quiet: bool) -> anyhow::Result<Registry> {
    let trust = Arc::new(trust()?.allowing_unpinned());
    let context = Context { trust, ..plain_context(quiet) };
    context.registry(plugin_folders).map_err(|error| match error {
        RunnerError::Plugins(error) => refuse_plugin(&error).into(),
        error => error.into(),
    })
}

/// Prints the error of a component or a folder of components.
pub(crate) fn refuse_plugin(error: &RegistryError) -> ExitCode {
    let code = terminal::usage_error(&error.to_string(), error.help().as_deref());
    if matches!(error, RegistryError::Untrusted(_)) { ExitCode::LockMismatch } else { code }
}

/// Returns the exit code of a suite with errors.
pub(crate) fn code_of(problems: &Problems) -> ExitCode {
    match problems.has_untrusted_plugin() {
        true => ExitCode::LockMismatch,
        false => ExitCode::Configuration,
    }
}

/// Returns the suite of the command line as the library's source.
pub(crate) fn source(arguments: &ConfigArguments) -> SuiteSource {
    SuiteSource {
        path: arguments.file(),
        overrides: arguments.all_overrides(),
        plugin_folders: arguments.plugin_folders.clone(),
    }
}

/// Returns the options for locating local datasets, without downloads.
pub(crate) fn at_hand(cache_folder: Option<&Path>, with_digests: bool) -> LocateOptions<'_> {
    LocateOptions {
        with_digests,
        cache_folder,
        is_offline: true,
        progress: &NoProgress,
        is_cancelled: &|| false,
    }
}

/// Reads a suite, with defaults from environment variables.
///
/// # Errors
/// If the permissions of the suite cannot be determined. The message is printed.
pub(crate) fn suite(arguments: &ConfigArguments) -> Result<(Option<PipelineConfig>, Problems), ExitCode> {
    let permissions = permissions(&arguments.permissions)?;
    let context = Context { permissions: permissions.clone(), ..plain_context(true) };
    let overrides = context.all_overrides(&source(arguments), &Variables::default());
    let loaded = loaded(&arguments.file(), &overrides, &permissions, Purpose::Run);
    Ok((loaded.config, loaded.problems))
}

/// Reads the suite in a file, of either kind. `permissions` are those besides its own folder.
pub(crate) fn loaded(
    path: &Path,
    overrides: &[String],
    permissions: &Permissions,
    purpose: Purpose,
) -> LoadedSuite {
    let context = Context { permissions: permissions.clone(), ..plain_context(true) };
    context.load(path, overrides, &Variables::default(), purpose)
}

/// Returns the folder of a run, given its folder or its id. An id wins over a folder of the same name that is no run.
pub(crate) fn run_folder(named: &Path, root: &Path) -> PathBuf {
    let (by_id, is_run) = (root.join(named), named.join(MANIFEST_FILE).exists());
    let may_be_id = named.components().count() == 1 && !is_run;
    if may_be_id && (by_id.exists() || !named.exists()) { by_id } else { named.to_owned() }
}

/// Prints the error of a frozen suite's files.
pub(crate) fn refuse_suite(error: SuiteError) -> ExitCode {
    match &error {
        SuiteError::Document { problems, .. } => {
            terminal::show_problems(problems);
            ExitCode::Configuration
        }
        other => terminal::usage_error(&other.to_string(), other.help()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_named_by_its_folder_or_its_id() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("runs");
        std::fs::create_dir_all(root.join("known")).expect("a run");
        assert_eq!(run_folder(Path::new("known"), &root), root.join("known"));
        assert_eq!(run_folder(Path::new("unknown"), &root), root.join("unknown"));
        let named = root.join("known");
        assert_eq!(run_folder(&named, Path::new("elsewhere")), named);
        // Tests run in the folder of this package, in which `src` is a folder without a run.
        std::fs::create_dir(root.join("src")).expect("a run");
        assert_eq!(run_folder(Path::new("src"), &root), root.join("src"));
        assert_eq!(run_folder(Path::new("src"), Path::new("elsewhere")), Path::new("src"));
    }
}
