//! What parts of a suite need of each other.

use super::Scoring;
use gage_config::{PipelineConfig, Problems, TaskSpec};
use gage_core::Root;

/// A cost can be held to where every server that is asked has a price.
pub(super) fn check_budget(config: &PipelineConfig, problems: &mut Problems) {
    if config.budget.max_cost.is_none() {
        return;
    }
    let roles = config.tasks.iter().flat_map(|task| config.roles_of(task));
    let mut free: Vec<&str> = roles
        .filter_map(|role| config.backend_of(role))
        .filter(|backend| !backend.is_local() && config.price_of(backend).is_none())
        .map(|backend| backend.backend_id.as_str())
        .collect();
    free.sort_unstable();
    free.dedup();
    let Some(first) = free.first() else { return };
    let message = format!("`max_cost` needs a price for each backend; there is none for {}", free.join(", "));
    let help =
        format!("add to `pricing`: {{backend_id: {first}, prompt: …, completion: …}}, per million tokens");
    match config.budget.cost_span {
        Some(span) => problems.error(span, "budget.max_cost", message).help(help),
        None => problems.error_without_place(message).help(help),
    };
}

/// A metric that reads nothing but what a step leaves needs that step.
pub(super) fn check_needs(task: &TaskSpec, scoring: &Scoring, problems: &mut Problems) {
    let steps = &task.steps;
    let needs = [
        (Root::JudgeOutput, "judge", "auto_eval", steps.judge.is_some()),
        (Root::SupportOutput, "support", "inference", !steps.support.is_empty()),
    ];
    for (root, step, before, _) in needs.into_iter().filter(|(.., is_there)| !is_there) {
        for (spec, planned) in task.metrics.iter().zip(&scoring.metrics) {
            let of_step = |input: &gage_plugin::Input| {
                !input.paths.is_empty() && input.paths.iter().all(|path| path.root() == root)
            };
            if let Some(input) = planned.metric.inputs().iter().find(|input| of_step(input)) {
                let path = input.paths.first().map_or(step, |path| path.as_str());
                let message = format!(
                    "the metric `{}` reads `{path}`, and the task `{}` has no step `{step}`",
                    planned.metric_id, task.task_id
                );
                problems
                    .error(spec.span, "metrics", message)
                    .help(format!("add {{step: {step}}} before `{before}`, or leave the metric out"));
            }
        }
    }
}
