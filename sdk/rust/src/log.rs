//! Log lines to the host. Every plugin may write them.

use crate::bindings::log::{Level, emit};

/// Writes a line for those who look for a fault.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// Writes a line of information.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Writes a warning.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// Writes what went wrong.
pub fn error(message: &str) {
    write(Level::Error, message);
}

fn write(level: Level, message: &str) {
    if cfg!(target_family = "wasm") {
        emit(level, message);
    } else {
        // In unit tests there is no host.
        eprintln!("{level:?}: {message}");
    }
}
