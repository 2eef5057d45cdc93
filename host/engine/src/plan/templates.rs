//! Compilation of the suite's templates.

use super::plugin_use::report_registry;
use gage_config::{
    ChatTemplate as ChatTemplateChoice, LlamaCppConfig, PipelineConfig, Problems, PromptSpec,
    RoleAdapterSpec, Span,
};
use gage_core::Object;
use gage_plugin::{Registry, RegistryError};
use gage_template::{ChatTemplate, PromptRenderer, TemplateSandbox};
use std::sync::Arc;

/// Compiles the prompt of a role, if it has one.
pub(super) fn plan_prompt(
    config: &PipelineConfig,
    role: &RoleAdapterSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Option<Arc<PromptRenderer>>> {
    let Some(spec) = config.prompt_of(role) else { return Some(None) };
    compile_prompt(spec, &role.prompt_params, registry, problems).map(Some)
}

/// Compiles a prompt, and reports each invalid template.
pub(super) fn compile_prompt(
    spec: &PromptSpec,
    params: &Object,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Arc<PromptRenderer>> {
    let sandbox = load_sandbox(registry, spec.span, "template", problems)?;
    match PromptRenderer::new(&sandbox, spec, params) {
        Ok(renderer) => Some(Arc::new(renderer)),
        Err(errors) => {
            for error in errors {
                let span = spec.messages.get(error.message).map_or(spec.span, |message| message.span);
                problems.error(span, "template", format!("the template is not valid: {error}"));
            }
            None
        }
    }
}

/// Compiles a chat template from the suite. The model's own template is checked when the model is opened.
pub(super) fn check_chat_template(llama: &LlamaCppConfig, registry: &Registry, problems: &mut Problems) {
    let ChatTemplateChoice::Text(text) = &llama.chat_template else { return };
    let (span, key) = (llama.chat_template_span, "chat_template");
    let Some(sandbox) = load_sandbox(registry, span, key, problems) else { return };
    if let Err(error) = ChatTemplate::compile(&sandbox, "the suite", text, "", "") {
        problems.error(span, key, error.to_string());
    }
}

/// Loads the component that renders templates. A failure is reported at the template.
pub(super) fn load_sandbox(
    registry: &Registry,
    span: Span,
    key: &str,
    problems: &mut Problems,
) -> Option<TemplateSandbox> {
    let report = |error: RegistryError| report_registry(&error, span, key, "template", problems);
    TemplateSandbox::load(registry).map_err(report).ok()
}
