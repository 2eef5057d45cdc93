//! `gage-host completions` and `gage-host man-pages`: shell completions and man pages of the command line.

use crate::arguments::{Arguments, CompletionsArguments, ManPagesArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use clap::CommandFactory as _;

/// Name of the program for shell completion.
const PROGRAM: &str = "gage-host";

/// Prints the completion script of a shell.
pub(crate) fn execute(arguments: &CompletionsArguments) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), PROGRAM, &mut script);
    terminal::print_document(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::Done)
}

/// Writes a man page for the program and for each command.
pub(crate) fn write_man_pages(arguments: &ManPagesArguments) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command().disable_help_subcommand(true), folder))
        .with_context(|| format!("cannot write man pages to {}", folder.display()))?;
    Ok(ExitCode::Done)
}
