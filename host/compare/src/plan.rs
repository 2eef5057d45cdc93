//! Plan of a comparison: the metrics that both runs have, and the gate's requirements on them.

use super::corpus_difference::CorpusDifference;
use super::error::CompareError;
use super::format;
use super::measure::Measure;
use super::result::NotCompared;
use gage_config::GateSpec;
use gage_figures::{Aggregation, MetricFigure, RecordedRun, Resamples, Scale};
use itertools::Itertools as _;

/// A task that is compared.
pub(super) struct TaskPlan<'a> {
    pub(super) task_id: &'a str,
    pub(super) measures: Vec<PlannedMeasure>,
}

/// A measure, with the requirements of the gate.
pub(super) struct PlannedMeasure {
    pub(super) measure: Measure,
    pub(super) scorer_versions: [String; 2],
    pub(super) gate: Option<Limits>,
    /// The smallest and the largest score that either run declares.
    pub(super) scale: Option<Scale>,
    /// Difference of the figure of a component, if both runs resampled it; it is compared instead of the mean score.
    pub(super) corpus: Option<CorpusDifference>,
}

/// Requirements of a gate on a measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) margin: f64,
    pub(super) alpha: f64,
    pub(super) min_coverage: f64,
}

/// The tasks and measures of a comparison, and the ones left out.
pub(super) struct ComparePlan<'a> {
    pub(super) tasks: Vec<TaskPlan<'a>>,
    pub(super) not_compared: Vec<NotCompared>,
    /// Gated metrics that only one of the runs has.
    pub(super) missing: Vec<String>,
}

impl<'a> ComparePlan<'a> {
    pub(super) fn new(
        base: &'a RecordedRun,
        new: &'a RecordedRun,
        gate: &[GateSpec],
    ) -> Result<ComparePlan<'a>, CompareError> {
        check_gate(base, new, gate)?;
        check_margins(base, new, gate)?;
        let mut plan = ComparePlan { tasks: Vec::new(), not_compared: Vec::new(), missing: Vec::new() };
        let before = base.task_ids();
        let now = new.task_ids();
        let left = before.iter().filter(|task_id| !now.contains(task_id));
        left.for_each(|task_id| plan.leave_out(task_id, None, "only in the baseline"));
        for task_id in now {
            if before.contains(&task_id) {
                plan.add_task(task_id, base, new, gate);
            } else {
                plan.leave_out(task_id, None, "only in the new run");
            }
        }
        for gate in gate {
            let is_planned = plan.tasks.iter().any(|task| {
                gate.task_id.as_deref().is_none_or(|task_id| task_id == task.task_id)
                    && task.measures.iter().any(|planned| planned.measure.metric_id == gate.metric_id)
            });
            if !is_planned {
                plan.missing.push(gated_name(gate));
            }
        }
        Ok(plan)
    }

    fn add_task(&mut self, task_id: &'a str, base: &RecordedRun, new: &RecordedRun, gate: &[GateSpec]) {
        // A run that has not ended has no metrics; those of the other run are used.
        let (before, now) = match (base.figures(task_id), new.figures(task_id)) {
            ([], now) => (now, now),
            (before, []) => (before, before),
            both => both,
        };
        let mut task = TaskPlan { task_id, measures: Vec::new() };
        for figure in now {
            match before.iter().find(|other| other.metric_id == figure.metric_id) {
                None => self.leave_out(task_id, Some(&figure.metric_id), "only in the new run"),
                Some(_) if figure.aggregation == Aggregation::Categorical => {
                    self.leave_out(task_id, Some(&figure.metric_id), "categories have no scores");
                }
                Some(other) => {
                    let metric_id = &figure.metric_id;
                    let resamples = [base, new].map(|run| run.resamples(task_id, metric_id));
                    task.add(figure, other, resamples, gate);
                }
            }
        }
        for figure in before {
            if !now.iter().any(|other| other.metric_id == figure.metric_id) {
                self.leave_out(task_id, Some(&figure.metric_id), "only in the baseline");
            }
        }
        self.tasks.push(task);
    }

    fn leave_out(&mut self, task_id: &str, metric_id: Option<&str>, why: &'static str) {
        let (task_id, metric_id) = (task_id.to_owned(), metric_id.map(str::to_owned));
        self.not_compared.push(NotCompared { task_id, metric_id, why });
    }
}

