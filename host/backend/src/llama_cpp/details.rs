//! Details of a model for the record of a run.

use gage_core::Object;
use gage_model_protocol::{DEFAULT_MAX_NEW_TOKENS, DEFAULT_SEED, LoadedModel, ModelOptions};
use serde_json::{Value, json};

/// Returns a description of the model and its settings. Unknown values are omitted.
pub fn details_of(loaded: &LoadedModel, options: &ModelOptions) -> Object {
    let LoadedModel { facts, settings, kernels, projector, grammar: _, build } = loaded;
    let details = json!({
        "architecture": facts.architecture,
        "name": facts.name,
        "parameters": facts.parameters,
        "quantization": facts.quantization,
        "tensor_bytes": facts.tensor_bytes,
        "vocabulary_size": facts.vocabulary_size,
        "training_context_length": facts.training_context,
        "context_length": settings.context_length,
        "deterministic": settings.deterministic,
        "slots": settings.slots,
        "threads": settings.threads,
        "batch_size": settings.call_tokens,
        "gpu_layers": settings.gpu_layers,
        "cache_type_k": options.cache_type_k,
        "cache_type_v": options.cache_type_v,
        "lora_scale": options.lora.as_ref().map(|(_, scale)| scale),
        "mmproj_projector": projector,
        "image_max_tokens": options.image_max_tokens,
        "kernels": kernels,
        "kernel_variant": build.variant,
        "kernel_modules": (!build.modules.is_empty()).then_some(&build.modules),
        "devices": (!build.devices.is_empty()).then_some(&build.devices),
        "default_seed": DEFAULT_SEED,
        "default_max_new_tokens": DEFAULT_MAX_NEW_TOKENS,
        "llama_cpp_2": build.llama_cpp_2,
        "llama_cpp_sys_2": build.llama_cpp_sys_2,
    });
    match details {
        Value::Object(mut details) => {
            details.retain(|_, value| !value.is_null());
            details
        }
        _ => Object::new(),
    }
}
