//! The steps of a comparison: plan, read each run once, test, judge.

use super::error::CompareError;
use super::gate_changes;
use super::gating::{self, GateDecision};
use super::identity::{self, CommonTask, Difference, IdentityPart};
use super::paired_scores::PairedScores;
use super::pairing::{PairedColumn, PairedTask};
use super::plan::{ComparePlan, PlannedMeasure};
use super::result::{
    ComparedRun, Comparison, ComparisonWarning, MetricComparison, Overall, SliceDrift, TestNote,
};
use super::score_units::ScoreUnits;
use super::verdict::Verdict;
use super::warnings;
use super::{collecting, holm, naming};
use gage_config::GateSpec;
use gage_figures::{CompensatedSum, IntervalMethod, RecordedRun, Slicing};
use itertools::Itertools as _;

/// Version of the JSON comparison.
const COMPARISON_VERSION: u32 = 1;

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// The gate that the new run must pass; if empty, nothing is judged.
    pub gate: Vec<GateSpec>,
    /// The gate of the baseline's suite, if `gate` is that of the new run's suite: requirements that were dropped are
    /// reported. Default: empty.
    pub gate_before: Vec<GateSpec>,
    /// Maximum number of worse samples listed for each metric; default 10.
    pub max_flips: usize,
    /// Parts that may differ besides the model.
    pub allowed: Vec<IdentityPart>,
}

impl Default for CompareOptions {
    fn default() -> CompareOptions {
        CompareOptions { gate: Vec::new(), gate_before: Vec::new(), max_flips: 10, allowed: Vec::new() }
    }
}

/// Compares a run with a baseline.
///
/// # Errors
/// If a run cannot be read, or the gate names something that neither run has. Runs that cannot be compared in earnest
/// (different data, interrupted, no common samples) are not an error: the result reports it.
pub fn compare(
    base: &RecordedRun,
    new: &RecordedRun,
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let plan = ComparePlan::new(base, new, &options.gate)?;
    let paired = collecting::read(base, new, &plan.tasks, options.max_flips)?;
    let tasks: Vec<_> = paired.iter().map(|(task, _)| task.counts()).collect();
    let common: Vec<_> = tasks
        .iter()
        .map(|task| CommonTask { id: &task.task_id, different_content: task.different_content })
        .collect();
    let mut differences = identity::compare(base, new, &common, &options.allowed);
    differences.extend(scorer_differences(&plan, &options.allowed));

    let (mut metrics, mut judged) = (Vec::new(), Vec::new());
    for ((task, slicing), planned) in paired.iter().zip(&plan.tasks) {
        for (column, planned) in task.columns.iter().zip(&planned.measures) {
            let (metric, scores) = MeasuredTask { task, planned, column, slicing }.examine();
            metrics.push(metric);
            judged.push(GateDecision { scores, limits: planned.gate });
        }
    }
    adjust_slices(&mut metrics);
    let mut warnings: Vec<ComparisonWarning> = paired
        .iter()
        .filter_map(|(task, slicing)| warnings::of_clusters(base, new, &task.task_id, slicing))
        .collect();
    warnings.extend(warnings::of_scales(&plan, &metrics, &judged));
    warnings.extend(plan.tasks.iter().filter_map(|task| warnings::of_served(base, new, task.task_id)));
    let refusal = gating::refusal(base, new, &plan, &tasks, &differences);
    gating::judge(&mut metrics, &judged, refusal.as_ref());
    let gates = metrics.iter().filter_map(|metric| metric.gate.as_ref()).map(|gate| gate.verdict);
    // Without a gate, no metric has a verdict.
    let verdict = Verdict::of_all(gates.chain(refusal.as_ref().map(|(verdict, _)| *verdict)));
    Ok(Comparison {
        format_version: COMPARISON_VERSION,
        base: described(base, new),
        new: described(new, base),
        verdict,
        same_run: is_same_run(base, new),
        refusal: refusal.map(|(_, reason)| reason),
        differences,
        gate_changes: gate_changes::find(base, new, &options.gate_before, &options.gate),
        warnings,
        tasks,
        not_compared: plan.not_compared,
        overall: overall(&metrics, &judged),
        metrics,
    })
}

