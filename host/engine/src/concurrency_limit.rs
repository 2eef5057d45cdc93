//! Limits of the suite that hold a task below the concurrency of the run.

use crate::plan::{Plan, PlannedTask};
use gage_config::{BackendKind, BackendSpec, LoopMode, PipelineConfig, RoleAdapterSpec, TaskSpec};
use std::fmt;

/// Key and value by which a task has one request in flight.
const SEQUENTIAL_MODE: &str = "mode: sequential";

/// Requests that a limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedRequests {
    /// Those to the model under test.
    Model,
    /// Those to the judges.
    Judges,
}

/// A limit of the suite on the requests of a task, below the concurrency of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// The task.
    pub task_id: String,
    /// The requests that it holds.
    pub requests: LimitedRequests,
    /// Maximum number of its requests in flight.
    pub size: usize,
    /// Key of the suite that sets the limit.
    pub key: &'static str,
    /// Entry of the suite with that key, such as "the backend `server`".
    pub owner: String,
    /// Requests in flight that the run wants.
    pub concurrency: usize,
}

impl fmt::Display for ConcurrencyLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judged = if self.requests == LimitedRequests::Judges { "judging is " } else { "" };
        write!(formatter, "{judged}held at {} by `{}` of {}", self.size, self.key, self.owner)
    }
}

impl Plan {
    /// Returns the smallest limit of each task that the suite holds below the concurrency of the run, and that of its
    /// judges.
    pub fn concurrency_limits(&self, concurrency: usize) -> Vec<ConcurrencyLimit> {
        let of_task = |task: &PlannedTask| {
            let model = ConcurrencyLimit::of(&task.spec, &task.role, &task.backend, concurrency);
            let judges = task.judges.iter().flat_map(|planned| &planned.judges);
            let roles = judges.map(|judge| &*judge.role);
            let judges = ConcurrencyLimit::of_judges(&task.spec, roles, &self.config, concurrency);
            [model, judges].into_iter().flatten()
        };
        self.tasks.iter().flat_map(|task| of_task(task)).collect()
    }
}

/// A size that the suite sets, its key, and the entry that has it.
type WrittenLimit = (Option<usize>, &'static str, String);

impl ConcurrencyLimit {
    /// Returns the smallest limit of a task on requests to its model if it is below the concurrency of the run.
    pub(crate) fn of(
        spec: &TaskSpec,
        role: &RoleAdapterSpec,
        backend: &BackendSpec,
        concurrency: usize,
    ) -> Option<ConcurrencyLimit> {
        let of_task = || format!("the task `{}`", spec.task_id);
        let one = (spec.mode == LoopMode::Sequential).then_some(1);
        let limits = [
            (one, SEQUENTIAL_MODE, of_task()),
            of_backend(role, backend),
            of_role(role),
            (spec.concurrency, "concurrency", of_task()),
            (spec.max_inflight, "max_inflight", of_task()),
        ];
        ConcurrencyLimit::smallest(spec, LimitedRequests::Model, limits, concurrency)
    }

    /// Returns the smallest limit on requests to the judges of a task if it is below the concurrency of the run.
    fn of_judges<'r>(
        spec: &TaskSpec,
        roles: impl Iterator<Item = &'r RoleAdapterSpec>,
        config: &PipelineConfig,
        concurrency: usize,
    ) -> Option<ConcurrencyLimit> {
        let limits = roles.flat_map(|role| {
            let backend = config.backend_of(role).map(|backend| of_backend(role, backend));
            backend.into_iter().chain([of_role(role)])
        });
        ConcurrencyLimit::smallest(spec, LimitedRequests::Judges, limits, concurrency)
    }

    fn smallest(
        spec: &TaskSpec,
        requests: LimitedRequests,
        limits: impl IntoIterator<Item = WrittenLimit>,
        concurrency: usize,
    ) -> Option<ConcurrencyLimit> {
        let limits = limits.into_iter().filter_map(|(size, key, owner)| Some((size?, key, owner)));
        let (size, key, owner) = limits.min_by_key(|(size, ..)| *size)?;
        let task_id = spec.task_id.clone();
        (size < concurrency).then_some(ConcurrencyLimit { task_id, requests, size, key, owner, concurrency })
    }

    /// Returns how the suite can lift the limit.
    pub fn remedy(&self) -> &'static str {
        if self.key == SEQUENTIAL_MODE { "leave it out" } else { "raise it" }
    }
}

/// Returns the limit of a role's backend. A default for a server is raised to the concurrency of the run.
fn of_backend(role: &RoleAdapterSpec, backend: &BackendSpec) -> WrittenLimit {
    let owner = format!("the backend `{}`", role.backend_id);
    match &backend.kind {
        BackendKind::Http(config) => (config.limits.max_concurrency, "max_concurrency", owner),
        BackendKind::LlamaCpp(config) => {
            let slots = config.slots.and(config.slots_of_replicas());
            (slots.and_then(|slots| usize::try_from(slots).ok()), "slots", owner)
        }
        BackendKind::CustomScript(_) | BackendKind::Answers(_) => (None, "max_concurrency", owner),
    }
}

