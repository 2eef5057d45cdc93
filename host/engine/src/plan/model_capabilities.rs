//! Whether models are made for what a suite asks of them, as far as their files lie on this machine.

use super::PlannedTask;
use super::model_files::reference_of;
use gage_backend::gguf::{Gguf, Purpose};
use gage_config::{BackendKind, LlamaCppConfig, PipelineConfig, Problems, RequestKind, Span, shown_path};
use std::collections::HashMap;
use std::path::Path;

/// Finds files that are no models but are named as such, and the other way round. `gguf` is what the file that `key` names
/// says of itself.
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
            "{} does not make tokens of images; `mmproj` is the file that is published beside a vision model",
            shown_path(path)
        )),
        _ => gguf.no_model(path).or_else(|| gguf.unknown_architecture(path)),
    };
    if let Some(message) = wrong {
        problems.error(span, key, message);
    }
}

/// Finds what is asked of models that are not made for it.
pub(super) fn check_asked<'t>(
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
    let limits = |backend_id: &str, is_for_vectors: bool| {
        let gguf = models.get(backend_id)?;
        let can = if is_for_vectors { gguf.purpose().makes_vectors() } else { gguf.predicts() };
        (!can).then(|| gguf.purpose().limits().unwrap_or("is not made for that"))
    };
    for task in tasks {
        let step = &task.spec.steps.inference;
        let asked = match step.request {
            RequestKind::Generate => "generate",
            RequestKind::Loglikelihood => "loglikelihood",
            RequestKind::RollingLoglikelihood => "rolling_loglikelihood",
        };
        let id = &task.role.backend_id;
        if let Some(limits) = limits(id, false) {
            let message = format!("the backend `{id}` (llama_cpp) cannot do `{asked}`: its model {limits}");
            problems.error(step.span, "request", message);
        }
        let judges = task.judges.iter().flat_map(|judges| &judges.judges).map(|judge| &judge.role);
        for role in judges.chain(task.helpers().map(|helper| &helper.role)) {
            let id = &role.backend_id;
            if let Some(limits) = limits(id, false) {
                let message =
                    format!("the backend `{id}` (llama_cpp) cannot do `generate`: its model {limits}");
                problems.error(role.spans.backend_id, "backend_id", message);
            }
        }
        if let Some(embed) = &task.embed {
            let id = &embed.role.backend_id;
            if let Some(limits) = limits(id, true) {
                let message = format!("the backend `{id}` (llama_cpp) has no embeddings: its model {limits}");
                problems.error(embed.step.span, "adapter_id", message);
            }
        }
    }
}
