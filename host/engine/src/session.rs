//! A plan with its models loaded.

use crate::plan::Plan;
use gage_backend::{Backend, OpenOptions, RoleModel, RoleModels, open};
use gage_config::{Problems, RequestKind};
use gage_plugin::{Models, Registry};
use std::collections::HashMap;
use std::sync::Arc;

/// The backends of a run, by id.
pub struct Session {
    backends: HashMap<String, Arc<dyn Backend>>,
}

impl Session {
    /// Opens every backend that the plan needs, and checks that each can do what is asked.
    pub async fn open(
        plan: &Plan,
        registry: &Registry,
        options: &OpenOptions,
        problems: &mut Problems,
    ) -> Option<Session> {
        let mut backends: HashMap<String, Arc<dyn Backend>> = HashMap::new();
        for spec in plan.backends() {
            match open(spec, registry, options).await {
                Ok(backend) => {
                    backends.insert(spec.backend_id.clone(), backend);
                }
                Err(errors) => {
                    for error in errors {
                        problems.error(error.span, "backends", error.message).help = error.help;
                    }
                }
            }
        }
        for task in &plan.tasks {
            let Some(backend) = backends.get(&task.role.backend_id) else { continue };
            let info = backend.info();
            let (can, what) = match task.spec.steps.inference.request {
                RequestKind::Generate => (info.capabilities.generate, "generate"),
                RequestKind::Loglikelihood => (info.capabilities.loglikelihood, "loglikelihood"),
            };
            if !can {
                let message =
                    format!("the backend `{}` ({}) cannot do `{what}`", task.role.backend_id, info.kind);
                problems.error(task.spec.steps.inference.span, "request", message);
            }
        }
        for judge in plan.tasks.iter().flat_map(|task| &task.judges).flat_map(|judges| &judges.judges) {
            let Some(backend) = backends.get(&judge.role.backend_id) else { continue };
            let info = backend.info();
            if !info.capabilities.generate {
                let message =
                    format!("the backend `{}` ({}) cannot do `generate`", judge.role.backend_id, info.kind);
                problems.error(judge.role.spans.backend_id, "backend_id", message);
            }
        }
        give_models(plan, &backends);
        if problems.has_errors() { None } else { Some(Session { backends }) }
    }

    /// The backend with this id.
    pub fn backend(&self, backend_id: &str) -> Option<&Arc<dyn Backend>> {
        self.backends.get(backend_id)
    }
}

/// Gives the roles of the run to the components that were granted some.
fn give_models(plan: &Plan, backends: &HashMap<String, Arc<dyn Backend>>) {
    let roles = plan.config.role_adapters.iter().filter_map(|role| {
        let backend = backends.get(&role.backend_id)?;
        let model = RoleModel {
            backend: Arc::downgrade(backend),
            sampling_params: role.sampling_params.clone(),
            pool_size: role.pool_size.unwrap_or(backend.info().max_concurrency),
        };
        Some((role.adapter_id.clone(), model))
    });
    let models: Arc<dyn Models> =
        Arc::new(RoleModels::new(roles.collect(), tokio::runtime::Handle::current()));
    for backend in backends.values() {
        backend.set_models(Arc::clone(&models));
    }
}
