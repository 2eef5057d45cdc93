//! Instructions that a program can verify, as in the benchmark IFEval: how they are read from a row, and whether a
//! response follows them.
//!
//! Zhou and others, "Instruction-following evaluation for large language models", 2023. The checks agree with those of
//! lm-evaluation-harness 0.4. Texts are read as Python reads them.

mod case;
#[cfg(test)]
mod fixtures;
mod instruction;
mod json;
mod language;
mod markdown;
mod response;
mod sentences;
mod verdict;
mod words;

pub use instruction::{Instruction, instructions};
pub use response::{Verdicts, follow};
