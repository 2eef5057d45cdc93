//! Options that a model is loaded with.

use gage_config::{CacheType, FlashAttention, SplitMode};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Configured grammar that constrains answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrammarSource {
    /// GBNF, passed through unchanged.
    Gbnf(String),
    /// JSON Schema, which llama.cpp converts to a grammar.
    JsonSchema(String),
}

/// Options that a model is loaded with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelOptions {
    /// The GGUF file.
    pub model_path: PathBuf,
    /// Maximum number of tokens of one sequence, prompt and answer. Default: the training context, at most 4096.
    pub context_length: Option<u32>,
    /// Number of answers generated together, 1 to 64; default 8.
    pub slots: u32,
    /// Number of compute threads; default: all cores of the machine.
    pub threads: Option<u32>,
    /// Maximum number of tokens of one call of the model; default 512.
    pub batch_size: u32,
    /// Number of layers to keep on GPUs, if there are some; default: all that fit.
    pub gpu_layers: Option<u32>,
    /// GPU of a model that is not split; default: the first.
    pub main_gpu: Option<u32>,
    /// GPUs that the model is split over, by number; empty for all.
    pub devices: Vec<u32>,
    /// Split of the model over devices.
    pub split_mode: SplitMode,
    /// Use of the fused attention kernel.
    pub flash_attention: FlashAttention,
    /// Storage type of keys.
    pub cache_type_k: CacheType,
    /// Storage type of values.
    pub cache_type_v: CacheType,
    /// True if results must not depend on the other requests in flight.
    pub deterministic: bool,
    /// True if overlong prompts lose their beginning instead of failing.
    pub truncates_prompts: bool,
    /// Adapter to apply on top of the model, and its scale.
    pub lora: Option<(PathBuf, f32)>,
    /// GGUF file of the projector, which turns images into tokens.
    pub mmproj: Option<PathBuf>,
    /// Maximum number of tokens of one image, for models in which it varies.
    pub image_max_tokens: Option<u32>,
    /// Grammar that answers will be constrained to. It is checked at load time, before the first request.
    pub grammar: Option<GrammarSource>,
}

impl ModelOptions {
    /// Creates options for this file, with all defaults.
    pub fn new(model_path: PathBuf) -> ModelOptions {
        ModelOptions {
            model_path,
            context_length: None,
            slots: 8,
            threads: None,
            batch_size: 512,
            gpu_layers: None,
            main_gpu: None,
            devices: Vec::new(),
            split_mode: SplitMode::default(),
            flash_attention: FlashAttention::default(),
            cache_type_k: CacheType::default(),
            cache_type_v: CacheType::default(),
            deterministic: false,
            truncates_prompts: false,
            lora: None,
            mmproj: None,
            image_max_tokens: None,
            grammar: None,
        }
    }
}
