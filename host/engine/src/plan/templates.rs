//! The templates that a suite writes: compiled, and everything that they name looked for.

use gage_config::{
    ChatTemplate as ChatTemplateChoice, LlamaCppConfig, PipelineConfig, Problems, PromptSpec, RoleAdapterSpec,
};
use gage_core::Object;
use gage_template::{ChatTemplate, PromptRenderer};
use std::sync::Arc;

/// The prompt of a role, where it has one.
pub(super) fn plan_prompt(
    config: &PipelineConfig,
    role: &RoleAdapterSpec,
    problems: &mut Problems,
) -> Option<Option<Arc<PromptRenderer>>> {
    let Some(spec) = config.prompt_of(role) else { return Some(None) };
    compile_prompt(spec, &role.prompt_params, problems).map(Some)
}

/// Compiles a prompt, and points at each template that is not valid.
pub(super) fn compile_prompt(
    spec: &PromptSpec,
    params: &Object,
    problems: &mut Problems,
) -> Option<Arc<PromptRenderer>> {
    match PromptRenderer::new(spec, params) {
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

/// Compiles a chat template that the suite gives; that of a model shows when the model is opened.
pub(super) fn check_chat_template(llama: &LlamaCppConfig, problems: &mut Problems) {
    if let ChatTemplateChoice::Text(text) = &llama.chat_template
        && let Err(error) = ChatTemplate::compile(text, "", "")
    {
        problems.error(llama.chat_template_span, "chat_template", error.to_string());
    }
}
