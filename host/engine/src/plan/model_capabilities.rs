//! Checks of model capabilities, for models whose files are on this machine.

use super::PlannedTask;
use super::model_files::reference_of;
use gage_backend::gguf::{Gguf, Purpose};
use gage_config::{BackendKind, LlamaCppConfig, PipelineConfig, Problems, Span, shown_path};
use std::collections::HashMap;
use std::path::Path;

/// Reports files used as models that are not models, and the reverse. `gguf` is the metadata of the file under `key`.
pub(super) fn check_purpose(
    key: &'static str,
    path: &Path,
    span: Span,
    gguf: &Gguf,
    problems: &mut Problems,
) {
    let wrong = match key {
        "mmproj" if gguf.purpose() == Purpose::Projector => None,
        "mmproj" => Some(format!(
            "{} is not an image projector; `mmproj` is the file that is published with a vision model",
            shown_path(path)
        )),
        _ => gguf.no_model(path).or_else(|| gguf.unknown_architecture(path)),
    };
    if let Some(message) = wrong {
        problems.error(span, key, message);
    }
}

/// Reports requests that models do not support.
pub(super) fn check_requested_capabilities<'t>(
    config: &PipelineConfig,
    tasks: impl Iterator<Item = &'t PlannedTask>,
    problems: &mut Problems,
) {
    let local = |config: &LlamaCppConfig| match reference_of(&config.model_path) {
        None => Gguf::read(&config.model_path).ok(),
        Some(_) => None,
    };
    let models: HashMap<&str, Gguf> = config
        .backends
        .iter()
        .filter_map(|backend| match &backend.kind {
            BackendKind::LlamaCpp(llama) => Some((backend.backend_id.as_str(), local(llama)?)),
            _ => None,
        })
        .collect();
    let mut check = |backend_id: &str, can: fn(&Gguf) -> bool, lacks: &str, span: Span, key: &str| {
        if let Some(gguf) = models.get(backend_id).filter(|gguf| !can(gguf)) {
            let limits = gguf.purpose().limits().unwrap_or("is not made for that");
            let message = format!("the backend `{backend_id}` (llama_cpp) {lacks}: its model {limits}");
            problems.error(span, key, message);
        }
    };
    for task in tasks {
        let step = &task.spec.steps.inference;
        let asked = format!("cannot do `{}`", step.request.name());
        check(&task.role.backend_id, Gguf::predicts, &asked, step.span, "request");
        let judges = task.judges.iter().flat_map(|judges| &judges.judges).map(|judge| &judge.role);
        for role in judges.chain(task.support_roles().map(|support_role| &support_role.role)) {
            let (id, span) = (&role.backend_id, role.spans.backend_id);
            check(id, Gguf::predicts, "cannot do `generate`", span, "backend_id");
        }
        if let Some(embed) = &task.embed {
            let can = |gguf: &Gguf| gguf.purpose().makes_vectors();
            check(&embed.role.backend_id, can, "has no embeddings", embed.step.span, "adapter_id");
        }
    }
}
