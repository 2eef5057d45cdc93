//! The HTTP exchanges with backends: sent, recorded, replayed, or answered in bulk.

use std::path::PathBuf;

/// Handling of HTTP exchanges with backends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HttpExchanges {
    /// Sends requests without recording them.
    #[default]
    Live,
    /// Sends requests, and records the exchanges in this file.
    Record(PathBuf),
    /// Sends nothing: answers come from this file.
    Replay(PathBuf),
    /// Sends nothing: requests to the model under test are written to this file, in the batch format of its provider.
    WriteRequests(PathBuf),
    /// Takes the answers of the model under test from these files, the results of a batch. Judges are asked.
    TakeResponses(Vec<PathBuf>),
}

impl HttpExchanges {
    /// Returns true if the model under test is asked.
    pub(crate) fn asks_model(&self) -> bool {
        matches!(self, HttpExchanges::Live | HttpExchanges::Record(_))
    }

    /// Returns true if an answer may come from the cache: a recording must hold every exchange, and a replay must answer
    /// from it alone.
    pub(crate) fn may_use_cache(&self) -> bool {
        !matches!(self, HttpExchanges::Record(_) | HttpExchanges::Replay(_))
    }
}
