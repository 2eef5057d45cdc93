//! Planning of the step `embed`.

use gage_config::{
    BackendKind, BackendSpec, EmbedStep, HttpKind, PipelineConfig, Problems, RoleAdapterSpec, TaskSpec,
};
use std::sync::Arc;

/// The role that embeds answers, and the texts to compare.
pub struct PlannedEmbed {
    /// The role.
    pub role: Arc<RoleAdapterSpec>,
    /// The texts.
    pub step: EmbedStep,
}

/// Plans the step `embed` of a task, if it has one.
pub(super) fn plan_embed(
    config: &PipelineConfig,
    task: &TaskSpec,
    problems: &mut Problems,
) -> Option<Option<Arc<PlannedEmbed>>> {
    let Some(step) = &task.steps.embed else { return Some(None) };
    let role = config.embed_role_of(step)?;
    if let Some(backend) = config.backend_of(role).filter(|backend| !has_embeddings(backend)) {
        let message = format!("the backend `{}` has no embeddings, which `embed` needs", backend.backend_id);
        problems
            .error(step.span, "adapter_id", message)
            .help("use a backend of the type `llama_cpp` or `openai_http`");
    }
    Some(Some(Arc::new(PlannedEmbed { role: Arc::clone(role), step: step.clone() })))
}

/// Returns true if a backend supports embeddings.
fn has_embeddings(backend: &BackendSpec) -> bool {
    match &backend.kind {
        BackendKind::LlamaCpp(_) => true,
        BackendKind::Http(http) => http.kind == HttpKind::OpenAi,
        BackendKind::CustomScript(_) | BackendKind::Answers(_) => false,
    }
}
