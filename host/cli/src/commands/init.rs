//! `gage-host init`: creates a runnable configuration from a template.

use super::setup;
use crate::arguments::{InitArguments, InitKind};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_suite::{InitMode, InitOptions, init};
use serde_json::json;

pub(crate) fn execute(arguments: &InitArguments) -> anyhow::Result<ExitCode> {
    let made = init(&InitOptions {
        suite: &arguments.suite,
        version: arguments.version.as_deref(),
        mode: match arguments.mode {
            InitKind::RunConfig => InitMode::RunConfig,
            InitKind::PipelineConfig => InitMode::PipelineConfig,
        },
        templates: &arguments.common.templates,
        output: arguments.output.as_deref(),
    });
    let made = made.map_err(setup::refuse_suite)?;
    let (path, reference) = (made.path.display(), &made.template.reference);
    if arguments.common.json {
        let answer = json!({
            "path": path.to_string(),
            "is_new": made.is_new,
            "template": {"name": reference.name, "version": reference.version, "digest": reference.digest},
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    } else if !arguments.common.quiet {
        terminal::print_line(format_args!(
            "{path}: {} {} {}\nnext: gage-host lock {}",
            if made.is_new { "made from" } else { "nothing written: it exists already, as made from" },
            reference.name,
            reference.version,
            terminal::shell_word(&path)
        ))?;
    }
    Ok(ExitCode::Done)
}