fn of_role(role: &RoleAdapterSpec) -> WrittenLimit {
    (role.pool_size, "resource_requirement.pool_size", format!("the role `{}`", role.adapter_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::{Environment, load};

    const SERVER: &str = "openai_http\n    config: {base_url: 'http://a/v1', model: m";
    const LOCAL: &str = "llama_cpp\n    config: {model_path: m.gguf";

    /// Returns the suite of a task with a backend, whose role under test is also its judge.
    fn config_of(backend: &str, role: &str, task: &str) -> PipelineConfig {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             backends:\n  - backend_id: server\n    type: {backend}}}\n\
             role_adapters: [{{adapter_id: dut, role_type: dut_model, backend_id: server{role}}}]\n\
             custom: {{steps: [{{step: inference}}]}}\ntasks: [{{task_id: t, dataset_id: d{task}}}]\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("test.yaml", &text, &[], &environment);
        let config = config.filter(|_| !problems.has_errors());
        config.unwrap_or_else(|| panic!("{}", problems.render(false)))
    }

    /// Returns the limit of a task in words, for a run that wants 256 requests in flight.
    fn limit_of(backend: &str, role: &str, task: &str) -> Option<String> {
        let config = config_of(backend, role, task);
        let task = &config.tasks[0];
        let role = config.inference_role_of(task).expect("a role");
        let backend = config.backend_of(role).expect("a backend");
        ConcurrencyLimit::of(task, role, backend, 256).map(|limit| limit.to_string())
    }

    #[test]
    fn a_written_limit_is_named_and_a_default_is_none() {
        for (backend, role, task, expected) in [
            ("", "", "", None),
            (", max_concurrency: 256", "", "", None),
            (
                ", max_concurrency: 64",
                "",
                "",
                Some("held at 64 by `max_concurrency` of the backend `server`"),
            ),
            (
                "",
                ", resource_requirement: {pool_size: 9}",
                "",
                Some("held at 9 by `resource_requirement.pool_size` of the role `dut`"),
            ),
            ("", "", ", concurrency: 8", Some("held at 8 by `concurrency` of the task `t`")),
            ("", "", ", max_inflight: 7", Some("held at 7 by `max_inflight` of the task `t`")),
            (
                ", max_concurrency: 64",
                "",
                ", concurrency: 8",
                Some("held at 8 by `concurrency` of the task `t`"),
            ),
            (
                ", max_concurrency: 64",
                "",
                ", mode: sequential",
                Some("held at 1 by `mode: sequential` of the task `t`"),
            ),
        ] {
            let limit = limit_of(&format!("{SERVER}{backend}"), role, task);
            assert_eq!(limit.as_deref(), expected, "{backend} {role} {task}");
        }
    }

    #[test]
    fn written_slots_of_a_model_file_are_named() {
        assert_eq!(limit_of(LOCAL, "", ""), None);
        for (settings, expected) in [
            ("slots: 4", Some("held at 4 by `slots` of the backend `server`")),
            ("slots: 4, replicas: 3", Some("held at 12 by `slots` of the backend `server`")),
            ("replicas: 2", None),
            // The number of GPUs is unknown.
            ("slots: 4, replicas: auto", None),
        ] {
            let limit = limit_of(&format!("{LOCAL}, {settings}"), "", "");
            assert_eq!(limit.as_deref(), expected, "{settings}");
        }
    }

    #[test]
    fn the_smallest_limit_of_the_judges_is_named() {
        let config = config_of(&format!("{SERVER}, max_concurrency: 9"), "", "");
        let (task, role): (_, &RoleAdapterSpec) = (&config.tasks[0], &config.role_adapters[0]);
        let narrow = RoleAdapterSpec { adapter_id: "narrow".to_owned(), pool_size: Some(2), ..role.clone() };
        let limit_of = |roles: &[&RoleAdapterSpec], concurrency: usize| {
            let roles = roles.iter().copied();
            let limit = ConcurrencyLimit::of_judges(task, roles, &config, concurrency);
            limit.map(|limit| limit.to_string())
        };
        assert_eq!(limit_of(&[], 16), None);
        assert_eq!(limit_of(&[role, &narrow], 2), None);
        let held = "judging is held at 9 by `max_concurrency` of the backend `server`";
        assert_eq!(limit_of(&[role], 16).as_deref(), Some(held));
        let held = "judging is held at 2 by `resource_requirement.pool_size` of the role `narrow`";
        assert_eq!(limit_of(&[role, &narrow], 16).as_deref(), Some(held));
    }
}
