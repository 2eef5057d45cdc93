//! What parts of a suite need of each other.

use super::Scoring;
use gage_config::{MetricSpec, PipelineConfig, Problems, TaskSpec};
use gage_core::Root;
use gage_plugin::ValueDescription;

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

/// A margin as wide as the whole scale of its metric can never be exceeded, so a gate with it is none.
pub(super) fn check_gate(config: &PipelineConfig, scorings: &[&Scoring], problems: &mut Problems) {
    for gate in &config.gate {
        let of_gate =
            |scoring: &&&Scoring| gate.task_id.as_ref().is_none_or(|task_id| *task_id == scoring.task_id);
        let mut metrics = scorings.iter().filter(of_gate).flat_map(|scoring| &scoring.metrics);
        let Some(planned) = metrics.find(|metric| metric.metric_id == gate.metric_id) else { continue };
        let values = &planned.metric.description().values;
        let of_primary = match planned.aggregation.as_str() {
            "pass_rate" => Some([0.0, 1.0]),
            _ => values.first().and_then(ValueDescription::scale),
        };
        let of_sub = |name: &str| values.iter().find(|value| value.name == name)?.scale();
        let asked = std::iter::once((gate.metric_id.clone(), gate.margin, of_primary)).chain(
            gate.sub_scores
                .iter()
                .map(|sub| (format!("{} · {}", gate.metric_id, sub.name), sub.margin, of_sub(&sub.name))),
        );
        for (name, margin, scale) in asked {
            let Some([low, high]) = scale.filter(|[low, high]| margin >= high - low) else { continue };
            let message = format!(
                "the margin {margin} of `{name}` is as wide as its whole scale, from {low} to {high}: no run could lose \
                 more, so the gate could never fail"
            );
            let help = format!("name the largest loss that you accept, such as {}", (high - low) / 100.0);
            problems.error(gate.span, "gate.margin", message).help(help);
        }
    }
}

/// A metric that reads nothing but what a step leaves needs that step.
pub(super) fn check_needs(task: &TaskSpec, scoring: &Scoring, problems: &mut Problems) {
    for lack in lacks(task, task, scoring) {
        let Lack { root, step, .. } = lack;
        let message = format!("{}, and the task `{}` has no step `{step}`", lack.reads(), task.task_id);
        problems.error(lack.metric.span, "metrics", message).help(format!(
            "add {{step: {step}}} before `{}`, or leave the metric out; what Samples bring along themselves is read by \
             the path `sample.{}`",
            if root == Root::JudgeOutput { "auto_eval" } else { "inference" },
            lack.path
        ));
    }
}

/// The same for answers that were given already, of the task as it was `asked`: what it left out then is not made up for.
pub(super) fn check_answers(task: &TaskSpec, asked: &TaskSpec, scoring: &Scoring, problems: &mut Problems) {
    for lack in lacks(task, asked, scoring) {
        let message = format!(
            "{}, and the run has none: its task `{}` had no step `{}`",
            lack.reads(),
            task.task_id,
            lack.step
        );
        problems.error(lack.metric.span, "metrics", message).help(format!(
            "scoring again asks no model: run the suite with {{step: {}}}, or score with other metrics; what Samples bring \
             along themselves is read by the path `sample.{}`",
            lack.step, lack.path
        ));
    }
}

/// A metric that reads nothing but what a step leaves that a task does not have.
struct Lack<'spec> {
    metric: &'spec MetricSpec,
    root: Root,
    step: &'static str,
    path: String,
}

impl Lack<'_> {
    fn reads(&self) -> String {
        format!("the metric `{}` reads `{}`", self.metric.metric_id, self.path)
    }
}

/// What the metrics of a task lack in its `asked` form.
fn lacks<'spec>(task: &'spec TaskSpec, asked: &TaskSpec, scoring: &Scoring) -> Vec<Lack<'spec>> {
    let steps = &asked.steps;
    let needs = [
        (Root::JudgeOutput, "judge", steps.judge.is_some()),
        (Root::SupportOutput, "support", !steps.support.is_empty()),
    ];
    let mut lacks = Vec::new();
    for (root, step, _) in needs.into_iter().filter(|(.., is_there)| !is_there) {
        for (metric, planned) in task.metrics.iter().zip(&scoring.metrics) {
            let of_step = |input: &&gage_plugin::Input| {
                !input.paths.is_empty() && input.paths.iter().all(|path| path.root() == root)
            };
            if let Some(input) = planned.metric.inputs().iter().find(of_step) {
                let path = input.paths.first().map_or(step, |path| path.as_str()).to_owned();
                lacks.push(Lack { metric, root, step, path });
            }
        }
    }
    lacks
}
