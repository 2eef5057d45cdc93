//! Verdicts: the answer for every gated metric, or the reason why there is none.

use super::format;
use super::holm::holm;
use super::identity::Difference;
use super::paired_scores::PairedScores;
use super::plan::{ComparePlan, Limits};
use super::reason;
use super::result::{GateNote, MetricComparison, TaskPairing};
use super::verdict::Verdict;
use gage_figures::RecordedRun;
use gage_record::RunStatus;

/// Level at which losses of ungated metrics are detected.
pub(super) const DEFAULT_ALPHA: f64 = 0.05;

/// The scores of a measure, with the limits of its gate.
pub(super) struct GateDecision {
    pub(super) scores: PairedScores,
    pub(super) limits: Option<Limits>,
}

/// Reason why no metric can be judged, with the verdict that all of them get.
type Refusal = (Verdict, String);

/// Returns the reason why no metric can be judged, if there is one.
pub(super) fn refusal(
    base: &RecordedRun,
    new: &RecordedRun,
    plan: &ComparePlan<'_>,
    tasks: &[TaskPairing],
    differences: &[Difference],
) -> Option<Refusal> {
    let runs = [("baseline", base), ("new run", new)];
    let of_runs = |reason: fn(&str, &RecordedRun) -> Option<String>| {
        runs.into_iter().find_map(|(name, source)| reason(name, source))
    };
    let as_mismatch = |reason: String| (Verdict::Mismatch, reason);
    let as_incomplete = |reason: String| (Verdict::Incomplete, reason);
    let mismatch = of_runs(edited)
        .or_else(|| plan.tasks.is_empty().then(|| no_common_task(base, new)))
        .or_else(|| not_allowed(differences));
    let incomplete = || of_runs(not_ended).or_else(|| of_runs(of_unknown_length));
    mismatch
        .map(as_mismatch)
        .or_else(|| incomplete().map(as_incomplete))
        // The metrics of a run are known only after it has ended.
        .or_else(|| missing_metrics(plan).map(as_mismatch))
        .or_else(|| no_common_sample(tasks).map(as_incomplete))
}

fn edited(name: &str, source: &RecordedRun) -> Option<String> {
    let edited = source.edited()?.of(&format!("the {name} '{}'", source.run_id()));
    Some(format!("{edited}; restore it from a copy, and see what `gage-host verify` says"))
}

fn no_common_task(base: &RecordedRun, new: &RecordedRun) -> String {
    let list = |source: &RecordedRun| match source.task_ids() {
        ids if ids.is_empty() => "none".to_owned(),
        ids => ids.join(", "),
    };
    let (before, now) = (list(base), list(new));
    format!(
        "the runs are of different suites, with no task in common; the baseline has: {before}; the new run \
         has: {now}"
    )
}

fn not_allowed(differences: &[Difference]) -> Option<String> {
    let refused: Vec<&Difference> = differences.iter().filter(|difference| !difference.allowed).collect();
    let first = refused.first()?;
    let mut parts: Vec<&str> = refused.iter().map(|difference| difference.part.name()).collect();
    parts.dedup();
    Some(format!(
        "more than the model differs ({}): {}{}; make a new baseline, or accept the difference with --allow {}",
        parts.join(", "),
        format::shortened(&format::with_short_digests(&first.what)),
        if refused.len() > 1 { format!(", and {} more", refused.len() - 1) } else { String::new() },
        parts.join(" --allow ")
    ))
}

fn not_ended(name: &str, source: &RecordedRun) -> Option<String> {
    if source.has_ended() {
        return None;
    }
    let id = source.run_id();
    let finish = format!("finish it with `run --run-id {id} --resume` first");
    Some(match (source.manifest().status, source.is_being_written()) {
        (_, true) => format!("the {name} '{id}' is being written by another process: wait until it ends"),
        (RunStatus::Running, false) => format!("the {name} '{id}' was killed: {finish}"),
        (status, false) => format!("the {name} '{id}' is {}: {finish}", status.name()),
    })
}

fn of_unknown_length(name: &str, source: &RecordedRun) -> Option<String> {
    if !source.is_of_unknown_length() {
        return None;
    }
    let (id, why) = (source.run_id(), source.manifest().ended_by.as_deref().unwrap_or("cut off"));
    Some(format!(
        "the {name} '{id}' ended early ({}), and its number of samples is unknown: finish it with `run --run-id {id} \
         --resume` first",
        format::shortened(why)
    ))
}

fn missing_metrics(plan: &ComparePlan<'_>) -> Option<String> {
    let missing = plan.missing.join(", ");
    let reason = || format!("only one of the runs has {missing}, which the gate needs; make a new baseline");
    (!plan.missing.is_empty()).then(reason)
}

fn no_common_sample(tasks: &[TaskPairing]) -> Option<String> {
    let sum = |part: fn(&TaskPairing) -> u64| tasks.iter().map(part).sum::<u64>();
    if sum(|task| task.total) == 0 {
        return Some("neither run has a sample".to_owned());
    }
    let is_unpaired = sum(|task| task.paired) == 0;
    is_unpaired.then(|| format!("no sample is in both runs: {}", reason::causes(tasks)))
}

/// Sets the verdict of every gated metric, and the smallest detectable loss of every metric.
pub(super) fn judge(metrics: &mut [MetricComparison], judged: &[GateDecision], refusal: Option<&Refusal>) {
    let gated = || metrics.iter().zip(judged).filter_map(|(metric, judged)| Some((metric, judged.limits?)));
    let tests: Vec<(f64, f64)> = gated().map(|(metric, limits)| (metric.test.worse, limits.alpha)).collect();
    let count = tests.len().max(1) as f64;
    let mut ratios = holm(&tests).into_iter();
    for (metric, GateDecision { scores, limits }) in metrics.iter_mut().zip(judged) {
        let Some(limits) = limits else {
            metric.smallest_visible = scores.smallest_visible(DEFAULT_ALPHA);
            continue;
        };
        // The first step of Holm's procedure is the strictest, so a loss seen at this level is always detected.
        let strictest = limits.alpha / count;
        metric.smallest_visible = scores.smallest_visible(strictest);
        let ratio = ratios.next().unwrap_or(f64::INFINITY);
        let margin_p_value = scores.margin_p_value(limits.margin, limits.alpha);
        let decided = Verdict::of_tests(ratio <= 1.0, margin_p_value <= limits.alpha);
        let problem = scores.corpus_problem();
        let verdict = match refusal {
            Some((verdict, _)) => *verdict,
            None if metric.too_large > 0 || metric.n == 0 || metric.coverage < limits.min_coverage => {
                Verdict::Incomplete
            }
            None => decided,
        };
        let samples_needed = (verdict == Verdict::Inconclusive)
            .then(|| scores.samples_needed(limits.margin, limits.alpha, strictest))
            .flatten();
        let mut gate = GateNote {
            margin: limits.margin,
            alpha: limits.alpha,
            min_coverage: limits.min_coverage,
            worse_adjusted: (ratio * limits.alpha).min(1.0),
            margin_p_value,
            samples_needed,
            verdict,
            reason: String::new(),
        };
        gate.reason = match refusal {
            Some((_, reason)) => reason.clone(),
            None if problem.is_some() && verdict == Verdict::Inconclusive => {
                problem.unwrap_or_default().to_owned()
            }
            None => {
                let is_too_few = scores.is_too_few_for_margin(limits.margin, limits.alpha);
                reason::of(metric, &gate, scores.mean_gain(), is_too_few)
            }
        };
        metric.gate = Some(gate);
    }
}
