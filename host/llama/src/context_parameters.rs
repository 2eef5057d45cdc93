//! Converts the settings of a model to llama.cpp's context parameters.

use gage_config::{CacheType, FlashAttention};
use gage_model_protocol::{ModelOptions, Settings, to_u32};
use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams};
use std::num::NonZeroU32;

/// Returns the parameters of a context for a number of sequences.
pub fn context_parameters(
    settings: &Settings,
    options: &ModelOptions,
    sequences: usize,
) -> LlamaContextParams {
    // llama.cpp requires room for one token of each sequence, even if calls are smaller.
    let tokens = to_u32(settings.largest_call().max(sequences));
    // The fused kernel splits its sums by the number of threads, which changes results.
    let flash = if settings.deterministic { FlashAttention::Off } else { options.flash_attention };
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(to_u32(settings.cells())))
        .with_n_batch(tokens)
        .with_n_ubatch(tokens)
        .with_n_seq_max(to_u32(sequences))
        .with_n_threads(settings.threads)
        .with_n_threads_batch(settings.threads)
        .with_flash_attention_policy(flash_policy(flash))
        .with_type_k(cache_type(options.cache_type_k))
        .with_type_v(cache_type(options.cache_type_v))
        .with_swa_full(true)
        .with_kv_unified(true)
}

/// Returns llama.cpp's number for an attention mode: `LLAMA_FLASH_ATTN_TYPE_*`.
fn flash_policy(choice: FlashAttention) -> i32 {
    match choice {
        FlashAttention::Auto => -1,
        FlashAttention::Off => 0,
        FlashAttention::On => 1,
    }
}

fn cache_type(kind: CacheType) -> KvCacheType {
    match kind {
        CacheType::F32 => KvCacheType::F32,
        CacheType::F16 => KvCacheType::F16,
        CacheType::Bf16 => KvCacheType::BF16,
        CacheType::Q8_0 => KvCacheType::Q8_0,
        CacheType::Q4_0 => KvCacheType::Q4_0,
    }
}
