//! One-shot commands of `gage-model`: a benchmark, and the tokens of texts by the vocabulary of a model file.

use super::model_program::{FoundProgram, Interrupts, ModelProcess, ModelProgram};
use gage_config::Kernels;
use gage_model_protocol::{BenchOptions, BenchReport, Command, read_frame, write_frame};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Measures a model, in a process of its own.
///
/// # Errors
/// When the program is not found, or the model cannot be loaded, predicts no tokens, or fails.
pub fn bench(options: &BenchOptions, program: &ModelProgram) -> Result<BenchReport, String> {
    let mut session = Session::start(&program.find(Kernels::Auto, None)?, &Command::Bench(options.clone()))?;
    session.read::<Result<BenchReport, String>>()?
}

/// The vocabulary of a model file; its weights are not loaded.
pub struct Vocabulary(Mutex<Session>);

impl Vocabulary {
    /// Reads the vocabulary of a GGUF file, in a process of its own.
    ///
    /// # Errors
    /// When the file cannot be read, llama.cpp refuses it, or the program is not found.
    pub fn read(path: &Path, program: &ModelProgram) -> Result<Vocabulary, String> {
        let command = Command::CountTokens(path.to_owned());
        let mut session = Session::start(&program.find(Kernels::Baseline, None)?, &command)?;
        session.read::<Result<(), String>>()??;
        Ok(Vocabulary(Mutex::new(session)))
    }

    /// The number of tokens of a text, without those that begin and end sequences.
    ///
    /// # Errors
    /// When the process has ended.
    pub fn count(&self, text: &str) -> Result<u64, String> {
        self.0.lock().ask(text)
    }
}

/// A process that carries out one command.
struct Session {
    process: ModelProcess,
}

impl Session {
    fn start(program: &FoundProgram, command: &Command) -> Result<Session, String> {
        let started = program.start(Some(command), Interrupts::Received);
        let process =
            started.map_err(|error| format!("{} cannot be started: {error}", program.file.display()))?;
        let mut session = Session { process };
        match program.greet(&mut session.process.stdout)? {
            Some(_) => Ok(session),
            None => Err(session.ended()),
        }
    }

    fn ask<T: DeserializeOwned>(&mut self, text: &str) -> Result<T, String> {
        let sent = self.process.stdin.as_mut().is_some_and(|stdin| write_frame(stdin, &text).is_ok());
        if sent { self.read() } else { Err(self.ended()) }
    }

    fn read<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        match read_frame::<T>(&mut self.process.stdout) {
            Ok(Some(message)) => Ok(message),
            Ok(None) | Err(_) => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> String {
        self.process.end()
    }
}
