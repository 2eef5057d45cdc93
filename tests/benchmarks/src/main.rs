//! Measures the built program, and prints tables in Markdown: `make bench`.
//!
//! ```text
//! gage-benchmarks [--quick] [--program PATH] [NAME…]
//! ```
//!
//! The program runs as a child process against a server in this one. In comparisons, the two take turns. Figures of
//! different runs of this program are not comparable on a machine with other load.

mod bare;
mod costs;
mod growth;
mod lab;
mod limited_server;
mod machine;
mod memory;
mod merge;
mod metrics;
mod nginx;
mod outage_server;
mod outages;
mod pages;
mod process;
mod rate_limit_server;
mod requests;
mod sandbox;
mod server;
mod shared_server;
mod start;
mod storm;
mod suite_run;
mod table;
mod templates;
mod viewer;
mod words;

use anyhow::{Context as _, bail};
use lab::Lab;
use std::time::Instant;

/// Measurements by name, in the order of printing.
type Measurement = fn(&Lab) -> anyhow::Result<()>;
const MEASUREMENTS: [(&str, Measurement); 14] = [
    ("start", start::measure),
    ("requests", requests::measure),
    ("nginx", nginx::measure),
    ("costs", costs::measure),
    ("storm", storm::measure),
    ("outages", outages::measure),
    ("shared-server", shared_server::measure),
    ("memory", memory::measure),
    ("growth", growth::measure),
    ("merge", merge::measure),
    ("pages", pages::measure),
    ("metrics", metrics::measure),
    ("sandbox", sandbox::measure),
    ("templates", templates::measure),
];

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == bare::COMMAND) {
        return bare::run(arguments.skip(1));
    }
    let (mut names, mut is_quick, mut program) = (Vec::new(), false, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => is_quick = true,
            "--program" => program = Some(arguments.next().context("--program needs a path")?.into()),
            name if MEASUREMENTS.iter().any(|(known, _)| *known == name) => names.push(argument),
            other => {
                let known: Vec<&str> = MEASUREMENTS.iter().map(|(name, _)| *name).collect();
                bail!("`{other}` is nothing to measure; there are {}", known.join(", "));
            }
        }
    }
    let lab = Lab::new(program, is_quick)?;
    println!("{}\n", machine::described());
    for (name, measure) in MEASUREMENTS {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            let began = Instant::now();
            measure(&lab).with_context(|| format!("`{name}` could not be measured"))?;
            eprintln!("{name}: {:.0} s", began.elapsed().as_secs_f64());
        }
    }
    Ok(())
}
