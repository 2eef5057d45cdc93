//! `gage-host plugin upgrade`: renews the contract and the SDK of a project.

use super::refuse_tool;
use crate::arguments::UpgradeArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::shown_name;
use gage_plugin_tools::{FileChange, Upgrade};

pub(super) fn upgrade(arguments: &UpgradeArguments) -> anyhow::Result<ExitCode> {
    let upgrade = Upgrade::plan(&arguments.folder).map_err(|error| refuse_tool(&error))?;
    let mut count = 0;
    for (path, change) in upgrade.changes() {
        let word = match change {
            FileChange::Added => "new    ",
            FileChange::Changed => "changed",
        };
        terminal::print_line(format_args!("{word}  {path}"))?;
        count += 1;
    }
    for path in upgrade.unknown() {
        let path = shown_name(path);
        terminal::print_line(format_args!(
            "unknown  {path} (not part of this version; remove it if it is not yours)"
        ))?;
    }
    let files = terminal::count(upgrade.files(), "file");
    let folder = arguments.folder.display();
    if count == 0 {
        terminal::print_line(format_args!(
            "{folder} is up to date: {files} of gage-host {}",
            env!("CARGO_PKG_VERSION")
        ))?;
        return Ok(ExitCode::Done);
    }
    if arguments.check {
        terminal::print_line(format_args!(
            "{count} of {files} differ; `gage-host plugin upgrade` writes them"
        ))?;
        return Ok(ExitCode::LockMismatch);
    }
    upgrade.apply().map_err(|error| refuse_tool(&error))?;
    terminal::print_line(format_args!(
        "wrote {count} of {files}; next: gage-host plugin build, gage-host plugin test"
    ))?;
    Ok(ExitCode::Done)
}
