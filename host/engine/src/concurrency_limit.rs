//! Limits of the suite that hold a task below the concurrency of the run.

use crate::plan::Plan;
use gage_config::{BackendKind, BackendSpec, LoopMode, RoleAdapterSpec, TaskSpec};
use std::fmt;

/// A limit of the suite on the requests of a task, below the concurrency of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// The task.
    pub task_id: String,
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
        write!(formatter, "held at {} by `{}` of {}", self.size, self.key, self.owner)
    }
}

impl Plan {
    /// Returns the smallest limit of each task that the suite holds below the concurrency of the run.
    pub fn concurrency_limits(&self, concurrency: usize) -> Vec<ConcurrencyLimit> {
        let tasks = self.tasks.iter();
        tasks
            .filter_map(|task| ConcurrencyLimit::of(&task.spec, &task.role, &task.backend, concurrency))
            .collect()
    }
}

impl ConcurrencyLimit {
    /// Returns the smallest limit of a task if it is below the concurrency of the run. A task in sequential mode is not
    /// limited: it is meant to have one request in flight.
    pub(crate) fn of(
        spec: &TaskSpec,
        role: &RoleAdapterSpec,
        backend: &BackendSpec,
        concurrency: usize,
    ) -> Option<ConcurrencyLimit> {
        if spec.mode == LoopMode::Sequential {
            return None;
        }
        let of_task = || format!("the task `{}`", spec.task_id);
        let limits = [
            (max_concurrency(backend), "max_concurrency", format!("the backend `{}`", role.backend_id)),
            (role.pool_size, "resource_requirement.pool_size", format!("the role `{}`", role.adapter_id)),
            (spec.concurrency, "concurrency", of_task()),
            (spec.max_inflight, "max_inflight", of_task()),
        ];
        let limits = limits.into_iter().filter_map(|(size, key, owner)| Some((size?, key, owner)));
        let (size, key, owner) = limits.min_by_key(|(size, ..)| *size)?;
        let task_id = spec.task_id.clone();
        (size < concurrency).then_some(ConcurrencyLimit { task_id, size, key, owner, concurrency })
    }
}

/// Returns the limit that the suite sets for a server. A default is raised to the concurrency of the run.
fn max_concurrency(backend: &BackendSpec) -> Option<usize> {
    match &backend.kind {
        BackendKind::Http(config) => config.limits.max_concurrency,
        BackendKind::LlamaCpp(_) | BackendKind::CustomScript(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::{Environment, load};

    /// Returns the limit of a task in words, for a run that wants 256 requests in flight.
    fn limit_of(backend: &str, role: &str, task: &str) -> Option<String> {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             backends:\n  - backend_id: server\n    type: openai_http\n    \
             config: {{base_url: 'http://a/v1', model: m{backend}}}\n\
             role_adapters: [{{adapter_id: dut, role_type: dut_model, backend_id: server{role}}}]\n\
             custom: {{steps: [{{step: inference}}]}}\ntasks: [{{task_id: t, dataset_id: d{task}}}]\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("test.yaml", &text, &[], &environment);
        let config = config.filter(|_| !problems.has_errors());
        let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
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
            (", max_concurrency: 64", "", ", mode: sequential", None),
        ] {
            let limit = limit_of(backend, role, task);
            assert_eq!(limit.as_deref(), expected, "{backend} {role} {task}");
        }
    }
}
