//! Benchmark of a model: its options, and the figures that it reports.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Options of a benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchOptions {
    /// The GGUF file.
    pub model_path: PathBuf,
    /// Approximate number of tokens of a prompt.
    pub prompt_tokens: u32,
    /// Number of tokens of an answer.
    pub answer_tokens: u32,
    /// Number of prompts queued at once for the last figure; as many as possible are processed together.
    pub queued_prompts: u32,
    /// Maximum number of measurements per figure.
    pub repeats: u32,
    /// Time after which a figure is taken from what was computed so far, for the scheduler and for the loop each. It is
    /// looked at after every batch.
    pub max_duration: Duration,
}

/// A figure: the median of all measurements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchFigure {
    /// Name of what was measured.
    pub what: String,
    /// Unit of the figure.
    pub unit: String,
    /// Figure of this program's scheduler.
    pub host: f64,
    /// Figure of a bare loop. For choices, the loop computes the prompt again for each option.
    pub bare: f64,
    /// True if the time limit ended the only measurement.
    pub is_cut_short: bool,
}

/// All figures of a benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    /// Kernels that llama.cpp computes with.
    pub kernels: String,
    /// Number of compute threads.
    pub threads: i32,
    /// The figures.
    pub figures: Vec<BenchFigure>,
}
