//! `gage-host schema`: prints the JSON Schema of a format.

use crate::arguments::{SchemaArguments, SchemaOf};
use crate::exit_code::ExitCode;
use crate::terminal;

pub(crate) fn execute(arguments: &SchemaArguments) -> anyhow::Result<ExitCode> {
    let schema = match arguments.of {
        SchemaOf::Suite => gage_config::suite_schema(),
        SchemaOf::Sample => gage_core::sample_schema(),
    };
    terminal::print_json(format_args!("{schema:#}"))?;
    Ok(ExitCode::Done)
}
