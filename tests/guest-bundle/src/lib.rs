//! Components that tests run, built from `tests/guests/` and `sdk/examples/`.

/// A metric that does what its input says.
pub const HOSTILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-hostile.wasm"));

/// A backend that answers from its configuration.
pub const SCRIPTED_BACKEND: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-scripted-backend.wasm"));

/// A backend that reads the media of its messages.
pub const MEDIA_BACKEND: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-media-backend.wasm"));

/// A metric that reads the media of answers.
pub const MEDIA_METRIC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-media-metric.wasm"));

/// A backend that calls the host as its messages say.
pub const ASKING_BACKEND: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-asking-backend.wasm"));

/// A backend that measures texts with a role by every function of `llm`.
pub const MEASURING_BACKEND: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/gage-guest-measuring-backend.wasm"));

/// A metric that is written against the WIT contract, without the SDK.
pub const BARE_WORD_RECALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/word-recall.wasm"));

/// A backend that asks a server.
pub const HTTP_MODEL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/http-model.wasm"));

/// A backend that asks a role of the run.
pub const SELF_CONSISTENCY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/self-consistency.wasm"));