fn described(source: &RecordedRun, other: &RecordedRun) -> ComparedRun {
    let label = naming::run_label(source, [source, other]);
    ComparedRun {
        run_id: source.run_id().to_owned(),
        label: label.unwrap_or_else(|| source.run_id().to_owned()),
        folder: source.folder().to_owned(),
        status: source.manifest().status.name(),
        models: source.models(),
    }
}

/// Returns whether two folders hold the same run. Ids alone are not enough: runs of different suites may share one.
fn is_same_run(base: &RecordedRun, new: &RecordedRun) -> bool {
    let (base, new) = (base.manifest(), new.manifest());
    base.run_id == new.run_id && base.created_at == new.created_at && base.identity == new.identity
}

/// Returns the metrics whose scorer version differs.
fn scorer_differences(plan: &ComparePlan<'_>, allowed: &[IdentityPart]) -> Vec<Difference> {
    let part = IdentityPart::Plugins;
    let measures =
        plan.tasks.iter().flat_map(|task| task.measures.iter().map(move |planned| (task.task_id, planned)));
    let differing = measures.filter_map(|(task_id, PlannedMeasure { measure, scorer_versions, .. })| {
        let [base, new] = scorer_versions;
        let metric_id = &measure.metric_id;
        let what = format!("task {task_id}: scorer_version of {metric_id}: \"{base}\" before, \"{new}\" now");
        (base != new && measure.sub_score.is_none()).then(|| Difference {
            part,
            what,
            allowed: allowed.contains(&part),
        })
    });
    differing.collect()
}

/// One measure of a task, with its column of scores in both runs.
struct MeasuredTask<'a> {
    task: &'a PairedTask,
    planned: &'a PlannedMeasure,
    column: &'a PairedColumn,
    slicing: &'a Slicing,
}

impl MeasuredTask<'_> {
    /// Returns the measure with its tests, and the scores that they are computed from.
    fn examine(&self) -> (MetricComparison, PairedScores) {
        let MeasuredTask { task, planned, column, .. } = self;
        let measure = &planned.measure;
        let scores = self.scores(task.paired()).with_corpus(planned.corpus.clone());
        let slices = if measure.sub_score.is_none() { self.examine_slices() } else { Vec::new() };
        let total = task.counts().total;
        let means = scores.means();
        let metric = MetricComparison {
            task_id: task.task_id.clone(),
            metric_id: measure.metric_id.clone(),
            sub_score: measure.sub_score.clone(),
            scorer_versions: planned.scorer_versions.clone(),
            higher_is_better: measure.higher_is_better,
            n: scores.count(),
            // Counts of samples stay far below 2^53.
            coverage: if total == 0 { 0.0 } else { scores.count() as f64 / total as f64 },
            unscored_base: column.base.unscored(task.paired()),
            unscored_new: column.new.unscored(task.paired()),
            not_finite: column.not_finite,
            too_large: column.too_large,
            base: means.map(|(base, ..)| base),
            new: means.map(|(_, new, _)| new),
            difference: means.map(|(.., difference)| difference),
            interval: scores.interval(),
            worse: scores.worse,
            better: scores.better,
            clusters: scores.cluster_count(),
            test: scores.test(),
            smallest_visible: None,
            gate: None,
            flips: column.flips(),
            error_tags: if measure.sub_score.is_none() { column.tags.drift() } else { Vec::new() },
            slices,
        };
        (metric, scores)
    }

    /// Returns the slices that have scores, with their tests.
    fn examine_slices(&self) -> Vec<SliceDrift> {
        let mut slices = Vec::new();
        for ((by, names), members) in self.slicing.slices().zip(&self.task.slices) {
            let mut members = members.clone();
            members.sort_unstable();
            for group in members.chunk_by(|(one, _), (two, _)| one == two) {
                let Some((slice, _)) = group.first() else { continue };
                let numbers = group.iter().map(|(_, number)| *number as usize);
                let scores = self.scores(numbers.filter(|number| self.task.is_paired(*number)));
                let (Some((base, new, _)), Some(key)) = (scores.means(), names.get_index(*slice as usize))
                else {
                    continue;
                };
                let TestNote { worse, better, .. } = scores.test();
                slices.push(SliceDrift {
                    by: by.to_owned(),
                    key: key.clone(),
                    n: scores.count(),
                    base,
                    new,
                    worse: scores.worse,
                    better: scores.better,
                    p_value: (2.0 * worse.min(better)).min(1.0),
                    q_value: 1.0,
                });
            }
        }
        slices
    }

    /// Returns the scores of the samples that are scored in both runs.
    fn scores(&self, numbers: impl Iterator<Item = usize>) -> PairedScores {
        let mut scores = PairedScores::new(self.slicing.is_clustered(), self.planned.scale);
        for number in numbers {
            if let (Some(base), Some(new)) = (self.column.base.score(number), self.column.new.score(number)) {
                let cluster = self.task.clusters.get(number).copied().unwrap_or_default();
                scores.add(&self.planned.measure, base, new, cluster);
            }
        }
        scores
    }
}

