//! The `gage-host` program: reads the command line, runs a command, and maps its result to an exit code. May import
//! every crate of the workspace; no crate imports it.

mod allocator;
mod arguments;
mod commands;
mod environment;
mod exit_code;
mod machine_shortage;
mod terminal;

use arguments::{Arguments, Command};
use exit_code::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    machine_shortage::end_after_panics();
    environment::keep_addresses();
    let arguments: Arguments = environment::parse();
    environment::env_file::read();
    let checked = machine_shortage::check_descriptors();
    machine_shortage::exit_code_of(checked.and_then(|()| execute(arguments.command))).into()
}

fn execute(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(demo) => commands::demo::execute(&demo),
        Command::New(new) => commands::new::execute(&new),
        Command::Run(run) => commands::run::execute(*run),
        Command::Eval(run) => commands::suites::evaluate(*run),
        Command::Suites(suites) => commands::suites::execute(&suites),
        Command::Score(score) => commands::score::execute(&score),
        Command::Merge(merge) => commands::merge::execute(&merge),
        Command::Metrics(metrics) => commands::metrics::execute(metrics),
        Command::Compare(compare) => commands::compare::execute(&compare),
        Command::Report(report) => commands::report::execute(&report),
        Command::Export(export) => commands::export::execute(&export),
        Command::View(view) => commands::view::execute(&view),
        Command::Plan(plan) => commands::plan::execute(plan),
        Command::Launch(launch) => commands::launch::execute(*launch),
        Command::Import(import) => commands::import::execute(&import),
        Command::Judge(judge) => commands::judge::execute(&judge),
        Command::Validate(validate) => commands::validate::execute(validate),
        Command::Data(data) => commands::data::execute(&data),
        Command::Schema(schema) => commands::schema::execute(&schema),
        Command::List(list) => commands::list::execute(&list),
        Command::Doctor(doctor) => commands::doctor::execute(&doctor),
        Command::Env(env) => commands::env::execute(&env),
        Command::Plugin(plugin) => commands::plugin::execute(&plugin),
        Command::Distill(distill) => commands::distill::execute(&distill),
        Command::Init(init) => commands::init::execute(&init),
        Command::Lock(lock) => commands::lock::execute(lock),
        Command::Verify(verify) => commands::verify::execute(&verify),
        Command::Samples(samples) => commands::samples::execute(&samples),
        Command::Runs(runs) => commands::runs::execute(&runs),
        Command::Completions(completions) => commands::completions::execute(&completions),
        Command::ManPages(pages) => commands::completions::write_man_pages(&pages),
        Command::Compile(compile) => commands::plugin::compile(&compile),
        Command::Model(model) => commands::model::execute(&model),
    }
}
