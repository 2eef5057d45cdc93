//! The HTTP exchanges with backends: sent, recorded or replayed.

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
}
