//! Warnings about gates that no run can pass, before a model is asked.

use gage_compare::{LeastSamples, least_samples};
use gage_config::{GateSpec, Problems};
use gage_engine::{Datasets, Plan, PlannedMetric, PlannedTask};
use gage_plugin::ValueDescription;

/// Warns about gates that cannot pass even if no sample changes, because their tasks have too few samples.
///
/// Datasets that are missing, and metrics that declare no scale, are not checked.
pub fn check_gates(plan: &Plan, datasets: &Datasets, max_samples: Option<u64>, problems: &mut Problems) {
    for gate in &plan.config.gate {
        for task in &plan.tasks {
            if gate.task_id.as_ref().is_some_and(|task_id| *task_id != task.spec.task_id) {
                continue;
            }
            for gated in gated_scores(gate, task) {
                check(&gated, gate, plan, task, (datasets, max_samples), problems);
            }
        }
    }
}

/// A gated score with a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct GatedScore {
    /// The metric, with its sub-score if there is one.
    pub name: String,
    /// The margin, in units of the score.
    pub margin: f64,
    /// The width of the scale.
    pub width: f64,
}

/// Returns the scores of a task that a gate is on. Those without a declared scale are left out.
pub fn gated_scores(gate: &GateSpec, task: &PlannedTask) -> Vec<GatedScore> {
    let Some(planned) = task.scoring.metrics.iter().find(|planned| planned.metric_id == gate.metric_id)
    else {
        return Vec::new();
    };
    let values = &planned.metric.description().values;
    let sub_scores = gate.sub_scores.iter().map(|sub| {
        let scale = values.iter().find(|value| value.name == sub.name).and_then(ValueDescription::scale);
        (format!("{} · {}", gate.metric_id, sub.name), sub.margin, scale)
    });
    std::iter::once((gate.metric_id.clone(), gate.margin, primary_scale(planned)))
        .chain(sub_scores)
        .filter_map(|(name, margin, scale)| {
            let width = scale.map(|[low, high]| high - low)?;
            (margin < width).then_some(GatedScore { name, margin, width })
        })
        .collect()
}

fn primary_scale(planned: &PlannedMetric) -> Option<[f64; 2]> {
    match planned.aggregation.as_str() {
        "pass_rate" => Some([0.0, 1.0]),
        _ => planned.metric.description().values.first().and_then(ValueDescription::scale),
    }
}

fn check(
    gated: &GatedScore,
    gate: &GateSpec,
    plan: &Plan,
    task: &PlannedTask,
    (datasets, max_samples): (&Datasets, Option<u64>),
    problems: &mut Problems,
) {
    let LeastSamples { binary, graded } = least_samples(gated.margin / gated.width, gate.alpha);
    let may_be_binary = task.spec.repeat <= 1 && task.spec.cluster_by.is_none();
    let enough = if may_be_binary { binary.max(graded) } else { graded };
    let Some(samples) = plan.count_samples(task, datasets, max_samples, enough) else { return };
    let (needed, of) = match samples {
        samples if samples >= enough => return,
        samples if samples < graded => (graded, ""),
        _ => (enough, " with scores of 0 and 1"),
    };
    let (GatedScore { name, margin, .. }, alpha) = (gated, gate.alpha);
    let counted = if samples == 1 { "1 sample".to_owned() } else { format!("{samples} samples") };
    let message = format!(
        "no run can pass the gate on `{name}` of task `{}`{of}: even without any change, {counted} cannot rule out a \
         loss of {margin} at alpha {alpha}",
        task.spec.task_id
    );
    let help =
        format!("use at least {needed} samples, or a wider margin; `gage-host plan --power` helps to choose");
    problems.warning(gate.span, "gate.margin", message).help(help);
}
