//! `gage-host distill`: freezes a suite as a template with a digest.

use super::permissions::permissions;
use super::setup;
use crate::arguments::{DEFAULT_TEMPLATES, DistillArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Purpose;
use gage_suite::{DistillOptions, distill};
use serde_json::json;
use std::path::Path;

pub(crate) fn execute(arguments: &DistillArguments) -> anyhow::Result<ExitCode> {
    // Only a suite can be frozen; a RunConfig has its own error message.
    let permissions = permissions(&arguments.permissions)?;
    let problems = setup::loaded(&arguments.config, &[], &permissions, Purpose::Run).problems;
    terminal::show_problems(&problems);
    if problems.has_errors() {
        return Ok(ExitCode::Configuration);
    }
    let made = distill(&DistillOptions {
        config: &arguments.config,
        name: &arguments.builtin_name,
        version: arguments.version.as_deref(),
        force_merge: arguments.force_merge,
        templates: &arguments.common.templates,
    });
    let made = made.map_err(setup::refuse_suite)?;
    for (key, variable) in &made.removed {
        terminal::eprint_line(format_args!(
            "{key}: the secret is not in the template; set ${{{variable}}} where it runs"
        ));
    }
    let path = made.path.display();
    if arguments.common.json {
        let answer = json!({
            "path": path.to_string(),
            "name": arguments.builtin_name,
            "version": made.version,
            "digest": made.digest,
            "mode": made.mode.name(),
            "parameters": made.parameters,
            "is_new": made.is_new,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    } else if !arguments.common.quiet {
        // Without a version, commands use the latest one.
        let version = arguments.version.as_ref().map(|_| format!(" --version {}", made.version));
        let version = version.unwrap_or_default();
        let templates = match arguments.common.templates == Path::new(DEFAULT_TEMPLATES) {
            true => String::new(),
            false => format!(" --templates {}", terminal::shell_word(arguments.common.templates.display())),
        };
        let what = if made.is_new { "written" } else { "equal to the latest version, nothing written" };
        terminal::print_line(format_args!(
            "{path}: {} {} ({}), {what}\n{}\nnext: gage-host init {}{version}{templates}",
            arguments.builtin_name,
            made.version,
            made.mode.name(),
            made.digest,
            terminal::shell_word(&arguments.builtin_name),
        ))?;
    }
    Ok(ExitCode::Done)
}
