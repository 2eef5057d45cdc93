//! Fuzz targets. A target is a parser of bytes that others wrote, and what must hold for each input. Most inputs are nearly
//! valid: valid examples whose bytes are changed, and documents with the names of the format.
//!
//! `cargo test -p gage-fuzz` tries the same bounded number of inputs each time. `GAGE_FUZZ_CASES=100000` tries as many new
//! ones. `make fuzz MINUTES=10` tries new ones for a time. A failing input is reduced and written to `target/fuzz`. Copy it
//! to `tests/fuzz/corpus`, in the folder of its target: from then on, each test run checks it.
//!
//! The check of a target takes plain bytes, so any fuzzing engine can drive it.

pub mod answers_files;
pub mod batch_results;
pub mod campaign;
pub mod chat_templates;
pub mod datasets;
pub mod fuzz_input;
pub mod images;
pub mod input_numbers;
pub mod journals;
pub mod json_text;
pub mod manifests;
pub mod model_files;
pub mod mutation;
pub mod parquet_files;
pub mod plugin_schemas;
pub mod prompts;
pub mod recordings;
pub mod rows;
pub mod run_index;
pub mod sample_readers;
pub mod secret_search;
pub mod server_replies;
pub mod servers;
pub mod signatures;
pub mod suites;
pub mod summaries;
pub mod template_sandbox;

use fuzz_input::FuzzInput;
use proptest::strategy::BoxedStrategy;

/// Result of a parser for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The input was read.
    Accepted,
    /// The input is an error, as it should be.
    Refused,
}

impl Verdict {
    /// Returns the verdict of a reader.
    pub fn of<T, E>(result: &Result<T, E>) -> Verdict {
        if result.is_ok() { Verdict::Accepted } else { Verdict::Refused }
    }

    /// Returns whether one of two readers accepted the input.
    pub fn or(self, other: Verdict) -> Verdict {
        if self == Verdict::Accepted { self } else { other }
    }
}

/// A parser of foreign bytes, and what must hold for each input.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name, also of its corpus.
    pub name: &'static str,
    /// Number of inputs in a test run: less for a target that takes long.
    pub cases: u32,
    /// Returns valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Generates inputs.
    pub inputs: fn() -> BoxedStrategy<FuzzInput>,
    /// Reads an input; an error says what does not hold. A panic is an error too.
    pub check: fn(&[u8]) -> Result<Verdict, String>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    sample_readers::TARGET,
    secret_search::TARGET,
    plugin_schemas::TARGET,
    server_replies::BODIES,
    server_replies::STREAMS,
    server_replies::REFUSALS,
    recordings::TARGET,
    batch_results::TARGET,
    answers_files::TARGET,
    manifests::TARGET,
    summaries::TARGET,
    journals::JOURNALS,
    journals::SAMPLE_LINES,
    run_index::TARGET,
    suites::SUITES,
    suites::IMPORTS,
    rows::TARGET,
    parquet_files::TARGET,
    images::TARGET,
    model_files::HEADERS,
    model_files::MESSAGES,
    chat_templates::TEMPLATES,
    chat_templates::TOKENIZERS,
    prompts::TARGET,
    signatures::BUNDLES,
    signatures::KEYS,
];
