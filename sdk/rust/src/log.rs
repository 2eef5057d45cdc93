//! Log lines to the host. Every plugin may write them.

use crate::bindings::log::{Level, emit};

/// Writes a debug line.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// Writes an info line.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Writes a warning.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// Writes an error line.
pub fn error(message: &str) {
    write(Level::Error, message);
}

fn write(level: Level, message: &str) {
    if cfg!(target_family = "wasm") {
        emit(level, message);
    } else {
        // Unit tests have no host.
        eprintln!("{level:?}: {message}");
    }
}
