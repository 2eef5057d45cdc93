//! Opens backends from their configuration.

use crate::anthropic_http::AnthropicHttp;
use crate::api::{Backend, MediaSupport};
use crate::cache::{CacheKeys, CachingBackend};
use crate::custom_script::CustomScript;
use crate::gemini_http::GeminiHttp;
use crate::http::certificates_of;
use crate::llama_cpp::{self, LlamaCppOptions};
use crate::open_error::OpenError;
use crate::open_options::OpenOptions;
use crate::openai_http::OpenAiHttp;
use crate::text_generation::TextGeneration;
use gage_config::{
    BackendKind, BackendSpec, Grants, HttpBackendConfig, HttpKind, LlamaCppConfig, Node, OnLongPrompt,
};
use gage_core::FieldError;
use gage_model_protocol::ModelOptions;
use gage_plugin::{BackendKind as BackendPlugins, Registry};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Checks the files that an HTTP backend is configured with, which are its certificates.
///
/// # Errors
/// For the first file that cannot be read or has other contents.
pub fn check_http_files(config: &HttpBackendConfig) -> Result<(), OpenError> {
    let read = certificates_of(&config.connection);
    read.map(drop).map_err(|(span, message)| OpenError { span, message, help: None })
}

/// Returns the media that a kind of backend accepts, and the name of the kind. `None` if that is unknown before opening
/// it.
pub fn media_support(kind: &BackendKind) -> Option<(MediaSupport, &'static str)> {
    match kind {
        BackendKind::Http(config) => {
            let takes = match config.kind {
                HttpKind::Tgi | HttpKind::HfInferenceEndpoint => MediaSupport::Nothing,
                HttpKind::OpenAi | HttpKind::Anthropic | HttpKind::Gemini => MediaSupport::Everything,
            };
            Some((takes, config.kind.name()))
        }
        BackendKind::LlamaCpp(config) => {
            config.mmproj.is_none().then_some((MediaSupport::Nothing, "llama_cpp"))
        }
        BackendKind::CustomScript(_) => None,
        // Nothing is sent.
        BackendKind::Answers(_) => Some((MediaSupport::Everything, "answers")),
    }
}

/// Opens a backend. Loading a model may take a while; nothing is sent over a network.
///
/// # Errors
/// Returns everything that is wrong with its configuration.
pub async fn open(
    spec: &BackendSpec,
    registry: &Registry,
    options: &OpenOptions,
) -> Result<Arc<dyn Backend>, Vec<OpenError>> {
    let (backend, grants) = open_kind(spec, registry, options).await?;
    let keys = CacheKeys::new(spec, backend.info(), grants.as_ref());
    Ok(match (&options.answers, keys) {
        (Some(answers), Some(keys)) => Arc::new(CachingBackend::new(backend, keys, Arc::clone(answers))),
        _ => backend,
    })
}

/// Opens the backend itself. Also returns what a component was granted.
async fn open_kind(
    spec: &BackendSpec,
    registry: &Registry,
    options: &OpenOptions,
) -> Result<(Arc<dyn Backend>, Option<Grants>), Vec<OpenError>> {
    let fail = |span, message: String| vec![OpenError { span, message, help: None }];
    match &spec.kind {
        BackendKind::Http(config) => {
            let backend = open_http(&spec.backend_id, config, options).map_err(|error| vec![error])?;
            Ok((backend, None))
        }
        BackendKind::LlamaCpp(config) => {
            let recorded_layers = options.gpu_layers.get(&spec.backend_id).copied();
            let model = llama_options(config, recorded_layers, &options.model_files);
            let backend = {
                let pinned = options.kernel_variants.get(&spec.backend_id);
                llama_cpp::open(model, &options.model_program, config.kernels, pinned, registry).await
            };
            Ok((backend.map_err(|error| fail(config.model_path_span, error))?, None))
        }
        // The engine knows the tasks that the answers are for.
        BackendKind::Answers(_) => {
            Err(fail(spec.span, "a file of answers answers only within a run".to_owned()))
        }
        BackendKind::CustomScript(config) => {
            let (family, _) = registry.find::<BackendPlugins>(&config.component).map_err(|error| {
                let help = error.help();
                vec![OpenError { span: config.component_span, message: error.to_string(), help }]
            })?;
            let json = config.config.as_ref().map_or(serde_json::Value::Null, Node::to_json);
            let component = family.configure(None, json).map_err(|problems| {
                let place = |problem: FieldError| OpenError {
                    span: config
                        .config
                        .as_ref()
                        .map_or(config.component_span, |node| node.nearest(&problem.pointer).span),
                    message: problem.message,
                    help: None,
                };
                problems.into_iter().map(place).collect::<Vec<_>>()
            })?;
            let grants = component.grants().clone();
            let backend = CustomScript::new(component, config.default_params.clone());
            Ok((Arc::new(backend.map_err(|message| fail(spec.span, message))?), Some(grants)))
        }
    }
}

fn open_http(
    backend_id: &str,
    config: &HttpBackendConfig,
    options: &OpenOptions,
) -> Result<Arc<dyn Backend>, OpenError> {
    let mut config = config.clone();
    config.limits.set_default(options.concurrency);
    // The result of a batch is whole.
    config.stream &= !options.batch.as_ref().is_some_and(|batch| batch.is_of(backend_id));
    Ok(match config.kind {
        HttpKind::OpenAi => Arc::new(OpenAiHttp::new(backend_id, config, options)?),
        HttpKind::Anthropic => Arc::new(AnthropicHttp::new(backend_id, config, options)?),
        HttpKind::Gemini => Arc::new(GeminiHttp::new(backend_id, config, options)?),
        HttpKind::Tgi | HttpKind::HfInferenceEndpoint => {
            Arc::new(TextGeneration::new(backend_id, config, options)?)
        }
    })
}

/// Returns the options of a model from its configuration.
/// Returns the options of a model. `recorded_layers` is the number of layers on GPUs with which the run began.
fn llama_options(
    config: &LlamaCppConfig,
    recorded_layers: Option<u32>,
    files: &BTreeMap<PathBuf, PathBuf>,
) -> LlamaCppOptions {
    let local = |name: &PathBuf| files.get(name).unwrap_or(name).clone();
    LlamaCppOptions {
        model: ModelOptions {
            context_length: config.context_length,
            slots: config.slots(),
            threads: config.threads,
            batch_size: config.batch_size,
            gpu_layers: config.gpu_layers.or(recorded_layers),
            main_gpu: config.main_gpu,
            devices: config.devices.clone(),
            split_mode: config.split_mode,
            flash_attention: config.flash_attention,
            cache_type_k: config.cache_type_k,
            cache_type_v: config.cache_type_v,
            deterministic: config.deterministic,
            truncates_prompts: config.on_long_prompt == OnLongPrompt::TruncateLeft,
            lora: config.lora.as_ref().map(|lora| (lora.path.clone(), lora.scale as f32)),
            mmproj: config.mmproj.as_ref().map(local),
            image_max_tokens: config.image_max_tokens,
            ..ModelOptions::new(local(&config.model_path))
        },
        replicas: config.replicas,
        chat_template: config.chat_template.clone(),
        constraint: config.constraint.clone(),
        logprobs: config.logprobs,
        hang_timeout: config.hang_timeout,
        default_params: config.default_params.clone(),
    }
}