impl TaskPlan<'_> {
    fn add(
        &mut self,
        new: &MetricFigure,
        base: &MetricFigure,
        resamples: [Option<&Resamples>; 2],
        gate: &[GateSpec],
    ) {
        let spec = gate_of(gate, self.task_id, &new.metric_id);
        let limits = |margin: f64| {
            spec.map(|spec| Limits { margin, alpha: spec.alpha, min_coverage: spec.min_coverage })
        };
        let measure = Measure {
            metric_id: new.metric_id.clone(),
            sub_score: None,
            is_pass: new.aggregation == Aggregation::PassRate,
            higher_is_better: new.higher_is_better,
        };
        let scorer_versions = [base.scorer_version.clone(), new.scorer_version.clone()];
        self.measures.push(PlannedMeasure {
            measure: measure.clone(),
            scorer_versions: scorer_versions.clone(),
            gate: spec.and_then(|spec| limits(spec.margin)),
            scale: common_scale(base.scale, new.scale),
            corpus: CorpusDifference::new([base, new], resamples, common_scale(base.scale, new.scale)),
        });
        for sub_score in spec.iter().flat_map(|spec| &spec.sub_scores) {
            let in_figure = |figure: &'_ MetricFigure| {
                figure.sub_scores.iter().find(|one| one.name == sub_score.name).cloned()
            };
            let scale_in = |figure: &MetricFigure| in_figure(figure).and_then(|one| one.scale);
            let declared = || in_figure(new).and_then(|one| one.higher_is_better);
            self.measures.push(PlannedMeasure {
                measure: Measure {
                    sub_score: Some(sub_score.name.clone()),
                    is_pass: false,
                    higher_is_better: sub_score
                        .higher_is_better
                        .or_else(declared)
                        .unwrap_or(new.higher_is_better),
                    ..measure.clone()
                },
                scorer_versions: scorer_versions.clone(),
                gate: limits(sub_score.margin),
                scale: common_scale(scale_in(base), scale_in(new)),
                corpus: None,
            });
        }
    }
}

/// Returns the scale that covers those of both runs, or that of one run if the other declares none.
fn common_scale(base: Option<Scale>, new: Option<Scale>) -> Option<Scale> {
    match (base, new) {
        (Some([low, high]), Some([new_low, new_high])) => Some([low.min(new_low), high.max(new_high)]),
        (base, new) => new.or(base),
    }
}

fn gated_name(gate: &GateSpec) -> String {
    match &gate.task_id {
        Some(task_id) => format!("{} of task {task_id}", gate.metric_id),
        None => gate.metric_id.clone(),
    }
}

