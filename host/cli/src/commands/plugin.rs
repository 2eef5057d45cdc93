//! `gage-host plugin`: commands for authors and users of plugins.

mod add;
mod archive;
mod bench;
mod build;
mod claims;
mod diff;
mod inspect;
mod keys;
mod outdated;
mod package;
mod pull;
mod push;
mod registry_plugins;
mod sign;
mod signers;
mod test;
mod update;
mod upgrade;
mod verify;
mod watch;
mod whole_file;

pub(crate) use inspect::describe_member;

use super::permissions::{permissions, trust};
use super::setup;
use crate::arguments::{CompileArguments, DEFAULT_LOG, PermissionArguments, PluginCommand};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Purpose;
use gage_core::Digest;
use gage_packages::{PackageOrigin, signatures_beside};
use gage_plugin::{
    AnyComponent, ComponentSummary, InstanceSetup, Limits, LoadError, PluginHost, RegistryError, summarise,
};
use gage_plugin_tools::{Project, ToolError};
use gage_signature::Subject;
use gage_suite::LoadedSuite;
use keys::refuse_signature_file;
use registry_plugins::check_trust;
use std::path::{Path, PathBuf};

pub(crate) fn execute(command: &PluginCommand) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    match command {
        PluginCommand::New(arguments) => build::new(arguments),
        PluginCommand::Build(arguments) => build::build(arguments),
        PluginCommand::Lock(arguments) => build::lock(arguments),
        PluginCommand::Inspect(arguments) => inspect::inspect(arguments),
        PluginCommand::Test(arguments) => test::test(arguments),
        PluginCommand::Bench(arguments) => bench::bench(arguments),
        PluginCommand::Upgrade(arguments) => upgrade::upgrade(arguments),
        PluginCommand::Push(arguments) => push::push(arguments),
        PluginCommand::Pull(arguments) => pull::pull(arguments),
        PluginCommand::Sign(arguments) => sign::sign(arguments),
        PluginCommand::Verify(arguments) => verify::verify(arguments),
        PluginCommand::Export(arguments) => archive::export(arguments),
        PluginCommand::Import(arguments) => archive::import(arguments),
        PluginCommand::Add(arguments) => add::add(arguments),
        PluginCommand::Outdated(arguments) => outdated::outdated(arguments),
        PluginCommand::Update(arguments) => update::update(arguments),
        PluginCommand::Diff(arguments) => diff::diff(arguments),
    }
}

/// Compiles a component for the calling process.
pub(crate) fn compile(arguments: &CompileArguments) -> anyhow::Result<ExitCode> {
    match gage_plugin::compile_from_stdin(
        arguments.memory_bytes,
        arguments.seconds,
        arguments.functions.as_deref(),
    ) {
        Ok(()) => Ok(ExitCode::Done),
        Err(message) => {
            // The caller forwards this message, so it has no prefix.
            terminal::eprint_line(message);
            Ok(ExitCode::Configuration)
        }
    }
}

/// Returns the selected component: the named one, or that of the project in the named or the working folder.
fn file_of(named: Option<&Path>) -> Result<PathBuf, ExitCode> {
    if let Some(file) = named.filter(|named| !named.is_dir()) {
        return Ok(file.to_owned());
    }
    let folder = named.unwrap_or(Path::new("."));
    let component = Project::read(folder).map_err(|error| refuse_tool(&error))?.component();
    if component.is_file() {
        return Ok(component);
    }
    let message = format!("there is no {} yet", component.display());
    Err(terminal::usage_error(&message, Some("build it with `gage-host plugin build`")))
}

/// Starts the plugin engine for a component. One that a project of this machine has built reuses the code of its
/// earlier builds.
fn host_for(file: &Path, quiet: bool) -> anyhow::Result<PluginHost> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_own =
        Project::read(folder).is_ok_and(|project| project.component().file_name() == file.file_name());
    setup::plugin_host(quiet, is_own)
}

/// Returns where a component comes from. A name without a file is that of a built-in component.
fn origin_of(file: &Path) -> PackageOrigin<'_> {
    if file.is_file() { PackageOrigin::File(file) } else { PackageOrigin::Bundled }
}

