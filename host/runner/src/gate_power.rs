//! Warnings about gates that no run can pass, before a model is asked.

use gage_compare::{GateAssumptions, LeastSamples, gate_of, least_samples};
use gage_config::{GateSpec, Problems};
use gage_engine::{Datasets, Plan, PlannedMetric, PlannedTask};
use gage_figures::MIN_RESAMPLED_UNITS;
use gage_plugin::ValueDescription;

/// Number of rows up to which clusters are counted before a run. Gates with more samples can pass.
const MAX_ROWS: u64 = 2_000;

/// A gated score of a task.
#[derive(Clone)]
pub struct GatedScore<'p> {
    /// The entry of the gate.
    pub gate: &'p GateSpec,
    /// The task.
    pub task: &'p PlannedTask,
    /// The metric, with its sub-score if there is one.
    pub name: String,
    /// The margin, in units of the score.
    pub margin: f64,
    /// The width of the scale; `None` if the metric declares none.
    pub width: Option<f64>,
    /// True if a component computes the figure, and can resample it.
    pub is_resampled: bool,
}

/// Returns the scores that a gate is on. An entry for a task takes precedence over one for all tasks.
pub fn gated_scores<'p>(gate: &'p [GateSpec], plan: &'p Plan) -> Vec<GatedScore<'p>> {
    let mut found = Vec::new();
    for task in &plan.tasks {
        for planned in task.scoring.metrics.iter().filter(|planned| !planned.is_timing) {
            if let Some(entry) = gate_of(gate, &task.spec.task_id, &planned.metric_id) {
                found.extend(scores_of(entry, task, planned));
            }
        }
    }
    found
}

fn scores_of<'p>(gate: &'p GateSpec, task: &'p PlannedTask, planned: &PlannedMetric) -> Vec<GatedScore<'p>> {
    let values = &planned.metric.description().values;
    let of_primary = match planned.aggregation.as_str() {
        "pass_rate" => Some([0.0, 1.0]),
        _ => values.first().and_then(ValueDescription::scale),
    };
    let score = |name: String, margin: f64, scale: Option<[f64; 2]>, is_resampled: bool| GatedScore {
        gate,
        task,
        name,
        margin,
        width: scale.map(|[low, high]| high - low),
        is_resampled,
    };
    let is_resampled = planned.aggregator.as_ref().is_some_and(|aggregator| aggregator.merges());
    let mut found = vec![score(gate.metric_id.clone(), gate.margin, of_primary, is_resampled)];
    for sub in &gate.sub_scores {
        let scale = values.iter().find(|value| value.name == sub.name).and_then(ValueDescription::scale);
        found.push(score(format!("{} · {}", gate.metric_id, sub.name), sub.margin, scale, false));
    }
    found
}

/// Warns about gates that cannot pass even if no sample changes, because their tasks have too few samples or clusters.
///
/// Datasets that are missing, and metrics that declare no scale, are not checked.
pub fn check_gates(plan: &Plan, datasets: &Datasets, max_samples: Option<u64>, problems: &mut Problems) {
    for gated in gated_scores(&plan.config.gate, plan) {
        let units = Units { plan, datasets, max_samples };
        let Some((reason, help)) = units.problem_of(&gated) else { continue };
        let message = format!(
            "no run can pass the gate on `{}` of task `{}`: {reason}",
            gated.name, gated.task.spec.task_id
        );
        let help = format!("{help}; `gage-host plan --power` helps to choose");
        problems.warning(gated.gate.span, "gate.margin", message).help(help);
    }
}

/// Counts samples and clusters.
struct Units<'p> {
    plan: &'p Plan,
    datasets: &'p Datasets,
    max_samples: Option<u64>,
}

impl Units<'_> {
    /// Returns the reason why no run can pass, and the remedy.
    fn problem_of(&self, gated: &GatedScore<'_>) -> Option<(String, String)> {
        if gated.is_resampled {
            return self.problem_of_component(gated);
        }
        let share = gated.margin / gated.width.filter(|width| gated.margin < *width)?;
        let (margin, alpha) = (gated.margin, gated.gate.alpha);
        let LeastSamples { binary, graded } = least_samples(share, alpha);
        let is_clustered = gated.task.spec.cluster_by.is_some();
        let enough = if is_clustered { graded } else { binary.max(graded) };
        let samples = self.plan.count_samples(gated.task, self.datasets, self.max_samples, enough)?;
        let cannot = |counted: &str| {
            format!("even without any change, {counted} cannot rule out a loss of {margin} at alpha {alpha}")
        };
        if samples < enough {
            let of_binary = if samples < graded { "" } else { " with scores of 0 and 1" };
            let counted = format!("{}{of_binary}", counted(samples, "sample"));
            let help = match is_clustered {
                true => format!(
                    "use at least {graded} samples, more if there are few clusters, or a wider margin"
                ),
                false => format!(
                    "use at least {graded} samples ({binary} with scores of 0 and 1), or a wider margin"
                ),
            };
            return Some((cannot(&counted), help));
        }
        let clusters = self.plan.count_clusters(gated.task, self.datasets, self.max_samples, MAX_ROWS)?;
        let assumed = GateAssumptions {
            samples: clusters.samples,
            cluster_size: clusters.usual_size,
            repeat: 1,
            changed: 0.0,
            correlation: 0.0,
            margin: share,
            alpha,
            gated: 1,
        };
        let counted =
            format!("{} in {}", counted(clusters.samples, "sample"), counted(clusters.clusters, "cluster"));
        (!assumed.power().can_pass)
            .then(|| (cannot(&counted), "use more clusters, or a wider margin".to_owned()))
    }

    /// Figures of components need enough samples or clusters for their bootstrap.
    fn problem_of_component(&self, gated: &GatedScore<'_>) -> Option<(String, String)> {
        let (units, what) =
            match self.plan.count_clusters(gated.task, self.datasets, self.max_samples, MAX_ROWS) {
                Some(clusters) => (clusters.clusters, "cluster"),
                None if gated.task.spec.cluster_by.is_some() => return None,
                None => {
                    let limit = MIN_RESAMPLED_UNITS;
                    (self.plan.count_samples(gated.task, self.datasets, self.max_samples, limit)?, "sample")
                }
            };
        (units < MIN_RESAMPLED_UNITS).then(|| {
            let reason = format!(
                "its figure is of all samples, and {} are too few to compare it with that of another run",
                counted(units, what)
            );
            (reason, format!("use at least {MIN_RESAMPLED_UNITS} {what}s"))
        })
    }
}

/// Formats a count: `1 sample`, `2 samples`.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
