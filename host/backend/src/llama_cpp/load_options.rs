//! What a model is opened with, and what can be wrong with it.

use gage_config::{CacheType, FlashAttention, SplitMode};
use gage_core::SamplingParams;
use gage_template::ChatTemplateError;
use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::PathBuf;

pub use gage_config::{ChatTemplate as ChatTemplateChoice, Isolation};

/// Context length where neither the configuration nor the model's training asks for less.
pub const DEFAULT_CONTEXT_LENGTH: u32 = 4096;

/// Most answers that can be generated together.
const MAX_SLOTS: u32 = 64;

/// Tokens of a call where figures must not depend on how large calls are.
const FIXED_CALL: usize = 64;

/// Most memory for the logits of one call, in bytes.
const LOGITS_BYTES: usize = 128 << 20;

/// What a model is opened with, by whoever asks it.
#[derive(Clone, Debug)]
pub struct LlamaCppOptions {
    /// What is loaded, and how it computes.
    pub model: ModelOptions,
    /// Where it runs.
    pub isolation: Isolation,
    /// How conversations become text.
    pub chat_template: ChatTemplateChoice,
    /// What all answers are held to.
    pub constraint: Option<gage_config::OutputConstraint>,
    /// How many alternatives are told with the log-probability of each token of an answer.
    pub logprobs: Option<u32>,
    /// Sampling parameters where a request does not say otherwise.
    pub default_params: SamplingParams,
}

/// What a model is loaded with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelOptions {
    /// The GGUF file.
    pub model_path: PathBuf,
    /// Most tokens of one sequence, prompt and answer; default: what the model was trained for,
    /// at most 4096.
    pub context_length: Option<u32>,
    /// How many answers are generated together, 1 to 64; default 8.
    pub slots: u32,
    /// Threads of computation; default: all that the machine has.
    pub threads: Option<u32>,
    /// Most tokens of one call of the model; default 512.
    pub batch_size: u32,
    /// Layers to keep on the GPU, in builds that have one; default 0.
    pub gpu_layers: u32,
    /// The GPU for what is not split; default the first.
    pub main_gpu: Option<u32>,
    /// The devices that the model is split over; empty for all.
    pub devices: Vec<u32>,
    /// How it is split: `layer`, `row` or `none`.
    pub split_mode: String,
    /// `auto`, `on` or `off`, as llama.cpp numbers them: -1, 1, 0.
    pub flash_attention: i32,
    /// How keys are stored, as the name of a type.
    pub cache_type_k: String,
    /// How values are stored.
    pub cache_type_v: String,
    /// Whether no figure depends on what else is in flight.
    pub deterministic: bool,
    /// Whether prompts that are too long lose their beginning rather than fail.
    pub truncates_prompts: bool,
    /// An adapter on top of the model, and how strongly it counts.
    pub lora: Option<(PathBuf, f32)>,
    /// The GGUF file of what makes tokens of images.
    pub mmproj: Option<PathBuf>,
    /// Most tokens of one image, for models whose images differ in them.
    pub image_max_tokens: Option<u32>,
    /// A grammar that answers will be held to, so that one that is wrong is found before a request comes.
    pub grammar: Option<String>,
}

impl ModelOptions {
    /// This file with all defaults.
    pub fn new(model_path: PathBuf) -> ModelOptions {
        ModelOptions {
            model_path,
            context_length: None,
            slots: 8,
            threads: None,
            batch_size: 512,
            gpu_layers: 0,
            main_gpu: None,
            devices: Vec::new(),
            split_mode: split_name(SplitMode::Layer),
            flash_attention: flash_number(FlashAttention::Auto),
            cache_type_k: "f16".to_owned(),
            cache_type_v: "f16".to_owned(),
            deterministic: false,
            truncates_prompts: false,
            lora: None,
            mmproj: None,
            image_max_tokens: None,
            grammar: None,
        }
    }
}

/// The number that llama.cpp has for a way of attention.
pub fn flash_number(choice: FlashAttention) -> i32 {
    match choice {
        FlashAttention::Auto => -1,
        FlashAttention::Off => 0,
        FlashAttention::On => 1,
    }
}

/// The name of a type, as it is written in a configuration.
pub fn cache_name(choice: CacheType) -> String {
    let name = CacheType::NAMES.iter().find(|(_, known)| *known == choice).map(|(name, _)| *name);
    name.unwrap_or("f16").to_owned()
}

/// The name of a way to split a model, as it is written in a configuration.
pub fn split_name(choice: SplitMode) -> String {
    let name = SplitMode::NAMES.iter().find(|(_, known)| *known == choice).map(|(name, _)| *name);
    name.unwrap_or("layer").to_owned()
}

fn cache_type(name: &str) -> KvCacheType {
    match name {
        "f32" => KvCacheType::F32,
        "bf16" => KvCacheType::BF16,
        "q8_0" => KvCacheType::Q8_0,
        "q4_0" => KvCacheType::Q4_0,
        _ => KvCacheType::F16,
    }
}

