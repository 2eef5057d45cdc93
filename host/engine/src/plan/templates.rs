//! Compilation of the suite's templates.

use gage_config::{
    ChatTemplate as ChatTemplateChoice, LlamaCppConfig, PipelineConfig, Problems, PromptSpec, RoleAdapterSpec,
};
use gage_core::Object;
use gage_template::{ChatTemplate, PromptRenderer};
use std::sync::Arc;

/// Compiles the prompt of a role, if it has one.
pub(super) fn plan_prompt(
    config: &PipelineConfig,
    role: &RoleAdapterSpec,
    problems: &mut Problems,
) -> Option<Option<Arc<PromptRenderer>>> {
    let Some(spec) = config.prompt_of(role) else { return Some(None) };
    compile_prompt(spec, &role.prompt_params, problems).map(Some)
}

/// Compiles a prompt, and reports each invalid template.
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

/// Compiles a chat template from the suite. The model's own template is checked when the model is opened.
pub(super) fn check_chat_template(llama: &LlamaCppConfig, problems: &mut Problems) {
    if let ChatTemplateChoice::Text(text) = &llama.chat_template
        && let Err(error) = ChatTemplate::compile(text, "", "")
    {
        problems.error(llama.chat_template_span, "chat_template", error.to_string());
    }
}
