//! One-shot commands of `gage-model`: benchmarks, and counting tokens with the vocabulary of a model file.

use super::model_process::ModelProcess;
use super::model_program::ModelProgram;
use gage_config::Kernels;
use gage_model_protocol::{BenchOptions, BenchReport, Command};
use parking_lot::Mutex;
use std::path::Path;

/// Runs a benchmark of a model in its own process.
///
/// # Errors
/// If the program is not found, or the model cannot be loaded, does not predict tokens, or fails.
pub fn bench(options: &BenchOptions, program: &ModelProgram) -> Result<BenchReport, String> {
    let command = Command::Bench(options.clone());
    let (mut process, _) = program.find(Kernels::Auto, None)?.start_greeted(Some(&command))?;
    process.read::<Result<BenchReport, String>>().map_err(|end| end.described())?
}

/// Vocabulary of a model file; its weights are not loaded.
pub struct Vocabulary(Mutex<ModelProcess>);

impl Vocabulary {
    /// Reads the vocabulary of a GGUF file in its own process.
    ///
    /// # Errors
    /// If the file cannot be read, llama.cpp refuses it, or the program is not found.
    pub fn read(path: &Path, program: &ModelProgram) -> Result<Vocabulary, String> {
        let command = Command::CountTokens(path.to_owned());
        let (mut process, _) = program.find_for_processor()?.start_greeted(Some(&command))?;
        process.read::<Result<(), String>>().map_err(|end| end.described_while_loading(path))??;
        Ok(Vocabulary(Mutex::new(process)))
    }

    /// Returns the number of tokens of a text, without those that begin and end sequences.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn count(&self, text: &str) -> Result<u64, String> {
        self.0.lock().ask(text)
    }
}
