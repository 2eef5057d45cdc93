//! Loads a model and says what it is.

use super::captured_log::captured;
use super::load_options::{LlamaCppOpenError, ModelOptions, to_usize};
use super::runtime::runtime;
use super::tokenizer::token_text;
use llama_cpp_2::list_llama_ggml_backend_devices;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::{LlamaModelParams, LlamaSplitMode};
use serde::{Deserialize, Serialize};

/// The version of the crate that llama.cpp comes in, as the workspace pins it.
pub const BINDINGS_VERSION: &str = "0.1.160";

/// The version of the crate that holds llama.cpp's sources, as the workspace pins it.
pub const SOURCES_VERSION: &str = "0.1.161";

/// What a model says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Such as `llama` or `gemma3`.
    pub architecture: Option<String>,
    /// The name that its makers gave it.
    pub name: Option<String>,
    /// Number of parameters.
    pub parameters: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
    /// How most tensors are stored, such as `Q4_K_M`.
    pub quantization: Option<String>,
    /// The context that it was trained for, in tokens.
    pub training_context: u32,
    /// Number of tokens.
    pub vocabulary_size: i32,
    /// Length of its vectors.
    pub embedding_length: i32,
    /// The chat template that the file carries.
    pub chat_template: Option<String>,
    /// The text of the token at which sequences begin.
    pub bos_token: String,
    /// The text of the token at which they end.
    pub eos_token: String,
    /// The texts of all control tokens.
    pub special_tokens: Vec<String>,
}

/// Loads the model, with so many layers on the GPU.
///
/// # Errors
/// When llama.cpp cannot be started or refuses the file.
pub fn load(options: &ModelOptions, gpu_layers: u32) -> Result<LlamaModel, LlamaCppOpenError> {
    let split_mode = match options.split_mode.as_str() {
        "row" => LlamaSplitMode::Row,
        "none" => LlamaSplitMode::None,
        _ => LlamaSplitMode::Layer,
    };
    // Before devices are named: it finds them.
    let runtime = runtime()?;
    let mut parameters =
        LlamaModelParams::default().with_n_gpu_layers(gpu_layers).with_split_mode(split_mode);
    if let Some(main_gpu) = options.main_gpu {
        parameters = parameters.with_main_gpu(i32::try_from(main_gpu).unwrap_or(0));
    }
    if !options.devices.is_empty() {
        let devices: Vec<usize> = options.devices.iter().copied().map(to_usize).collect();
        parameters = parameters
            .with_devices(&devices)
            .map_err(|error| LlamaCppOpenError::Setting(no_device(&error.to_string())))?;
    }
    let (loaded, log) = captured(|| LlamaModel::load_from_file(runtime, &options.model_path, &parameters));
    loaded.map_err(|error| {
        // The last lines only repeat that it failed.
        let reason = log.into_iter().find(|line| line.contains("error") || line.contains("unknown"));
        let reason = reason.unwrap_or_else(|| error.to_string());
        let path = options.model_path.clone();
        let help = if reason.contains("unknown model architecture") {
            "; this build of llama.cpp is older than the model, or the file is no language model"
        } else {
            ""
        };
        LlamaCppOpenError::Load { path, reason: format!("{reason}{help}") }
    })
}

/// Why devices cannot be used, with those that there are.
fn no_device(why: &str) -> String {
    let devices: Vec<String> = list_llama_ggml_backend_devices()
        .iter()
        .map(|device| format!("{} {} ({})", device.index, device.name, device.description))
        .collect();
    format!(
        "`devices`: {why}; this program computes on: {}. Name some of these by number, or leave it out",
        devices.join(", ")
    )
}

/// Whether the memory of a sequence can be cut to a prefix, which a recurrent state cannot.
pub fn keeps_prefixes(model: &LlamaModel) -> bool {
    !model.is_recurrent() && !model.is_hybrid()
}

/// What the model says about itself.
pub fn facts_of(model: &LlamaModel) -> ModelFacts {
    let vocabulary = model.vocab();
    let special_tokens = vocabulary.tokens().filter(|token| vocabulary.is_control(*token));
    let metadata = |key| model.meta_val_str(key).ok().filter(|text| !text.is_empty());
    ModelFacts {
        architecture: metadata("general.architecture"),
        name: metadata("general.name"),
        parameters: model.n_params(),
        tensor_bytes: model.size(),
        quantization: metadata("general.file_type").map(|number| quantization(&number)),
        training_context: model.n_ctx_train(),
        vocabulary_size: vocabulary.n_tokens(),
        embedding_length: model.n_embd_out(),
        chat_template: metadata("tokenizer.chat_template"),
        bos_token: token_text(&vocabulary, vocabulary.bos()),
        eos_token: token_text(&vocabulary, vocabulary.eos()),
        special_tokens: special_tokens.map(|token| token_text(&vocabulary, token)).collect(),
    }
}

/// The name of a GGUF `general.file_type`.
pub fn quantization(number: &str) -> String {
    let name = match number {
        "0" => "F32",
        "1" => "F16",
        "2" => "Q4_0",
        "3" => "Q4_1",
        "7" => "Q8_0",
        "8" => "Q5_0",
        "9" => "Q5_1",
        "10" => "Q2_K",
        "11" => "Q3_K_S",
        "12" => "Q3_K_M",
        "13" => "Q3_K_L",
        "14" => "Q4_K_S",
        "15" => "Q4_K_M",
        "16" => "Q5_K_S",
        "17" => "Q5_K_M",
        "18" => "Q6_K",
        "19" => "IQ2_XXS",
        "20" => "IQ2_XS",
        "21" => "Q2_K_S",
        "22" => "IQ3_XS",
        "23" => "IQ3_XXS",
        "24" => "IQ1_S",
        "25" => "IQ4_NL",
        "26" => "IQ3_S",
        "27" => "IQ3_M",
        "28" => "IQ2_S",
        "29" => "IQ2_M",
        "30" => "IQ4_XS",
        "31" => "IQ1_M",
        "32" => "BF16",
        "36" => "TQ1_0",
        "37" => "TQ2_0",
        "38" => "MXFP4",
        other => return format!("file type {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_the_workspace_pins() {
        let manifest = include_str!("../../../../Cargo.toml");
        for (name, version) in [("llama-cpp-2", BINDINGS_VERSION), ("llama-cpp-sys-2", SOURCES_VERSION)] {
            assert!(manifest.contains(&format!("{name} = {{ version = \"={version}\"")), "{name} {version}");
        }
    }
}
