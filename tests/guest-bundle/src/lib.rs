//! Components that tests run, built from `tests/guests/`.

/// A metric that does what its input says.
pub const HOSTILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-hostile.wasm"));

/// A backend that answers from its configuration.
pub const SCRIPTED_BACKEND: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-scripted-backend.wasm"));
