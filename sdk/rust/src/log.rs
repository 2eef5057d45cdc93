//! Log lines to the host.

pub use crate::bindings::log::{Level, emit};

/// Writes a warning.
pub fn warn(message: &str) {
    emit(Level::Warn, message);
}

/// Writes a line of information.
pub fn info(message: &str) {
    emit(Level::Info, message);
}
