//! The step `embed`, made ready.

use gage_config::{
    BackendKind, BackendSpec, EmbedStep, HttpKind, PipelineConfig, Problems, RoleAdapterSpec, TaskSpec,
};
use std::sync::Arc;

/// Who makes the vectors of answers, and which texts are compared.
pub struct PlannedEmbed {
    /// The role.
    pub role: RoleAdapterSpec,
    /// The texts.
    pub step: EmbedStep,
}

/// The step `embed` of a task, where it has one.
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
    Some(Some(Arc::new(PlannedEmbed { role: role.clone(), step: step.clone() })))
}

/// Returns whether a backend turns texts into vectors.
fn has_embeddings(backend: &BackendSpec) -> bool {
    match &backend.kind {
        BackendKind::LlamaCpp(_) => true,
        BackendKind::Http(http) => http.kind == HttpKind::OpenAi,
        BackendKind::CustomScript(_) => false,
    }
}
