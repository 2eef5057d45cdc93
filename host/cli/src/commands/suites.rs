//! `gage-host suites` and `gage-host eval`: the benchmarks that are part of the program.

use super::{ready_suite, run};
use crate::arguments::{RunArguments, SuitesCommand, SuitesListArguments, SuitesShowArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_suite::{READY_SUITES, ReadySuite};
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of names that a message lists.
const MAX_LISTED_NAMES: usize = 100;

pub(crate) fn execute(command: &SuitesCommand) -> anyhow::Result<ExitCode> {
    match command {
        SuitesCommand::List(arguments) => list(arguments),
        SuitesCommand::Show(arguments) => show(arguments),
    }
}

/// Runs a ready suite.
pub(crate) fn evaluate(mut arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let named = arguments.config.path();
    let suite = match known(&named.to_string_lossy()) {
        Ok(suite) => suite,
        Err(code) => return Ok(code),
    };
    if arguments.config.models.is_empty() && arguments.config.answers.is_none() {
        let help = format!("add one: gage-host eval {} --model openai:MODEL, or a .gguf file", suite.name);
        return Ok(terminal::usage_error("no model is given", Some(&help)));
    }
    // Its name wins over a file of this name.
    arguments.config.ready_file = Some(ready_suite::written(suite)?);
    run::execute(arguments)
}

/// Returns the suite of a name. Reports an unknown name.
fn known(name: &str) -> Result<&'static ReadySuite, ExitCode> {
    if let Some(suite) = ReadySuite::named(name) {
        return Ok(suite);
    }
    if Path::new(name).is_file() {
        let message = format!("{name} is a file, not the name of a ready suite");
        let help = format!("run it: gage-host run {}", terminal::shell_word(name));
        return Err(terminal::usage_error(&message, Some(&help)));
    }
    let names = || READY_SUITES.iter().map(|suite| suite.name);
    let nearest = gage_core::nearest(name, names());
    let nearest = nearest.map(|nearest| format!("did you mean `{nearest}`? ")).unwrap_or_default();
    let listed = gage_core::name_list(names().collect::<Vec<_>>(), MAX_LISTED_NAMES, ", ");
    let message = format!("there is no ready suite `{name}`");
    Err(terminal::usage_error(&message, Some(&format!("{nearest}expected one of: {listed}"))))
}

fn list(arguments: &SuitesListArguments) -> anyhow::Result<ExitCode> {
    if arguments.json {
        let suites: Vec<Value> = READY_SUITES.iter().map(facts).collect();
        terminal::print_json(format_args!("{:#}", json!(suites)))?;
        return Ok(ExitCode::Done);
    }
    let width = READY_SUITES.iter().map(|suite| suite.name.len()).max().unwrap_or_default();
    for suite in READY_SUITES {
        terminal::print_line(format_args!("{:<width$}  {}", suite.name, suite.description()))?;
    }
    Ok(ExitCode::Done)
}

/// Returns the name, the description and the digest of a suite.
fn facts(suite: &ReadySuite) -> Value {
    json!({"name": suite.name, "description": suite.description(), "digest": suite.digest().to_string()})
}

fn show(arguments: &SuitesShowArguments) -> anyhow::Result<ExitCode> {
    let suite = match known(&arguments.name) {
        Ok(suite) => suite,
        Err(code) => return Ok(code),
    };
    if arguments.json {
        let mut facts = facts(suite);
        facts["card"] = json!(suite.card);
        facts["suite"] = json!(suite.text);
        terminal::print_json(format_args!("{facts:#}"))?;
    } else {
        let text = if arguments.yaml { suite.text } else { suite.card };
        terminal::print_document(text.trim_end())?;
    }
    Ok(ExitCode::Done)
}
