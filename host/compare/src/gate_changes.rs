//! Gates that the baseline's suite has and the new run's suite lacks: a missing gate cannot fail, so its
//! loss would go unnoticed.

use super::format::{number, percent, shortened};
use super::plan::gate_of;
use super::result::GateChange;
use gage_config::GateSpec;
use gage_figures::{MetricFigure, RecordedRun};

/// Returns the entries of the baseline's gate `before` that `now` lacks or loosens. Also returns those of `now` with
/// nothing to judge, because one of the runs lacks the metric.
pub(super) fn find(
    base: &RecordedRun,
    new: &RecordedRun,
    before: &[GateSpec],
    now: &[GateSpec],
) -> Vec<GateChange> {
    let mut changes = unjudged(base, new, now, "the new run");
    changes.extend(unjudged(new, base, now, "the baseline"));
    for MetricFigure { task_id, metric_id, .. } in base.all_figures() {
        let Some(old) = gate_of(before, task_id, metric_id) else { continue };
        let name = shortened(&format!("{metric_id} of {task_id}"));
        if changes.iter().any(|known| known.task_id == *task_id && known.metric_id == *metric_id) {
            continue;
        }
        let new = gate_of(now, task_id, metric_id);
        let what = match new {
            None => format!(
                "the suite of the baseline has a gate on {name} (margin {}), but that of the new run has \
                 none: it is not gated",
                number(old.margin)
            ),
            Some(new) => match looser(old, new).as_slice() {
                [] => continue,
                parts => {
                    let parts = parts.join(", ");
                    format!("the gate on {name} is looser than in the suite of the baseline: {parts}")
                }
            },
        };
        let (task_id, metric_id) = (task_id.clone(), metric_id.clone());
        changes.push(GateChange { task_id, metric_id, is_lost: new.is_none(), what });
    }
    changes
}

/// Returns the gated metrics of one run that the other run lacks.
fn unjudged(one: &RecordedRun, other: &RecordedRun, gate: &[GateSpec], name: &str) -> Vec<GateChange> {
    // The metrics of a run are unknown until it has ended.
    if other.summary().is_none() {
        return Vec::new();
    }
    let is_unjudged = |figure: &&MetricFigure| {
        let MetricFigure { task_id, metric_id, .. } = figure;
        let is_same = |one: &MetricFigure| one.task_id == *task_id && one.metric_id == *metric_id;
        gate_of(gate, task_id, metric_id).is_some() && !other.all_figures().iter().any(is_same)
    };
    let change = |MetricFigure { task_id, metric_id, .. }: &MetricFigure| {
        let metric = shortened(&format!("{metric_id} of {task_id}"));
        let what = format!("the gate on {metric} has no effect: {name} does not have it");
        GateChange { task_id: task_id.clone(), metric_id: metric_id.clone(), is_lost: true, what }
    };
    one.all_figures().iter().filter(is_unjudged).map(change).collect()
}

/// Lists the ways in which a gate is looser than before.
fn looser(old: &GateSpec, new: &GateSpec) -> Vec<String> {
    let mut parts = Vec::new();
    let mut larger = |name: &str, old: f64, new: f64| {
        if new > old {
            parts.push(format!("{name} {} instead of {}", number(new), number(old)));
        }
    };
    larger("margin", old.margin, new.margin);
    larger("alpha", old.alpha, new.alpha);
    for sub in &old.sub_scores {
        if let Some(now) = new.sub_scores.iter().find(|one| one.name == sub.name) {
            larger(&format!("margin of {}", shortened(&sub.name)), sub.margin, now.margin);
        }
    }
    for sub in &old.sub_scores {
        let now = new.sub_scores.iter().find(|one| one.name == sub.name);
        if now.is_some_and(|now| now.higher_is_better != sub.higher_is_better) {
            parts.push(format!("the better direction of {} has changed", shortened(&sub.name)));
        }
    }
    if new.min_coverage < old.min_coverage {
        let (now, before) = (percent(new.min_coverage), percent(old.min_coverage));
        parts.push(format!("min_coverage {now} instead of {before}"));
    }
    let lost = old.sub_scores.iter().filter(|sub| !new.sub_scores.iter().any(|one| one.name == sub.name));
    parts.extend(lost.map(|sub| format!("{} is not gated", shortened(&sub.name))));
    parts
}
