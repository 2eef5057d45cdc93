//! Warnings that weaken a verdict.

use super::format::{number, shortened};
use super::gating::GateDecision;
use super::plan::ComparePlan;
use super::result::{ComparisonWarning, MetricComparison};
use gage_figures::{RecordedRun, ServedModel, Slicing, describe_served};

/// Returns a warning if dependent samples of a task in both runs are counted as independent, or clustered differently.
pub(super) fn of_clusters(
    base: &RecordedRun,
    new: &RecordedRun,
    task_id: &str,
    slicing: &Slicing,
) -> Option<ComparisonWarning> {
    let path_of = |source: &RecordedRun| {
        let task = source.config()?.tasks.iter().find(|task| task.task_id == task_id)?;
        task.cluster_by.as_ref().map(|path| shortened(path.as_str()))
    };
    let name = shortened(task_id);
    let alone =
        "tests and intervals treat samples as independent of each other, so chance may look like a change";
    let unfound = slicing.unfound_paths().into_iter().find(|unfound| unfound.key == "cluster_by");
    let what = match (path_of(base), path_of(new)) {
        // A suite that cannot be read is reported elsewhere.
        (Some(before), None) if new.config().is_some() => {
            format!(
                "{name}: the suite of the baseline has `cluster_by: {before}`, that of the new run has none: \
                 {alone}"
            )
        }
        (_, Some(path)) if unfound.is_some() => {
            let meant = unfound.and_then(|unfound| unfound.nearest);
            let meant = meant.map(|path| format!("; did you mean `{}`?", shortened(&path)));
            format!(
                "{name}: no sample of the new run has a value at `{path}` (cluster_by): {alone}{}",
                meant.unwrap_or_default()
            )
        }
        (Some(before), Some(now)) if before != now => format!(
            "{name}: samples are clustered by `{now}` (cluster_by), but by `{before}` in the suite of the baseline"
        ),
        _ => return None,
    };
    Some(ComparisonWarning { task_id: Some(task_id.to_owned()), what })
}

/// Returns a warning if the server of a task changed its model between the runs, or during one of them. A change of figures
/// may then be the provider's.
pub(super) fn of_served(base: &RecordedRun, new: &RecordedRun, task_id: &str) -> Option<ComparisonWarning> {
    let served = |source: &RecordedRun| -> Vec<ServedModel> {
        let tasks = source.summary().map(|summary| summary.tasks.as_slice()).unwrap_or_default();
        tasks.iter().find(|task| task.task_id == task_id).map(|task| task.served.clone()).unwrap_or_default()
    };
    let names = |served: &[ServedModel]| -> Vec<(Option<String>, Option<String>)> {
        served.iter().map(|one| (one.model.clone(), one.system_fingerprint.clone())).collect()
    };
    let (before, now) = (served(base), served(new));
    if before.is_empty() || now.is_empty() {
        return None;
    }
    let is_changed = base.models() == new.models() && names(&before) != names(&now);
    if !is_changed && before.len() < 2 && now.len() < 2 {
        return None;
    }
    let (before, now) = (shortened(&describe_served(&before)), shortened(&describe_served(&now)));
    let what = format!(
        "{}: the server changed its model, so a difference may be the provider's: it served {before} to the \
         baseline, and {now} to the new run",
        shortened(task_id)
    );
    Some(ComparisonWarning { task_id: Some(task_id.to_owned()), what })
}

/// Returns warnings for gated metrics that declare no scale, so that the gate falls back to the range of the scores of both
/// runs. The margin may be as wide as that range, or a larger loss may be rare and missing from these samples.
pub(super) fn of_scales(
    plan: &ComparePlan<'_>,
    metrics: &[MetricComparison],
    judged: &[GateDecision],
) -> Vec<ComparisonWarning> {
    let measures = plan.tasks.iter().flat_map(|task| &task.measures);
    let warned = measures.zip(metrics).zip(judged).filter_map(|((planned, metric), judged)| {
        let margin = judged.limits?.margin;
        let (low, high) = judged.scores.range().filter(|_| planned.scale.is_none())?;
        let is_wide = margin >= (high - low).max(low.abs()).max(high.abs()) && (low, high) != (0.0, 0.0);
        let name = metric.name();
        let scores = match low < high {
            true => format!("from {} to {}", number(low), number(high)),
            false => format!("all {}", number(low)),
        };
        let what = match (is_wide, judged.scores.is_binary()) {
            (true, _) => format!(
                "the margin {} of {name} is as wide as the scores of both runs, which are {scores}: the gate could \
                 hardly fail; name the largest loss that you accept",
                number(margin)
            ),
            (false, false) => format!(
                "{name} declares no scale: the gate assumes {} and may miss a rare larger loss; declare the \
                 smallest and the largest score in the metric",
                match low >= 0.0 && high <= 1.0 {
                    true => "0 to 1".to_owned(),
                    false => format!("the scores of both runs, which are {scores},"),
                }
            ),
            // The test for scores of 0 and 1 needs no scale.
            (false, true) => return None,
        };
        Some(ComparisonWarning { task_id: Some(metric.task_id.clone()), what })
    });
    warned.collect()
}
