//! Token counts as the model would make them, if its tokenizer is known.

use crate::plan::PlannedTask;
use gage_backend::{ModelProgram, Vocabulary};
use gage_config::{BackendKind, Permissions};
use gage_data::TokenCounter;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Assumed bytes per token if no tokenizer is available.
pub(super) const BYTES_PER_TOKEN: f64 = 4.0;

/// Source of the token counts of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokensBy {
    /// The vocabulary in the model's file.
    Model,
    /// A `tokenizer.json`.
    Tokenizer,
    /// An estimate of four bytes per token. A model's own tokenizer usually makes fewer tokens in English and more in code.
    Bytes,
}

/// Counts tokens.
pub(super) enum Tokens<'t> {
    Given(&'t TokenCounter),
    Model(Box<Vocabulary>),
    Tokenizer(Box<TokenCounter>),
    Bytes,
}

impl<'t> Tokens<'t> {
    /// Selects the tokenizer of a task: the given one, else the one in the model's file, else the one next to the
    /// dataset's `tokenizer_config`. If it cannot be read, adds a note and falls back to counting bytes.
    pub(super) fn of(
        task: &PlannedTask,
        given: Option<&'t TokenCounter>,
        permissions: &Permissions,
        notes: &mut Vec<String>,
    ) -> Tokens<'t> {
        let tokenizer_file = task
            .dataset
            .spec
            .tokenizer_config
            .as_ref()
            .and_then(|path| tokenizer_of(path))
            .filter(|path| path.is_file() && permissions.check_file(path).is_ok());
        let found = match (given, &task.backend.kind) {
            (Some(counter), _) => Ok(Tokens::Given(counter)),
            (None, BackendKind::LlamaCpp(config)) => {
                Vocabulary::read(&config.model_path, &ModelProgram::default())
                    .map(Box::new)
                    .map(Tokens::Model)
            }
            (None, _) => match tokenizer_file {
                Some(path) => TokenCounter::read(&path).map(Box::new).map(Tokens::Tokenizer),
                None => Ok(Tokens::Bytes),
            },
        };
        found.unwrap_or_else(|reason| {
            notes.push(format!("the tokens are counted at four bytes each: {reason}"));
            Tokens::Bytes
        })
    }

    pub(super) fn by(&self) -> TokensBy {
        match self {
            Tokens::Model(_) => TokensBy::Model,
            Tokens::Given(_) | Tokens::Tokenizer(_) => TokensBy::Tokenizer,
            Tokens::Bytes => TokensBy::Bytes,
        }
    }

    /// Returns the number of tokens in a text.
    pub(super) fn count(&self, text: &str) -> f64 {
        // Both stay far below 2^53.
        let bytes = text.len() as f64 / BYTES_PER_TOKEN;
        let of_counter = |counter: &TokenCounter| counter.count(text).map_or(bytes, |count| count as f64);
        match self {
            Tokens::Model(vocabulary) => vocabulary.count(text).map_or(bytes, |count| count as f64),
            Tokens::Given(counter) => of_counter(counter),
            Tokens::Tokenizer(counter) => of_counter(counter),
            Tokens::Bytes => bytes,
        }
    }
}

/// Returns the path of the `tokenizer.json` beside a `tokenizer_config`, which names a file or its folder.
fn tokenizer_of(config: &Path) -> Option<PathBuf> {
    let folder = if config.is_dir() { config } else { config.parent()? };
    Some(folder.join("tokenizer.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokenizer_of_a_folder_is_in_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let expected = Some(folder.path().join("tokenizer.json"));
        assert_eq!(tokenizer_of(folder.path()), expected);
        assert_eq!(tokenizer_of(&folder.path().join("tokenizer_config.json")), expected);
    }
}
