//! Log lines to the host. Every plugin may write them.

use crate::bindings::log;
pub use crate::bindings::log::Level;

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

/// Returns whether the host would keep a line of this level. Saves building a message that is dropped; a result must not
/// depend on it. Needs a host with version 0.1.1 of the contract.
pub fn enabled(level: Level) -> bool {
    // Unit tests have no host, and show every line.
    !cfg!(target_family = "wasm") || log::enabled(level)
}

fn write(level: Level, message: &str) {
    if cfg!(target_family = "wasm") {
        log::emit(level, message);
    } else {
        // Unit tests have no host.
        eprintln!("{level:?}: {message}");
    }
}
