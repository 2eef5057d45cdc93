//! `gage-host plugin new`, `gage-host plugin build` and `gage-host plugin lock`.

use super::refuse_tool;
use crate::arguments::{BuildArguments, NewArguments, PluginLockArguments};
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::printable_line;
use gage_plugin_tools::{BuildOptions, NewProject};
use std::path::PathBuf;

pub(super) fn new(arguments: &NewArguments) -> anyhow::Result<ExitCode> {
    let project = NewProject {
        language: arguments.lang,
        world: arguments.kind,
        name: arguments.name.clone(),
        folder: PathBuf::new(),
    };
    let created = gage_plugin_tools::create(&project).map_err(|error| refuse_tool(&error))?;
    terminal::print_line(format_args!("made {}; next:", created.folder.display()))?;
    for line in created.next {
        terminal::print_line(format_args!("  {line}"))?;
    }
    Ok(ExitCode::Done)
}

/// Returns a function that prints progress, unless it is not wanted.
pub(super) fn progress(quiet: bool) -> impl Fn(&str) {
    move |line: &str| {
        if !quiet {
            terminal::eprint_line(line);
        }
    }
}

pub(super) fn lock(arguments: &PluginLockArguments) -> anyhow::Result<ExitCode> {
    let say = progress(arguments.quiet);
    let options = BuildOptions { cache_folder: environment::cache_folder(), say: &say };
    let locked =
        gage_plugin_tools::lock_packages(&arguments.folder, &options).map_err(|error| refuse_tool(&error))?;
    let count = terminal::count(locked.packages.len(), "package");
    terminal::print_line(format_args!("{}: {count}", locked.path.display()))?;
    for package in &locked.packages {
        terminal::print_line(format_args!("  {}", printable_line(package)))?;
    }
    Ok(ExitCode::Done)
}

pub(super) fn build(arguments: &BuildArguments) -> anyhow::Result<ExitCode> {
    let say = progress(arguments.quiet);
    let options = BuildOptions { cache_folder: environment::cache_folder(), say: &say };
    let built = gage_plugin_tools::build(&arguments.folder, &options).map_err(|error| refuse_tool(&error))?;
    let (path, seconds) = (built.component.display(), built.took.as_secs_f64());
    say(&format!("built in {seconds:.1} s with {}", built.with));
    say(&format!("wrote its provenance: {}", built.provenance.display()));
    terminal::print_line(format_args!("{path} ({})", super::inspect::size(built.bytes)))?;
    Ok(ExitCode::Done)
}
