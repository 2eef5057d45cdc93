//! The `gage-host` program: reads the command line, runs a command, and maps what comes of it
//! to an exit code. May import every crate of the workspace; no crate imports it.

mod arguments;
mod commands;
mod exit_code;
mod terminal;
mod wait_policy;

use arguments::{Arguments, Command};
use clap::Parser as _;
use exit_code::ExitCode;

/// Samples are made on some threads and dropped on others, at which the system's allocator is slow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    wait_policy::make_passive();
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Run(run) => commands::run::execute(*run),
        Command::Score(score) => commands::score::execute(&score),
        Command::Metrics(metrics) => commands::metrics::execute(metrics),
        Command::Validate(validate) => commands::validate::execute(&validate),
        Command::Data(data) => commands::data::execute(&data),
        Command::Schema(schema) => commands::schema::execute(&schema),
        Command::List(list) => commands::list::execute(&list),
        Command::Plugin(plugin) => commands::plugin::execute(&plugin),
        Command::Compile(compile) => commands::plugin::compile(&compile),
        Command::Model(model) => commands::model::execute(&model),
        Command::ServeModel(serve) => commands::model::serve(&serve),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) => {
            terminal::say(format_args!("error: {error:#}"));
            ExitCode::Internal.into()
        }
    }
}
