//! A plan with its models loaded.

use crate::datasets::Datasets;
use crate::plan::{Plan, PlannedTask};
use gage_backend::{Backend, MediaSupport, OpenOptions, RoleModel, RoleModels, open};
use gage_config::{DatasetSpec, Problems, RequestKind};
use gage_core::Object;
use gage_data::stream;
use gage_plugin::{Models, Registry};
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
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
            let request = task.spec.steps.inference.request;
            let can = match request {
                RequestKind::Generate => info.capabilities.generate,
                RequestKind::Loglikelihood => info.capabilities.loglikelihood,
                RequestKind::RollingLoglikelihood => info.capabilities.rolling_loglikelihood,
            };
            if !can {
                let message = format!(
                    "the backend `{}` ({}) cannot do `{}`",
                    task.role.backend_id,
                    info.kind,
                    request.name()
                );
                problems.error(task.spec.steps.inference.span, "request", message);
            }
        }
        let judges = plan.tasks.iter().flat_map(|task| &task.judges).flat_map(|judges| &judges.judges);
        let helpers = plan.tasks.iter().flat_map(|task| task.helpers()).map(|helper| &helper.role);
        for role in judges.map(|judge| &judge.role).chain(helpers) {
            let Some(backend) = backends.get(&role.backend_id) else { continue };
            let info = backend.info();
            if !info.capabilities.generate {
                let message =
                    format!("the backend `{}` ({}) cannot do `generate`", role.backend_id, info.kind);
                problems.error(role.spans.backend_id, "backend_id", message);
            }
        }
        for embed in plan.tasks.iter().filter_map(|task| task.embed.as_ref()) {
            let Some(backend) = backends.get(&embed.role.backend_id) else { continue };
            let info = backend.info();
            if !info.capabilities.embeddings {
                let message =
                    format!("the backend `{}` ({}) has no embeddings", embed.role.backend_id, info.kind);
                problems.error(embed.step.span, "adapter_id", message);
            }
        }
        give_models(plan, &backends);
        if problems.has_errors() { None } else { Some(Session { backends }) }
    }

    /// Looks at the first row of each dataset whose backend does not take all media: one with others is an error
    /// before anything is sent. Further rows that hold some end as `invalid_sample`.
    pub fn check_media(&self, plan: &Plan, datasets: &Datasets, problems: &mut Problems) {
        for task in &plan.tasks {
            let Some(backend) = self.backend(&task.role.backend_id) else { continue };
            let takes = backend.info().capabilities.media;
            if takes == MediaSupport::Everything || !begins_with_others(takes, task, datasets) {
                continue;
            }
            let message = format!(
                "the first Sample of `{}` holds media, and the backend `{}` ({}) takes {}",
                task.spec.dataset_id,
                task.role.backend_id,
                backend.info().kind,
                takes.described()
            );
            problems
                .error(task.spec.spans.dataset_id, "dataset_id", message)
                .help(match backend.info().kind {
                    "llama_cpp" if takes == MediaSupport::Nothing => {
                        "name the file that makes tokens of images as `mmproj` of the backend, or leave out what puts \
                         media into the Samples"
                    }
                    _ => "ask a backend that takes such media, or leave out what puts them into the Samples",
                });
        }
    }

    /// What each backend counted so far, by its id; without those that count nothing.
    pub fn statistics(&self) -> BTreeMap<String, Object> {
        let all = self.backends.iter().map(|(id, backend)| (id.clone(), backend.statistics()));
        all.filter(|(_, statistics)| !statistics.is_empty()).collect()
    }

    /// The backend with this id.
    pub fn backend(&self, backend_id: &str) -> Option<&Arc<dyn Backend>> {
        self.backends.get(backend_id)
    }
}

/// Whether the first row of a task becomes a Sample with media that a backend does not take. What cannot be read is
/// found when it is run.
fn begins_with_others(takes: MediaSupport, task: &PlannedTask, datasets: &Datasets) -> bool {
    let Some(dataset) = datasets.get(&task.spec.dataset_id) else { return false };
    // As the row lies in the file: to shuffle, all of them would have to be read.
    let spec = DatasetSpec { shuffle: false, ..task.dataset.spec.clone() };
    let Ok(rows) = dataset.open_as(&spec, Some(1)) else { return false };
    let mut holds_others = false;
    stream(rows, &dataset.preparation_of(&task.dataset), 1, &|| false, |prepared| {
        if let Ok(sample) = prepared.result {
            let of_examples = sample.few_shot_examples.iter().flat_map(|example| &example.messages);
            holds_others = takes.refuses(sample.messages.iter().chain(of_examples)).is_some();
        }
        ControlFlow::Break(())
    });
    holds_others
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