/// Adjusts the p-values of slices for multiple tests; all slices of the comparison are one family.
fn adjust_slices(metrics: &mut [MetricComparison]) {
    let p_values: Vec<f64> =
        metrics.iter().flat_map(|metric| &metric.slices).map(|slice| slice.p_value).collect();
    let q_values = holm::benjamini_hochberg(&p_values);
    let slices = metrics.iter_mut().flat_map(|metric| &mut metric.slices);
    slices.zip(q_values).for_each(|(slice, q_value)| slice.q_value = q_value);
    for metric in metrics {
        metric.slices.sort_by(|one, two| one.q_value.total_cmp(&two.q_value));
    }
}

/// Returns the metrics that several tasks share, each over all samples of those tasks.
fn overall(metrics: &[MetricComparison], judged: &[GateDecision]) -> Vec<Overall> {
    let primary = metrics.iter().zip(judged).filter(|(metric, judged)| {
        metric.sub_score.is_none() && metric.n > 0 && !judged.scores.is_of_corpus()
    });
    let metric_ids = primary.clone().map(|(metric, _)| &metric.metric_id).unique();
    let parts = metric_ids
        .map(|metric_id| primary.clone().filter(|(metric, _)| metric.metric_id == *metric_id).collect());
    parts.filter_map(|parts: Vec<_>| pooled(&parts)).collect()
}

/// Returns a metric over all samples of the tasks that have it; `None` for a single task.
fn pooled(parts: &[(&MetricComparison, &GateDecision)]) -> Option<Overall> {
    let (first, _) = parts.first().filter(|_| parts.len() > 1)?;
    let n = parts.iter().map(|(metric, _)| metric.n).sum();
    let mean = |mean_of: fn(&MetricComparison) -> Option<f64>| {
        let mut sum = CompensatedSum::default();
        sum.extend(parts.iter().filter_map(|(metric, _)| Some(mean_of(metric)? * metric.n as f64)));
        sum.divided_by(n as f64)
    };
    let (base, new) = (mean(|metric| metric.base), mean(|metric| metric.new));
    let mut units = ScoreUnits::default();
    // The uncertainty is symmetric, so the direction of the metric does not matter.
    parts.iter().for_each(|(_, judged)| units.add(judged.scores.units()));
    let is_clustered = parts.iter().any(|(metric, _)| metric.clusters.is_some());
    let method = if is_clustered { IntervalMethod::Cluster } else { IntervalMethod::T };
    Some(Overall {
        metric_id: first.metric_id.clone(),
        tasks: parts.len() as u64,
        n,
        base,
        new,
        difference: new - base,
        interval: units.difference().and_then(|difference| difference.interval(new - base, method)),
    })
}
