//! Requests to the model under test that are answered in bulk, and the suites that allow it.

use crate::RunnerError;
use crate::http_exchanges::HttpExchanges;
use gage_backend::HttpBatch;
use gage_config::{BackendKind, BackendSpec, HttpKind, RequestKind};
use gage_engine::Plan;
use std::sync::Arc;

/// Opens the batch of a run. `None` if requests are not answered in bulk.
///
/// # Errors
/// If the suite does not allow it, or a file cannot be used.
pub(crate) fn open(exchanges: &HttpExchanges, plan: &Plan) -> Result<Option<Arc<HttpBatch>>, RunnerError> {
    let batch = match exchanges {
        HttpExchanges::Live | HttpExchanges::Record(_) | HttpExchanges::Replay(_) => return Ok(None),
        HttpExchanges::WriteRequests(path) => HttpBatch::write(path, backend_of(plan)?)?,
        HttpExchanges::TakeResponses(paths) => HttpBatch::take(paths, backend_of(plan)?)?,
    };
    Ok(Some(Arc::new(batch)))
}

/// Returns the id of the backend that all tasks ask, if their requests are known before any answer.
fn backend_of(plan: &Plan) -> Result<&str, RunnerError> {
    let unsuited = |message: String| RunnerError::UnsuitedForBatch { message };
    let mut asked: Option<&BackendSpec> = None;
    for task in &plan.tasks {
        let task_id = &task.spec.task_id;
        let Some(backend) = plan.config.backend_of(&task.role) else { continue };
        if let Some(other) = asked.filter(|other| other.backend_id != backend.backend_id) {
            return Err(unsuited(format!(
                "the tasks ask several backends, `{}` and `{}`, and a batch goes to one; run them as suites of their own",
                other.backend_id, backend.backend_id
            )));
        }
        asked = Some(backend);
        let has_format = match &backend.kind {
            BackendKind::Http(config) => matches!(config.kind, HttpKind::OpenAi | HttpKind::Anthropic),
            _ => false,
        };
        if !has_format {
            return Err(unsuited(format!(
                "the backend `{}` has no batch format; use a backend of the type openai_http or anthropic_http",
                backend.backend_id
            )));
        }
        let request = task.spec.steps.inference.request;
        if request != RequestKind::Generate {
            return Err(unsuited(format!(
                "the task `{task_id}` has `request: {}`, and only answers of `request: generate` come from a batch",
                request.name()
            )));
        }
        if task.tools.is_some() {
            return Err(unsuited(format!(
                "the task `{task_id}` has `tools`: each request after the first depends on an answer, so none of them \
                 can be in a batch"
            )));
        }
        if !task.support.is_empty() {
            return Err(unsuited(format!(
                "the task `{task_id}` has the step `support` before `inference`: its requests depend on earlier \
                 answers, so they cannot be in a batch"
            )));
        }
    }
    asked
        .map(|backend| backend.backend_id.as_str())
        .ok_or_else(|| unsuited("the suite has no task".to_owned()))
}
