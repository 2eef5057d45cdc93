//! Loads a model and says what it is.

use super::options::{LlamaCppOpenError, LlamaCppOptions};
use super::runtime::runtime;
use super::tokenizer::token_text;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The version of the crate that llama.cpp comes in, as the workspace pins it.
pub const BINDINGS_VERSION: &str = "0.1.160";

/// The version of the crate that holds llama.cpp's sources, as the workspace pins it.
pub const SOURCES_VERSION: &str = "0.1.161";

/// What a model says about itself.
#[derive(Clone, Debug, Default)]
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
    /// The chat template that the file carries.
    pub chat_template: Option<String>,
    /// The text of the token at which sequences begin.
    pub bos_token: String,
    /// The text of the token at which they end.
    pub eos_token: String,
    /// The texts of all control tokens.
    pub special_tokens: Vec<String>,
}

/// Checks that there is a model file, and gives its size in bytes.
///
/// # Errors
/// When it cannot be read, or is not in the GGUF format.
pub fn check_file(path: &Path) -> Result<u64, LlamaCppOpenError> {
    let failed = |reason| LlamaCppOpenError::File { path: path.to_owned(), reason };
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut magic = [0_u8; 4];
    match file.read_exact(&mut magic) {
        Ok(()) if &magic == b"GGUF" => Ok(size),
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(failed(error)),
        _ => Err(LlamaCppOpenError::NotGguf { path: path.to_owned() }),
    }
}

/// Loads the model.
///
/// # Errors
/// When llama.cpp cannot be started or refuses the file.
pub fn load(options: &LlamaCppOptions) -> Result<LlamaModel, LlamaCppOpenError> {
    let parameters = LlamaModelParams::default().with_n_gpu_layers(options.gpu_layers);
    LlamaModel::load_from_file(runtime()?, &options.model_path, &parameters).map_err(|error| {
        LlamaCppOpenError::Load { path: options.model_path.clone(), reason: error.to_string() }
    })
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
        chat_template: metadata("tokenizer.chat_template"),
        bos_token: token_text(&vocabulary, vocabulary.bos()),
        eos_token: token_text(&vocabulary, vocabulary.eos()),
        special_tokens: special_tokens.map(|token| token_text(&vocabulary, token)).collect(),
    }
}

/// The name of a GGUF `general.file_type`.
fn quantization(number: &str) -> String {
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

    #[test]
    fn what_is_no_model_file_is_told_apart() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(matches!(check_file(&manifest), Err(LlamaCppOpenError::NotGguf { .. })));
        let missing = manifest.with_file_name("missing.gguf");
        assert!(matches!(check_file(&missing), Err(LlamaCppOpenError::File { .. })));
    }
}
