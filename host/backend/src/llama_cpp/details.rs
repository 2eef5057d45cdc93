//! What the record of a run says of a model.

use super::load_options::ModelOptions;
use super::model::{BINDINGS_VERSION, SOURCES_VERSION};
use super::protocol::LoadedModel;
use super::sampling::DEFAULT_SEED;
use super::scheduler::DEFAULT_MAX_NEW_TOKENS;
use gage_core::Object;
use serde_json::{Value, json};

/// What a model is and how it is run; what is not known is left out.
pub fn details_of(loaded: &LoadedModel, options: &ModelOptions, is_apart: bool) -> Object {
    let LoadedModel { facts, settings, kernels, projector } = loaded;
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
        "isolation": if is_apart { "process" } else { "thread" },
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
        "default_seed": DEFAULT_SEED,
        "default_max_new_tokens": DEFAULT_MAX_NEW_TOKENS,
        "llama_cpp_2": BINDINGS_VERSION,
        "llama_cpp_sys_2": SOURCES_VERSION,
    });
    match details {
        Value::Object(mut details) => {
            details.retain(|_, value| !value.is_null());
            details
        }
        _ => Object::new(),
    }
}
