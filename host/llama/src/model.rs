//! Loads a model and describes it.

use crate::captured_log::captured;
use crate::load_error::LoadError;
use crate::runtime::runtime;
use crate::tokenizer::token_text;
use gage_config::SplitMode;
use gage_model_protocol::gguf::quantization_name;
use gage_model_protocol::{ModelFacts, ModelOptions};
use llama_cpp_2::LlamaBackendDevice;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::{LLAMA_CPP_MAX_DEVICES, LlamaModelParams, LlamaSplitMode};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Maximum number of GPUs that can be named to llama.cpp. It reads their list up to an empty place, and the list of the
/// crate has no more places than this.
const MAX_NAMED_DEVICES: usize = LLAMA_CPP_MAX_DEVICES - 1;

/// Function that llama.cpp calls after each loaded tensor. `Break` ends the load.
pub type LoadProgress = Rc<dyn Fn() -> ControlFlow<()>>;

/// Loads the model, with `gpu_layers` layers on the GPUs.
///
/// # Errors
/// If llama.cpp cannot be started or refuses the file.
pub fn load(
    options: &ModelOptions,
    gpus: &[LlamaBackendDevice],
    gpu_layers: u32,
    on_progress: &LoadProgress,
) -> Result<LlamaModel, LoadError> {
    let split_mode = match options.split_mode {
        SplitMode::Row => LlamaSplitMode::Row,
        SplitMode::None => LlamaSplitMode::None,
        SplitMode::Layer => LlamaSplitMode::Layer,
    };
    let runtime = runtime()?;
    let on_progress = Rc::clone(on_progress);
    let mut parameters = LlamaModelParams::default()
        .with_n_gpu_layers(gpu_layers)
        .with_split_mode(split_mode)
        .with_progress_callback(move |_| on_progress().is_continue());
    if !options.devices.is_empty() || options.split_mode == SplitMode::None {
        // With `split_mode: none`, these are only the GPU of the model.
        parameters = parameters
            .with_devices(&device_indexes(gpus)?)
            .map_err(|error| LoadError::Setting(format!("`devices`: llama.cpp refuses them: {error}")))?;
    }
    let (loaded, log) = captured(|| LlamaModel::load_from_file(runtime, &options.model_path, &parameters));
    loaded.map_err(|error| {
        // The last lines only repeat that loading failed.
        let reason = log.into_iter().find(|line| line.contains("error") || line.contains("unknown"));
        let reason = reason.unwrap_or_else(|| error.to_string());
        let path = options.model_path.clone();
        let help = if reason.contains("unknown model architecture") {
            "; this build of llama.cpp is older than the model, or the file is not a language model"
        } else {
            ""
        };
        LoadError::Load { path, reason: format!("{reason}{help}") }
    })
}

/// Returns the indexes of GPUs among all devices of llama.cpp.
fn device_indexes(gpus: &[LlamaBackendDevice]) -> Result<Vec<usize>, LoadError> {
    if gpus.len() > MAX_NAMED_DEVICES {
        return Err(LoadError::Setting(format!(
            "`devices`: a process can share its model among {MAX_NAMED_DEVICES} GPUs at most, and these are {}. Name \
             fewer, or set `replicas`, which share them",
            gpus.len()
        )));
    }
    Ok(gpus.iter().map(|gpu| gpu.index).collect())
}

/// Returns true if the memory of a sequence can be truncated to a prefix, which recurrent state does not allow.
pub fn keeps_prefixes(model: &LlamaModel) -> bool {
    !model.is_recurrent() && !model.is_hybrid()
}

/// Returns the metadata of the model.
pub fn facts_of(model: &LlamaModel) -> ModelFacts {
    let vocabulary = model.vocab();
    let special_tokens = vocabulary.tokens().filter(|token| vocabulary.is_control(*token));
    let metadata = |key| model.meta_val_str(key).ok().filter(|text| !text.is_empty());
    ModelFacts {
        architecture: metadata("general.architecture"),
        name: metadata("general.name"),
        parameters: model.n_params(),
        tensor_bytes: model.size(),
        quantization: metadata("general.file_type")
            .and_then(|number| number.parse().ok())
            .map(quantization_name),
        training_context: model.n_ctx_train(),
        vocabulary_size: vocabulary.n_tokens(),
        embedding_length: model.n_embd_out(),
        chat_template: metadata("tokenizer.chat_template"),
        bos_token: token_text(&vocabulary, vocabulary.bos()),
        eos_token: token_text(&vocabulary, vocabulary.eos()),
        special_tokens: special_tokens.map(|token| token_text(&vocabulary, token)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use llama_cpp_2::LlamaBackendDeviceType;

    #[test]
    fn number_of_named_gpus_has_a_maximum() {
        let gpu = |index| LlamaBackendDevice {
            index,
            name: format!("CUDA{index}"),
            description: String::new(),
            backend: "CUDA".to_owned(),
            memory_total: 0,
            memory_free: 0,
            device_type: LlamaBackendDeviceType::Gpu,
        };
        let gpus: Vec<LlamaBackendDevice> = (1..=16).map(gpu).collect();
        let most = device_indexes(&gpus[..15]).expect("the maximum");
        assert_eq!(most, (1..=15).collect::<Vec<usize>>());
        assert_eq!(
            device_indexes(&gpus).expect_err("too many").recorded("model_files"),
            "`devices`: a process can share its model among 15 GPUs at most, and these are 16. Name fewer, or set \
             `replicas`, which share them"
        );
    }
}
