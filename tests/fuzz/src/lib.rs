//! Fuzz targets. A target is a function from an input to an error; generators make nearly realistic inputs, and then damage them.
//!
//! `cargo test -p gage-fuzz` tries a bounded number of inputs for each target; `GAGE_FUZZ_CASES=1000000` tries more. Proptest
//! reduces an input that fails, and keeps its seed in `proptest-regressions`, which is committed.
//!
//! A target takes plain bytes or text, so any fuzzing engine can drive it.

pub mod json_text;
pub mod sample_readers;

use proptest::test_runner::Config;

/// Inputs for each target in a test run that says nothing else.
const DEFAULT_CASES: u32 = 2_000;

/// Returns the configuration of a test, which sets the number of inputs.
pub fn config() -> Config {
    let cases = std::env::var("GAGE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: cases.unwrap_or(DEFAULT_CASES), max_shrink_iters: 20_000, ..Config::default() }
}
