//! From the configuration of a backend to one that answers.

use crate::api::Backend;
use crate::custom_script::CustomScript;
use crate::llama_cpp::{self, LlamaCppOptions, ModelOptions, ModelProgram, cache_name, flash_number};
use crate::openai_http::OpenAiHttp;
use gage_config::{BackendKind, BackendSpec, LlamaCppConfig, Node, OnLongPrompt, OutputConstraint, Span};
use gage_core::Problem;
use gage_plugin::{BackendKind as BackendPlugins, Registry};
use std::sync::Arc;

/// A backend that cannot be opened, with the place in the configuration that is to blame.
#[derive(Clone, Debug)]
pub struct OpenError {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// What the backends of a process have in common.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// How the program calls itself to run a model; where nothing is given, models run on threads.
    pub model_program: Option<ModelProgram>,
}

/// Opens a backend. Loading a model may take a while; nothing is sent over a network.
///
/// # Errors
/// Everything that is wrong with its configuration.
pub async fn open(
    spec: &BackendSpec,
    registry: &Registry,
    options: &OpenOptions,
) -> Result<Arc<dyn Backend>, Vec<OpenError>> {
    let fail = |span, message: String| vec![OpenError { span, message, help: None }];
    match &spec.kind {
        BackendKind::OpenAiHttp(config) => {
            let client = OpenAiHttp::new(config.clone()).map_err(|message| fail(spec.span, message))?;
            Ok(Arc::new(client))
        }
        BackendKind::LlamaCpp(config) => {
            let program = options.model_program.clone();
            llama_cpp::open(llama_options(config), program)
                .await
                .map_err(|error| fail(config.model_path_span, error.to_string()))
        }
        BackendKind::CustomScript(config) => {
            let (family, _) = registry.find::<BackendPlugins>(&config.component).map_err(|error| {
                let help = error.help();
                vec![OpenError { span: config.component_span, message: error.to_string(), help }]
            })?;
            let json = config.config.as_ref().map_or(serde_json::Value::Null, Node::to_json);
            let component = family.configure(None, json).map_err(|problems| {
                let place = |problem: Problem| OpenError {
                    span: config
                        .config
                        .as_ref()
                        .map_or(config.component_span, |node| node.nearest(&problem.pointer).span),
                    message: problem.message,
                    help: None,
                };
                problems.into_iter().map(place).collect::<Vec<_>>()
            })?;
            let backend = CustomScript::new(component, config.default_params.clone());
            Ok(Arc::new(backend.map_err(|message| fail(spec.span, message))?))
        }
    }
}

/// The options of a model, as its configuration asks for them.
fn llama_options(config: &LlamaCppConfig) -> LlamaCppOptions {
    let constraint: Option<OutputConstraint> = config.constraint.clone();
    LlamaCppOptions {
        model: ModelOptions {
            context_length: config.context_length,
            slots: config.slots,
            threads: config.threads,
            batch_size: config.batch_size,
            gpu_layers: config.gpu_layers,
            main_gpu: config.main_gpu,
            devices: config.devices.clone(),
            flash_attention: flash_number(config.flash_attention),
            cache_type_k: cache_name(config.cache_type_k),
            cache_type_v: cache_name(config.cache_type_v),
            deterministic: config.deterministic,
            truncates_prompts: config.on_long_prompt == OnLongPrompt::TruncateLeft,
            lora: config.lora.as_ref().map(|lora| (lora.path.clone(), lora.scale as f32)),
            ..ModelOptions::new(config.model_path.clone())
        },
        isolation: config.isolation,
        chat_template: config.chat_template.clone(),
        constraint,
        logprobs: config.logprobs,
        default_params: config.default_params.clone(),
    }
}
