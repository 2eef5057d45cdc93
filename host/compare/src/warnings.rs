//! Warnings beside an answer: what makes it say less than it seems to.

use super::format::{number, shortened};
use super::gating::GateDecision;
use super::plan::ComparePlan;
use super::result::{ComparisonWarning, MetricComparison};
use gage_figures::{RecordedRun, Slicing};

/// Returns whether samples that depend on each other are counted as if they did not, in a task of both runs.
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
    let alone = "tests and intervals take each sample for independent of the others, so that chance may look like a change";
    let unfound = slicing.unfound_paths().into_iter().find(|unfound| unfound.key == "cluster_by");
    let what = match (path_of(base), path_of(new)) {
        // Of a run whose suite cannot be read that is said.
        (Some(before), None) if new.config().is_some() => {
            format!(
                "{name}: the suite of the baseline has `cluster_by: {before}`, that of the new run has none: {alone}"
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
            "{name}: samples are counted together by `{now}` (cluster_by), and by `{before}` in the suite of the baseline"
        ),
        _ => return None,
    };
    Some(ComparisonWarning { task_id: Some(task_id.to_owned()), what })
}

/// Gated metrics that declare no scale, where the gate has to take the range of the scores of both runs for it: the margin
/// may be as wide as all scores, or a loss larger than any of them may be rare and not among these samples.
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
                "{name} declares no scale: the gate takes {} for it, and may miss a rare loss that is larger; declare the \
                 least and the largest score in the metric",
                match low >= 0.0 && high <= 1.0 {
                    true => "0 to 1".to_owned(),
                    false => format!("the scores of both runs, which are {scores},"),
                }
            ),
            // The test of scores of 0 and 1 needs no scale.
            (false, true) => return None,
        };
        Some(ComparisonWarning { task_id: Some(metric.task_id.clone()), what })
    });
    warned.collect()
}
