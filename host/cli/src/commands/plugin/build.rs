//! `gage-host plugin new` and `gage-host plugin build`.

use super::refuse_tool;
use crate::arguments::{BuildArguments, NewArguments};
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal;
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

pub(super) fn build(arguments: &BuildArguments) -> anyhow::Result<ExitCode> {
    let quiet = arguments.quiet;
    let say = move |line: &str| {
        if !quiet {
            terminal::eprint_line(line);
        }
    };
    let options = BuildOptions { cache_folder: setup::cache_folder(), say: &say };
    let built = gage_plugin_tools::build(&arguments.folder, &options).map_err(|error| refuse_tool(&error))?;
    let (path, seconds) = (built.component.display(), built.took.as_secs_f64());
    say(&format!("built in {seconds:.1} s with {}", built.with));
    terminal::print_line(format_args!("{path} ({})", super::inspect::size(built.bytes)))?;
    Ok(ExitCode::Done)
}
