//! The benchmark of a model: what is measured, and the figures that come back.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchOptions {
    /// The GGUF file.
    pub model_path: PathBuf,
    /// Tokens of a prompt, about.
    pub prompt_tokens: u32,
    /// Tokens of an answer.
    pub answer_tokens: u32,
    /// Prompts that wait at once, for the last figure: as many as can are worked on together.
    pub queued_prompts: u32,
    /// How often each figure is measured.
    pub repeats: u32,
}

/// One figure: the median of all measurements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchFigure {
    /// What was measured.
    pub what: String,
    /// The unit.
    pub unit: String,
    /// The figure of the scheduler of this program.
    pub host: f64,
    /// The figure of a bare loop; for choices, one that computes the prompt again for each option.
    pub bare: f64,
}

/// All figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    /// The kernels that llama.cpp computes with.
    pub kernels: String,
    /// Threads of computation.
    pub threads: i32,
    /// The figures.
    pub figures: Vec<BenchFigure>,
}
