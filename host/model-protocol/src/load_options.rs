//! The options that a model is loaded with.

use gage_config::{CacheType, FlashAttention, SplitMode};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A grammar that answers are held to, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrammarSource {
    /// GBNF, as it is.
    Gbnf(String),
    /// A JSON Schema, from which llama.cpp makes a grammar.
    JsonSchema(String),
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
    /// How it is split.
    pub split_mode: SplitMode,
    /// Whether attention is computed by the fused kernel.
    pub flash_attention: FlashAttention,
    /// How keys are stored.
    pub cache_type_k: CacheType,
    /// How values are stored.
    pub cache_type_v: CacheType,
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
    /// The grammar that answers will be held to, so that a wrong one is found before a request comes.
    pub grammar: Option<GrammarSource>,
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