/// Rejects names in the gate that neither run has, most likely typos, and metrics that are never compared.
fn check_gate(base: &RecordedRun, new: &RecordedRun, gate: &[GateSpec]) -> Result<(), CompareError> {
    let tasks: Vec<&str> =
        new.task_ids().into_iter().chain(base.task_ids()).sorted_unstable().dedup().collect();
    for gate in gate {
        if let Some(task_id) = &gate.task_id
            && !tasks.contains(&task_id.as_str())
        {
            return Err(unknown(
                format!("the gate names the task '{task_id}', which neither run has"),
                task_id,
                &tasks,
            ));
        }
        let of_gate =
            tasks.iter().filter(|task| gate.task_id.as_deref().is_none_or(|task_id| task_id == **task));
        let figures: Vec<&MetricFigure> =
            of_gate.flat_map(|task_id| base.figures(task_id).iter().chain(new.figures(task_id))).collect();
        if figures.is_empty() {
            // Neither run has ended; that is reported elsewhere.
            continue;
        }
        let of_metric = || figures.iter().filter(|figure| figure.metric_id == gate.metric_id);
        let mut aggregations = of_metric().map(|figure| &figure.aggregation).peekable();
        if aggregations.peek().is_some() && aggregations.all(|one| *one == Aggregation::Categorical) {
            return Err(CompareError::NeverCompared {
                what: gated_name(gate),
                why: "it is aggregated by `categorical`, and categories have no scores",
            });
        }
        let reads_clock = |source: &RecordedRun| {
            let timings = source.timings().map(|timings| timings.timing_metrics).unwrap_or_default();
            timings.iter().any(|figure| figure.metric_id == gate.metric_id)
        };
        if of_metric().next().is_none() && (reads_clock(new) || reads_clock(base)) {
            return Err(CompareError::NeverCompared {
                what: gated_name(gate),
                why: "it reads a clock, so it differs between equal runs",
            });
        }
        if of_metric().next().is_none() {
            let known = figures.iter().map(|figure| figure.metric_id.as_str()).sorted_unstable();
            let known: Vec<&str> = known.dedup().collect();
            let what = format!(
                "the gate names the metric '{}', but neither run has comparable figures of it",
                gated_name(gate)
            );
            return Err(unknown(what, &gate.metric_id, &known));
        }
        for sub_score in &gate.sub_scores {
            let known: Vec<&str> =
                of_metric().flat_map(|figure| &figure.sub_scores).map(|sub| sub.name.as_str()).collect();
            if !known.contains(&sub_score.name.as_str()) {
                let what = format!("the metric '{}' has no sub-score '{}'", gate.metric_id, sub_score.name);
                return Err(unknown(what, &sub_score.name, &known));
            }
        }
    }
    Ok(())
}

/// Rejects margins that no loss can exceed, for metrics that declare their scale.
fn check_margins(base: &RecordedRun, new: &RecordedRun, gate: &[GateSpec]) -> Result<(), CompareError> {
    for figure in new.all_figures().iter().chain(base.all_figures()) {
        let MetricFigure { task_id, metric_id, .. } = figure;
        let Some(spec) = gate_of(gate, task_id, metric_id) else { continue };
        check_margin(spec.margin, figure.scale, &format!("{metric_id} of task {task_id}"))?;
        for sub in &spec.sub_scores {
            let scale = figure.sub_scores.iter().find(|one| one.name == sub.name);
            let name = format!("{metric_id} · {} of task {task_id}", sub.name);
            check_margin(sub.margin, scale.and_then(|sub| sub.scale), &name)?;
        }
    }
    Ok(())
}

fn check_margin(margin: f64, scale: Option<Scale>, what: &str) -> Result<(), CompareError> {
    match scale {
        Some([low, high]) if margin >= high - low => Err(CompareError::MarginTooWide {
            margin: format::number(margin),
            what: format::shortened(what),
            low: format::number(low),
            high: format::number(high),
            suggested: format::number((high - low) / 100.0),
        }),
        _ => Ok(()),
    }
}

/// Returns the gate entry for a metric; an entry for the task takes precedence over one for all tasks.
pub fn gate_of<'g>(gate: &'g [GateSpec], task_id: &str, metric_id: &str) -> Option<&'g GateSpec> {
    let of_task = |gate: &&GateSpec| {
        gate.metric_id == metric_id && gate.task_id.as_deref().is_none_or(|of_gate| of_gate == task_id)
    };
    gate.iter().filter(of_task).max_by_key(|gate| gate.task_id.is_some())
}

fn unknown(what: String, typed: &str, known: &[&str]) -> CompareError {
    let mut names: Vec<&str> = known.to_vec();
    names.dedup();
    let what = match gage_core::nearest(typed, names.iter().copied()) {
        Some(nearest) => format!("{what}; did you mean '{nearest}'?"),
        None => what,
    };
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    CompareError::UnknownInGate { what, known }
}