/// Loads a component for its description, without grants, if the policy trusts it.
pub(crate) fn load_described(file: &Path, quiet: bool) -> anyhow::Result<(ComponentSummary, AnyComponent)> {
    let setup = InstanceSetup { is_only_described: true, ..InstanceSetup::default() };
    let name = file.display().to_string();
    let bytes = read(file, &setup)?;
    let signatures = signatures_beside(file).map_err(|error| refuse_signature_file(file, &error))?;
    let subject = Subject { component: Digest::of_bytes(&bytes), manifest: None, name: name.clone() };
    check_trust(&*trust()?, origin_of(file), &subject, &signatures)?;
    let summary = summarise(&name, &bytes).map_err(|error| refuse_load(&error))?;
    let host = host_for(file, quiet)?;
    let loaded = AnyComponent::load(&host, &name, &bytes, &setup).map_err(|error| refuse_load(&error))?;
    Ok((summary, loaded))
}

/// Reads a component file. If it does not exist, the name may refer to a bundled or an optional component.
fn read(file: &Path, instance: &InstanceSetup) -> Result<Vec<u8>, ExitCode> {
    let bundled = gage_plugin_bundle::COMPONENTS.iter().find(|bundled| Path::new(bundled.name) == file);
    if let (Some(bundled), false) = (bundled, file.exists()) {
        return Ok(bundled.bytes.to_vec());
    }
    let mut optional = gage_plugin_bundle::OPTIONAL_COMPONENTS.iter();
    let installed = match optional.find(|optional| Path::new(optional.name) == file) {
        Some(optional) if !file.exists() => {
            let located = optional.locate(&gage_core::installation_folders());
            Some(located.map_err(|error| setup::refuse_plugin(&error))?)
        }
        _ => None,
    };
    let file = installed.as_deref().unwrap_or(file);
    gage_plugin::read_component(file, Limits::of_interpreter().with(&instance.limits).component_bytes)
        .map_err(|error| setup::refuse_plugin(&error))
}

fn refuse_load(error: &LoadError) -> ExitCode {
    terminal::usage_error(&error.to_string(), error.help.as_deref())
}

fn refuse_tool(error: &ToolError) -> ExitCode {
    terminal::usage_error(&error.message, error.help.as_deref())
}

/// Returns the settings for running the component, from the suite entry that names its file.
fn setup_for(
    file: &Path,
    config: Option<&Path>,
    granted: &PermissionArguments,
) -> Result<InstanceSetup, ExitCode> {
    let source = Some(file.display().to_string());
    let Some(path) = config else { return Ok(InstanceSetup { source, ..InstanceSetup::default() }) };
    let permissions = permissions(granted)?;
    let LoadedSuite { config, problems, .. } = setup::loaded(path, &[], &permissions, Purpose::Plugins);
    if problems.resources.is_refused() {
        terminal::show_problems(&problems);
        return Err(ExitCode::Configuration);
    }
    let settled = file.canonicalize().ok();
    let is_this = |plugin: &&gage_config::PluginSpec| match &plugin.source {
        gage_config::PluginSource::File(other) => settled.is_some() && other.canonicalize().ok() == settled,
        gage_config::PluginSource::Bundled(name) => Path::new(name) == file && !file.exists(),
        gage_config::PluginSource::Registry(reference) => Path::new(&reference.to_string()) == file,
    };
    let entry = config.as_ref().and_then(|config| config.plugins.iter().find(is_this));
    let Some(entry) = entry else {
        terminal::show_problems(&problems);
        let message = format!("no entry of `plugins` in {} names {}", path.display(), file.display());
        let help = "name the file as the suite does, or leave --config out";
        return Err(terminal::usage_error(&message, Some(help)));
    };
    let (limits, grants) = (entry.limits.clone(), entry.grants.clone());
    let instance = InstanceSetup { source, limits, grants, ..InstanceSetup::default() };
    if let Some(wanted) = entry.sha256 {
        let found = Digest::of_bytes(&read(file, &instance)?);
        if wanted != found {
            let error = RegistryError::Digest { path: file.to_owned(), wanted, found };
            return Err(setup::refuse_plugin(&error));
        }
    }
    Ok(instance)
}
