//! Shared parts of the llama.cpp tests: the tiny model, and requests to it.

use gage_backend::{
    Backend, BackendError, Continuation, GenerateRequest, LoglikelihoodOutput, LoglikelihoodRequest,
    ModelProgram, OpenError, OpenOptions, open,
};
use gage_config::{Environment, load};
use gage_core::{ContinuationScore, Message, ModelOutput, Role, SamplingParams};
use gage_plugin::{HostOptions, PluginHost, Registry};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Returns the path of the tiny model.
pub fn tiny_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf")
}

/// Returns the program that these tests are built with.
pub fn model_program() -> ModelProgram {
    ModelProgram { file: Some(PathBuf::from(env!("CARGO_BIN_EXE_gage-model"))), log_filter: None }
}

/// Opens a model file with some settings.
pub async fn open_file(file: &Path, settings: &str) -> Result<Arc<dyn Backend>, Vec<OpenError>> {
    gage_recorded_messages::record_warnings("model_files");
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
         backends: [{{backend_id: b, type: llama_cpp, config: {{model_path: '{}'{settings}}}}}]\n\
         role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
         custom: {{steps: [{{step: inference}}]}}\n",
        file.display()
    );
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load("test.yaml", &text, &[], &environment);
    let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
    let options = OpenOptions { model_program: model_program(), ..OpenOptions::default() };
    open(&config.backends[0], registry(), &options).await
}

/// Returns a registry with the component that renders chat templates, which is compiled once for all tests.
fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("components"));
        let host = PluginHost::new(&HostOptions { cache_folder, ..HostOptions::default() });
        Registry::new(host.expect("an engine"), gage_plugin_bundle::COMPONENTS)
    })
}

/// Opens the tiny model with some settings.
pub async fn tiny(settings: &str) -> Arc<dyn Backend> {
    open_file(&tiny_file(), settings).await.unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Returns a conversation of one question.
pub fn question(text: &str) -> Vec<Message> {
    vec![Message::text(Role::User, text)]
}

/// Requests an answer.
pub async fn try_generate(
    backend: &dyn Backend,
    text: &str,
    params: SamplingParams,
) -> Result<ModelOutput, BackendError> {
    let request = GenerateRequest {
        id: text.chars().take(20).collect(),
        messages: question(text).into(),
        prompt: None,
        params,
        tools: Vec::new(),
        tool_choice: None,
        draw: None,
        place: None,
    };
    Ok(backend.generate(Box::new(request)).await?.output)
}

/// Returns the answer to a question.
pub async fn generate(backend: &dyn Backend, text: &str, params: SamplingParams) -> ModelOutput {
    try_generate(backend, text, params).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the log-likelihoods of some answers.
pub async fn loglikelihood(backend: &dyn Backend, text: &str, options: &[String]) -> LoglikelihoodOutput {
    let continuation = |text: &String| Continuation { id: text.clone(), text: text.clone() };
    let request = LoglikelihoodRequest {
        id: text.to_owned(),
        messages: question(text).into(),
        prompt: None,
        continuations: options.iter().map(continuation).collect(),
    };
    backend.loglikelihood(request).await.unwrap_or_else(|error| panic!("{text}: {error}")).output
}

/// Returns the most likely option.
pub fn best(scores: &[ContinuationScore]) -> &str {
    let best = scores.iter().max_by(|one, two| one.logprob.total_cmp(&two.logprob)).expect("some");
    &best.id
}

/// Converts texts to the type that configuration and requests hold.
pub fn texts(options: &[&str]) -> Vec<String> {
    options.iter().map(|option| (*option).to_owned()).collect()
}

/// Returns a counter of the backend.
pub fn counted(backend: &dyn Backend, key: &str) -> u64 {
    backend.statistics().get(key).and_then(serde_json::Value::as_u64).unwrap_or_else(|| panic!("no {key}"))
}