/// Why a model could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlamaCppOpenError {
    /// The file cannot be read, or is not a model.
    #[error("{0}")]
    File(#[from] super::gguf::GgufError),
    /// An option is out of bounds.
    #[error("{0}")]
    Setting(String),
    /// llama.cpp does not start.
    #[error("llama.cpp cannot be initialised: {0}")]
    Runtime(String),
    /// llama.cpp refuses the file.
    #[error("llama.cpp cannot load the model file {path}: {reason}")]
    Load {
        /// The file.
        path: PathBuf,
        /// What llama.cpp says.
        reason: String,
    },
    /// There is not enough memory.
    #[error("{0}")]
    Memory(String),
    /// What the process of the model says.
    #[error("{0}")]
    Model(String),
    /// The chat template does not compile.
    #[error("{reason}; it is that of {origin}, give another one, or `none`")]
    ChatTemplate {
        /// Where it is from.
        origin: &'static str,
        /// Why it does not compile.
        reason: ChatTemplateError,
    },
    /// The thread or the process of the model could not be started, or ended.
    #[error("the model could not be started: {0}")]
    Ended(String),
}

/// The options with every default filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Most tokens of one sequence.
    pub context_length: usize,
    /// Answers that are generated together.
    pub slots: usize,
    /// Threads of computation.
    pub threads: i32,
    /// Most tokens of one call.
    pub call_tokens: usize,
    /// Most tokens of one call whose logits are wanted.
    pub call_rows: usize,
    /// Whether no figure depends on what else is in flight.
    pub deterministic: bool,
    /// Layers on the GPU.
    pub gpu_layers: u32,
    /// Tokens of an image that have to be computed in one call; 0 where none have to.
    pub image_tokens: usize,
}

impl Settings {
    /// Fills in the defaults, given what the model was trained for and how many tokens it knows.
    ///
    /// # Errors
    /// When an option is out of bounds.
    pub fn resolve(
        options: &ModelOptions,
        training_context: u32,
        vocabulary: usize,
    ) -> Result<Settings, LlamaCppOpenError> {
        let trained = if training_context == 0 { DEFAULT_CONTEXT_LENGTH } else { training_context };
        let context_length = options.context_length.unwrap_or(trained.min(DEFAULT_CONTEXT_LENGTH));
        if !(1..=MAX_SLOTS).contains(&options.slots) {
            let message = format!("slots: {} is not between 1 and {MAX_SLOTS}", options.slots);
            return Err(LlamaCppOpenError::Setting(message));
        }
        if context_length < 2 || options.batch_size == 0 || options.threads == Some(0) {
            let message = "context_length must be at least 2, batch_size and threads at least 1".to_owned();
            return Err(LlamaCppOpenError::Setting(message));
        }
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.map_or_else(available, to_usize);
        let asked = to_usize(options.batch_size).max(to_usize(options.slots));
        let call_rows = most_rows(vocabulary).min(asked).max(to_usize(options.slots));
        let (call_tokens, call_rows) = match (options.deterministic, options.gpu_layers) {
            (true, _) => (FIXED_CALL, FIXED_CALL),
            // llama.cpp asks for memory for the logits of all tokens; only on a GPU is it taken where none are wanted.
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
            gpu_layers: options.gpu_layers,
            image_tokens: 0,
        })
    }

    /// How many requests can be in flight with profit.
    pub fn concurrency(&self) -> usize {
        self.slots * 4
    }

    /// Cells of memory in all, in the blocks that llama.cpp allots.
    pub fn cells(&self) -> usize {
        let sequences = if self.deterministic { 1 } else { self.slots };
        // What options add to a prompt of full length.
        (self.context_length.saturating_mul(sequences)).next_multiple_of(256)
    }

    /// Most tokens of a call, whether of text or of an image.
    pub fn largest_call(&self) -> usize {
        self.call_tokens.max(self.image_tokens)
    }

    /// Parameters of the context for so many sequences.
    pub fn context_parameters(&self, options: &ModelOptions, sequences: usize) -> LlamaContextParams {
        // llama.cpp wants room for a token of each sequence, whatever a call holds.
        let tokens = to_u32(self.largest_call().max(sequences));
        // The fused kernel splits its sums by the number of threads.
        let flash = if self.deterministic { 0 } else { options.flash_attention };
        LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(to_u32(self.cells())))
            .with_n_batch(tokens)
            .with_n_ubatch(tokens)
            .with_n_seq_max(to_u32(sequences))
            .with_n_threads(self.threads)
            .with_n_threads_batch(self.threads)
            .with_flash_attention_policy(flash)
            .with_type_k(cache_type(&options.cache_type_k))
            .with_type_v(cache_type(&options.cache_type_v))
            .with_swa_full(true)
            .with_kv_unified(true)
    }
}

/// Most tokens of a call whose logits are wanted, for a model that knows so many tokens.
pub fn most_rows(vocabulary: usize) -> usize {
    (LOGITS_BYTES / vocabulary.max(1).saturating_mul(size_of::<f32>())).max(FIXED_CALL)
}

/// A number of a configuration as an index.
pub fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A size as llama.cpp takes it.
pub fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (512, 640, true, 0, (FIXED_CALL, FIXED_CALL)),
            (32, 640, true, 0, (FIXED_CALL, FIXED_CALL)),
        ] {
            let options = ModelOptions { batch_size, deterministic, gpu_layers, ..options() };
            let settings = Settings::resolve(&options, 4096, vocabulary);
            let found = settings.map(|settings| (settings.call_tokens, settings.call_rows)).ok();
            assert_eq!(found, Some(expected), "{batch_size}");
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
