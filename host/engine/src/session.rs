//! A plan with its models loaded.

pub(crate) mod datasets;
mod given_answers;
pub(crate) mod media;
pub(crate) mod models;
pub(crate) mod prompts;

use crate::plan::{Plan, PlannedTask};
use crate::session::datasets::Datasets;
use crate::session::given_answers::GivenAnswers;
use crate::session::media::check_first_row;
use gage_backend::{Backend, Capabilities, OpenError, OpenOptions, RoleModel, RoleModels, open};
use gage_config::{AnswersConfig, BackendKind, Problems, RequestKind};
use gage_core::{Object, PinnedFiles};
use gage_plugin::{Models, PluginOrigin, Registry};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The backends of a run, by id.
pub struct Session {
    backends: HashMap<String, Arc<dyn Backend>>,
    /// Files of the plugins that the run uses.
    plugin_files: Arc<PinnedFiles>,
    /// Origins of the plugins that the run uses.
    plugin_origins: Vec<PluginOrigin>,
}

impl Session {
    /// Opens every backend that the plan needs, and checks that each supports its requests.
    pub async fn open(
        plan: &Plan,
        registry: &Registry,
        options: &OpenOptions,
        problems: &mut Problems,
    ) -> Option<Session> {
        let options = with_permissions(options, plan);
        let mut backends: HashMap<String, Arc<dyn Backend>> = HashMap::new();
        for spec in plan.backends() {
            let opened = match &spec.kind {
                BackendKind::Answers(config) => {
                    given_answers(config, &spec.backend_id, plan).map_err(|error| vec![error])
                }
                _ => open(spec, registry, &options).await,
            };
            match opened {
                Ok(backend) => {
                    backends.insert(spec.backend_id.clone(), backend);
                }
                Err(errors) => {
                    for error in errors {
                        // A missing key was a warning before, because a replay needs none.
                        for key in ["api_key_env", "api_key_file"] {
                            problems.remove_warnings(key, error.span);
                        }
                        problems.error(error.span, "backends", error.message).help = error.help;
                    }
                }
            }
        }
        let mut check = |backend_id: &str, can: fn(&Capabilities) -> bool, lacks: &str, span, key: &str| {
            let Some(info) = backends.get(backend_id).map(|backend| backend.info()) else { return };
            if !can(&info.capabilities) {
                problems.error(span, key, format!("the backend `{backend_id}` ({}) {lacks}", info.kind));
            }
        };
        for task in &plan.tasks {
            let step = &task.spec.steps.inference;
            let can: fn(&Capabilities) -> bool = match step.request {
                RequestKind::Generate => |all| all.generate,
                RequestKind::Loglikelihood => |all| all.loglikelihood,
                RequestKind::RollingLoglikelihood => |all| all.rolling_loglikelihood,
            };
            let lacks = format!("cannot do `{}`", step.request.name());
            check(&task.role.backend_id, can, &lacks, step.span, "request");
        }
        let judges = plan.tasks.iter().flat_map(|task| &task.judges).flat_map(|judges| &judges.judges);
        let support_roles =
            plan.tasks.iter().flat_map(|task| task.support_roles()).map(|support_role| &support_role.role);
        for role in judges.map(|judge| &judge.role).chain(support_roles) {
            let span = role.spans.backend_id;
            check(&role.backend_id, |all| all.generate, "cannot do `generate`", span, "backend_id");
        }
        for embed in plan.tasks.iter().filter_map(|task| task.embed.as_ref()) {
            let id = &embed.role.backend_id;
            check(id, |all| all.embeddings, "has no embeddings", embed.step.span, "adapter_id");
        }
        set_models(plan, &backends);
        let plugin_files = Arc::clone(registry.used_files());
        let plugin_origins = registry.used_origins();
        let session = Session { backends, plugin_files, plugin_origins };
        if problems.has_errors() { None } else { Some(session) }
    }

    /// Checks the first row of each dataset whose backend does not accept all media. Unsupported media in it are an error
    /// before anything is sent. Later rows with unsupported media end as `invalid_sample`.
    pub fn check_media(&self, plan: &Plan, datasets: &Datasets, problems: &mut Problems) {
        for task in &plan.tasks {
            let Some(backend) = self.backend(&task.role.backend_id) else { continue };
            check_first_row(task, backend.info().capabilities.media, backend.info().kind, datasets, problems);
        }
    }

    /// Returns the counters of each backend, by id. Backends without counters are left out.
    pub fn statistics(&self) -> BTreeMap<String, Object> {
        let all = self.backends.iter().map(|(id, backend)| (id.clone(), backend.statistics()));
        all.filter(|(_, statistics)| !statistics.is_empty()).collect()
    }

    /// Checks that no model file changed after its model was loaded.
    pub(crate) fn check_model_files(&self) -> Result<(), ChangedModelFile> {
        self.backends.iter().try_for_each(|(id, backend)| {
            backend.check_files().map_err(|message| ChangedModelFile { backend_id: id.clone(), message })
        })
    }

    /// Returns a description of the answers of each file that no request has taken.
    pub(crate) fn unused_answers(&self) -> Vec<String> {
        self.backends.values().filter_map(|backend| backend.unused_answers()).collect()
    }

    /// Returns the files of the plugins that the run uses.
    pub(crate) fn plugin_files(&self) -> &PinnedFiles {
        &self.plugin_files
    }

    /// Returns the origins of the plugins that the run uses.
    pub(crate) fn plugin_origins(&self) -> &[PluginOrigin] {
        &self.plugin_origins
    }

    /// Returns the backend with this id.
    pub fn backend(&self, backend_id: &str) -> Option<&Arc<dyn Backend>> {
        self.backends.get(backend_id)
    }
}

/// Opens a file of answers for the tasks that it answers.
fn given_answers(
    config: &AnswersConfig,
    backend_id: &str,
    plan: &Plan,
) -> Result<Arc<dyn Backend>, OpenError> {
    let tasks = plan.tasks.iter().map(|task| &**task);
    let tasks: Vec<&PlannedTask> = tasks.filter(|task| task.backend.backend_id == backend_id).collect();
    Ok(Arc::new(GivenAnswers::open(config, &tasks)?))
}

/// Returns options that reach only the hosts that the suite of a plan may reach.
pub(crate) fn with_permissions(options: &OpenOptions, plan: &Plan) -> OpenOptions {
    OpenOptions { hosts: options.hosts.restricted(plan.config.resources.permissions()), ..options.clone() }
}

/// A model file that changed after its model was loaded.
pub(crate) struct ChangedModelFile {
    pub(crate) backend_id: String,
    /// Description of the change.
    pub(crate) message: String,
}

/// Passes the roles of the run to the components that are granted some.
fn set_models(plan: &Plan, backends: &HashMap<String, Arc<dyn Backend>>) {
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
