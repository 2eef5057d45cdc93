//! The HTTP exchanges with backends: sent, recorded or replayed.

use std::path::PathBuf;

/// What becomes of HTTP exchanges with backends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HttpExchanges {
    /// They are sent and not kept.
    #[default]
    Live,
    /// They are sent, and recorded in this file.
    Record(PathBuf),
    /// Nothing is sent; answers come from this file.
    Replay(PathBuf),
}
