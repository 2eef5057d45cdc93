//! Settings of a model: its options with every default filled in.

use crate::load_options::ModelOptions;
use serde::{Deserialize, Serialize};

/// Context length unless the configuration sets one or the model was trained for less.
const DEFAULT_CONTEXT_LENGTH: u32 = 4096;

/// Maximum number of answers generated together.
const MAX_SLOTS: u32 = 64;

/// Tokens per call if results must not depend on the size of calls.
const FIXED_CALL_TOKENS: usize = 64;

/// Memory limit for the logits of one call, in bytes.
const MAX_LOGITS_BYTES: usize = 128 << 20;

/// The options with every default filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Maximum number of tokens of one sequence.
    pub context_length: usize,
    /// Number of answers generated together.
    pub slots: usize,
    /// Number of compute threads.
    pub threads: i32,
    /// Maximum number of tokens of one call.
    pub call_tokens: usize,
    /// Maximum number of tokens of one call whose logits are needed.
    pub call_rows: usize,
    /// True if results do not depend on the other requests in flight.
    pub deterministic: bool,
    /// Number of layers on the GPU.
    pub gpu_layers: u32,
    /// Number of image tokens that must be computed in one call; 0 if none must.
    pub image_tokens: usize,
}

impl Settings {
    /// Returns the options of a further load that must choose these settings, also if less memory is free.
    #[must_use]
    pub fn fixed_in(&self, options: &ModelOptions) -> ModelOptions {
        ModelOptions {
            context_length: Some(to_u32(self.context_length)),
            slots: to_u32(self.slots),
            gpu_layers: Some(self.gpu_layers),
            ..options.clone()
        }
    }

    /// Fills in the defaults, given the model's training context and vocabulary size.
    ///
    /// # Errors
    /// If an option is out of range.
    pub fn resolve(
        options: &ModelOptions,
        training_context: u32,
        vocabulary: usize,
    ) -> Result<Settings, String> {
        let trained = if training_context == 0 { DEFAULT_CONTEXT_LENGTH } else { training_context };
        let context_length = options.context_length.unwrap_or(trained.min(DEFAULT_CONTEXT_LENGTH));
        if !(1..=MAX_SLOTS).contains(&options.slots) {
            let message = format!("slots: {} is not between 1 and {MAX_SLOTS}", options.slots);
            return Err(message);
        }
        if context_length < 2 || options.batch_size == 0 || options.threads == Some(0) {
            let message = "context_length must be at least 2, batch_size and threads at least 1".to_owned();
            return Err(message);
        }
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.map_or_else(available, to_usize);
        let asked = to_usize(options.batch_size).max(to_usize(options.slots));
        let call_rows = max_logits_rows(vocabulary).min(asked).max(to_usize(options.slots));
        let gpu_layers = options.gpu_layers.unwrap_or(0);
        let (call_tokens, call_rows) = match (options.deterministic, gpu_layers) {
            (true, _) => (FIXED_CALL_TOKENS, FIXED_CALL_TOKENS),
            // llama.cpp reserves memory for the logits of all tokens, but only on a GPU is it really taken if they are
            // not needed.
            (false, 0) => (asked, call_rows),
            (false, _) => (call_rows, call_rows),
        };
        Ok(Settings {
            context_length: to_usize(context_length),
            slots: to_usize(options.slots),
            threads: i32::try_from(threads).unwrap_or(i32::MAX),
            call_tokens,
            call_rows,
            deterministic: options.deterministic,
            gpu_layers,
            image_tokens: 0,
        })
    }

    /// Returns how many requests can usefully be in flight.
    pub fn concurrency(&self) -> usize {
        self.slots * 4
    }

    /// Returns the total number of KV cache cells, rounded up to llama.cpp's block size.
    pub fn cells(&self) -> usize {
        let sequences = if self.deterministic { 1 } else { self.slots };
        // llama.cpp allocates cells in blocks of 256.
        (self.context_length.saturating_mul(sequences)).next_multiple_of(256)
    }

    /// Returns the maximum number of tokens of a call, whether of text or of an image.
    pub fn largest_call(&self) -> usize {
        self.call_tokens.max(self.image_tokens)
    }
}

/// Returns the maximum number of tokens of a call whose logits are needed, for a given vocabulary size.
pub fn max_logits_rows(vocabulary: usize) -> usize {
    (MAX_LOGITS_BYTES / vocabulary.max(1).saturating_mul(size_of::<f32>())).max(FIXED_CALL_TOKENS)
}

/// Converts a configured number to an index.
pub fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Converts a size to llama.cpp's type.
pub fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn options() -> ModelOptions {
        ModelOptions { threads: Some(2), ..ModelOptions::new(PathBuf::from("model.gguf")) }
    }

    #[test]
    fn the_context_is_that_of_the_training_but_not_endless() {
        for (asked, trained, expected) in
            [(None, 512, 512), (None, 131_072, 4096), (Some(8192), 4096, 8192), (None, 0, 4096)]
        {
            let options = ModelOptions { context_length: asked, ..options() };
            let settings = Settings::resolve(&options, trained, 1000);
            assert_eq!(settings.map(|settings| settings.context_length).ok(), Some(expected));
        }
    }

    #[test]
    fn calls_are_bounded_by_the_logits_and_fixed_where_it_matters() {
        for (batch_size, vocabulary, deterministic, gpu_layers, expected) in [
            (512, 640, false, 0, (512, 512)),
            (512, 262_144, false, 0, (512, 128)),
            (512, 262_144, false, 1, (128, 128)),
            (64, 262_144, false, 0, (64, 64)),
            (4, 640, false, 0, (8, 8)),
            (512, 640, true, 0, (FIXED_CALL_TOKENS, FIXED_CALL_TOKENS)),
            (32, 640, true, 0, (FIXED_CALL_TOKENS, FIXED_CALL_TOKENS)),
        ] {
            let gpu_layers = Some(gpu_layers);
            let options = ModelOptions { batch_size, deterministic, gpu_layers, ..options() };
            let settings = Settings::resolve(&options, 4096, vocabulary);
            let found = settings.map(|settings| (settings.call_tokens, settings.call_rows)).ok();
            assert_eq!(found, Some(expected), "{batch_size}");
        }
    }

    #[test]
    fn settings_of_a_load_lead_to_themselves() {
        let batch = ModelOptions { batch_size: 32, slots: 64, ..options() };
        for (what, configured, reduced) in [
            ("as configured", options(), options()),
            ("fewer layers", options(), ModelOptions { gpu_layers: Some(20), ..options() }),
            ("fewer slots", batch.clone(), ModelOptions { slots: 4, ..batch }),
            ("a shorter context", options(), ModelOptions { context_length: Some(700), ..options() }),
        ] {
            let loaded = Settings::resolve(&reduced, 1000, 262_144).expect("settings");
            let again = loaded.fixed_in(&configured);
            assert_eq!(Settings::resolve(&again, 1000, 262_144), Ok(loaded), "{what}");
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_an_error() {
        for wrong in [
            ModelOptions { slots: 0, ..options() },
            ModelOptions { slots: 65, ..options() },
            ModelOptions { batch_size: 0, ..options() },
            ModelOptions { threads: Some(0), ..options() },
            ModelOptions { context_length: Some(1), ..options() },
        ] {
            assert!(Settings::resolve(&wrong, 4096, 640).is_err(), "{wrong:?}");
        }
    }
}
