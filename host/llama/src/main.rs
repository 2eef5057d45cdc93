//! The `gage-model` program: runs one model for `gage-host`, which starts it and talks to it over its standard streams.

use clap::Parser;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Requests and answers are allocated on one thread and freed on others, for which the system's allocator is slow.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Log target under which the llama.cpp bindings complain about llama.cpp logging in fragments, such as progress dots
/// during loading.
///
/// These lines say nothing about the model.
const BINDINGS_LOG_TARGET: &str = "llama_cpp_2::log";

/// Runs a model for gage-host, which starts this program and talks to it over its standard streams.
#[derive(Debug, Parser)]
#[command(name = "gage-model", version)]
struct Arguments {
    /// Filter of the logs on the standard error stream, one JSON object per line.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,

    /// Folder of kernel modules to load, named after its kernels, such as `cuda`; may be repeated, best first. A build with
    /// compiled-in kernels ignores it.
    #[arg(long, value_name = "FOLDER")]
    kernels: Vec<PathBuf>,
}

fn main() -> ExitCode {
    gage_llama::close_inherited_descriptors();
    let arguments = Arguments::parse();
    if std::io::stdin().is_terminal() {
        eprintln!("error: gage-model is started by gage-host; run a suite with `gage-host run`");
        return ExitCode::from(2);
    }
    init_logs(&arguments.log);
    gage_llama::set_kernel_folders(arguments.kernels);
    match gage_llama::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("cannot run the model: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes logs to the standard error stream. Falls back to `warn` if the filter is invalid; `gage-host` reports that
/// itself.
fn init_logs(filter: &str) {
    let full = if filter.contains(BINDINGS_LOG_TARGET) {
        filter.to_owned()
    } else {
        format!("{filter},{BINDINGS_LOG_TARGET}=off")
    };
    let filter = full.parse::<Targets>().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::WARN));
    let lines =
        tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr).log_internal_errors(false);
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
}
