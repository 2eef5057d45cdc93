//! Measures the error rates of gates, and prints the table of `docs/concepts/gate-statistics.md`. Ends with code 1 if a
//! rate is above alpha.
//!
//!     make error-rates

use gage_compare::error_rates::{populations, populations_not_covered};
use std::process::ExitCode;

/// Level of the simulated gates.
const ALPHA: f64 = 0.05;
/// Number of simulated samples of a population, which gives the number of runs.
const SIMULATED_SAMPLES: u32 = 12_000_000;
/// Maximum number of runs of a population.
const MAX_RUNS: u32 = 20_000;

fn main() -> ExitCode {
    let mut is_right = true;
    println!(
        "| scores: samples or clusters | runs | PASS, no loss | REGRESSION, no loss | PASS, margin lost | REGRESSION, margin lost |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for population in populations() {
        let runs = (SIMULATED_SAMPLES / population.samples()).min(MAX_RUNS);
        let rates = population.error_rates(runs);
        is_right &= rates.is_within(ALPHA, runs);
        println!(
            "| {} | {runs} | {:.3} | {:.3} | {:.3} | {:.3} |",
            population.name(),
            rates.pass_unchanged,
            rates.false_regression,
            rates.false_pass,
            rates.regression_at_margin
        );
    }
    println!("\n| not covered | PASS, margin lost |\n| --- | ---: |");
    for population in populations_not_covered() {
        let rates = population.error_rates(SIMULATED_SAMPLES / population.samples() / 3);
        println!("| {} | {:.3} |", population.name(), rates.false_pass);
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
