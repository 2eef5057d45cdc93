//! Checks of the inputs that parts of a suite need from one another.

use super::{PlannedMetric, Scoring};
use crate::sample::output_keys::SEMANTIC;
use gage_config::{BackendKind, GateSpec, MetricSpec, PipelineConfig, Problems, RequestKind, TaskSpec};
use gage_core::{FieldPath, Root};
use gage_plugin::ValueDescription;

/// Checks that every server in use has a price, which `max_cost` requires.
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

/// Returns the reason a metric is never compared across runs, or `None` if it is.
fn never_compared(planned: &PlannedMetric) -> Option<&'static str> {
    if planned.is_timing {
        return Some("it reads a clock, so it differs between equal runs");
    }
    let is_categorical = planned.aggregator.is_none() && planned.aggregation == "categorical";
    is_categorical.then_some("it is aggregated by `categorical`, and categories have no scores")
}

/// Reports gates on metrics that are never compared, which have no effect. Also reports margins as wide as the whole
/// scale of a metric, which can never be exceeded.
pub(super) fn check_gate(config: &PipelineConfig, scorings: &[&Scoring], problems: &mut Problems) {
    for gate in &config.gate {
        let of_gate =
            |scoring: &&&Scoring| gate.task_id.as_ref().is_none_or(|task_id| *task_id == scoring.task_id);
        let metrics = scorings.iter().filter(of_gate).flat_map(|scoring| {
            let of_metric = |metric: &&PlannedMetric| metric.metric_id == gate.metric_id;
            scoring.metrics.iter().filter(of_metric).map(|metric| (scoring.task_id.as_str(), metric))
        });
        let (compared, never): (Vec<_>, Vec<_>) =
            metrics.partition(|(_, metric)| never_compared(metric).is_none());
        if let Some((task_id, why)) =
            never.first().and_then(|(task_id, metric)| Some((*task_id, never_compared(metric)?)))
        {
            let help = "gate another metric; `gage-host metrics` lists them";
            match compared.is_empty() {
                true => {
                    let message = format!(
                        "the gate on `{}` has no effect: the metric is never compared, since {why}",
                        gate.metric_id
                    );
                    problems.error(gate.span, "gate.metric", message).help(help);
                }
                false => {
                    let message = format!(
                        "the gate on `{}` does not apply to the task `{task_id}`: there it is never \
                         compared, since {why}",
                        gate.metric_id
                    );
                    problems.warning(gate.span, "gate.metric", message);
                }
            }
        }
        let compared: Vec<&PlannedMetric> = compared.into_iter().map(|(_, metric)| metric).collect();
        check_sub_scores(gate, &compared, problems);
        check_margins(gate, &compared, problems);
    }
}

/// Reports gated sub-scores that the metrics do not declare, if they declare any.
fn check_sub_scores(gate: &GateSpec, metrics: &[&PlannedMetric], problems: &mut Problems) {
    for planned in metrics {
        let values = &planned.metric.description().values;
        let known: Vec<&str> = values.iter().skip(1).map(|value| value.name.as_str()).collect();
        let unknown = gate.sub_scores.iter().find(|sub| !known.contains(&sub.name.as_str()));
        if let Some(sub) = unknown.filter(|_| !known.is_empty()) {
            let message = format!("`{}` has no sub-score `{}`", gate.metric_id, sub.name);
            let help = format!("expected one of: {}", known.join(", "));
            problems.error(gate.span, "gate.sub_scores", message).help(help);
            return;
        }
    }
}

/// Reports margins as wide as a scale, each once.
fn check_margins(gate: &GateSpec, metrics: &[&PlannedMetric], problems: &mut Problems) {
    let mut reported: Vec<String> = Vec::new();
    for planned in metrics {
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
            if reported.contains(&name) {
                continue;
            }
            let message = format!(
                "the margin {margin} of `{name}` is as wide as its whole scale, from {low} to {high}: no run could lose \
                 more, so the gate could never fail"
            );
            let help = format!("name the largest loss that you accept, such as {}", (high - low) / 100.0);
            problems.error(gate.span, "gate.margin", message).help(help);
            reported.push(name);
        }
    }
}

/// Reports metrics that read only the output of a step that the task does not have.
pub(super) fn check_required_inputs(
    config: &PipelineConfig,
    task: &TaskSpec,
    scoring: &Scoring,
    problems: &mut Problems,
) {
    let absent = absent_inputs(config, task, task);
    for MissingInput { metric, need, path } in missing_inputs(task, &absent, scoring) {
        let message = format!(
            "the metric `{}` reads `{path}`, but the task `{}` has no {}",
            metric.metric_id, task.task_id, need.source
        );
        problems.error(metric.span, "metrics", message).help(format!(
            "{}, or leave the metric out; a field of the Sample itself is read by the path `sample.{path}`",
            need.remedy
        ));
    }
}

/// Like `check_required_inputs`, but for recorded answers. Checks the task as it ran, because missing outputs cannot be
/// added later.
pub(super) fn check_recorded_inputs(
    task: &TaskSpec,
    config: &PipelineConfig,
    asked: &TaskSpec,
    scoring: &Scoring,
    problems: &mut Problems,
) {
    let absent = absent_inputs(config, asked, task);
    for MissingInput { metric, need, path } in missing_inputs(task, &absent, scoring) {
        let message = format!(
            "the metric `{}` reads `{path}`, but the run has none: its task `{}` had no {}",
            metric.metric_id, task.task_id, need.source
        );
        problems.error(metric.span, "metrics", message).help(format!(
            "scoring again asks no model: run the suite with {}, or score with other metrics; a field of the \
             Sample itself is read by the path `sample.{path}`",
            need.entry
        ));
    }
}

/// Key of the model's output with a parsed answer, which only extractors make.
const PARSED: &str = "parsed";

/// A value that metrics read and only one step produces.
struct RequiredInput {
    root: Root,
    /// The key below the root; `None` for all keys.
    key: Option<&'static str>,
    /// The step or setting that produces it, for messages.
    source: String,
    /// The step as the suite spells it.
    entry: String,
    remedy: String,
}

/// A metric that reads only the output of a step that the task does not have.
struct MissingInput<'n> {
    metric: &'n MetricSpec,
    need: &'n RequiredInput,
    path: String,
}

/// Returns the inputs that a task does not provide for its metrics. `asked` is the task as it ran, and `scored` as it is
/// scored.
fn absent_inputs(config: &PipelineConfig, asked: &TaskSpec, scored: &TaskSpec) -> Vec<RequiredInput> {
    let steps = &asked.steps;
    let step = |root, key, name: &str, before: &str| {
        let entry = format!("{{step: {name}}}");
        let remedy = format!("add {entry} before `{before}`");
        RequiredInput { root, key, source: format!("step `{name}`"), entry, remedy }
    };
    let mut absent = Vec::new();
    if steps.judge.is_none() {
        absent.push(step(Root::JudgeOutput, None, "judge", "auto_eval"));
    }
    if steps.support.is_empty() {
        absent.push(step(Root::SupportOutput, None, "support", "inference"));
    }
    // A component may supply these values by itself.
    let backend = config.inference_role_of(asked).and_then(|role| config.backend_of(role));
    let may_say_all = backend.is_none_or(|backend| matches!(backend.kind, BackendKind::CustomScript(_)));
    let requests =
        [(RequestKind::RollingLoglikelihood, "rolling"), (RequestKind::Loglikelihood, "continuations")];
    let others = requests.into_iter().filter(|(request, _)| steps.inference.request != *request);
    absent.extend(others.filter(|_| !may_say_all).map(|(request, key)| {
        let source = format!("`request: {}`", request.name());
        let entry = format!("{{step: inference, request: {}}}", request.name());
        let remedy = format!("write {entry}");
        RequiredInput { root: Root::ModelOutput, key: Some(key), source, entry, remedy }
    }));
    if scored.steps.extract.is_empty() && !may_say_all {
        let needed = step(Root::ModelOutput, Some(PARSED), "extract", "auto_eval");
        let remedy = "add {step: extract, extractors: [json_object]} before `auto_eval`".to_owned();
        absent.push(RequiredInput { remedy, ..needed });
    }
    if steps.embed.is_none() && !may_say_all {
        absent.push(step(Root::ModelOutput, Some(SEMANTIC), "embed", "auto_eval"));
    }
    absent
}

/// Returns the metrics of a task with an absent input.
fn missing_inputs<'n>(
    task: &'n TaskSpec,
    absent: &'n [RequiredInput],
    scoring: &Scoring,
) -> Vec<MissingInput<'n>> {
    let missing = |(metric, planned): (&'n MetricSpec, &PlannedMetric)| {
        absent.iter().find_map(|need| {
            let is_absent = |path: &FieldPath| {
                path.root() == need.root && need.key.is_none_or(|key| path.first_key() == Some(key))
            };
            let inputs = planned.metric.inputs();
            let is_missing =
                |input: &&gage_plugin::Input| !input.paths.is_empty() && input.paths.iter().all(is_absent);
            let input = inputs.iter().find(is_missing)?;
            // A metric of answers as they are may read a parsed answer in addition.
            let mut of_output =
                inputs.iter().flat_map(|input| &input.paths).filter(|path| path.root() == need.root);
            let reads_more = need.key == Some(PARSED)
                && of_output.any(|path| ![Some(PARSED), Some("extraction")].contains(&path.first_key()));
            if reads_more {
                return None;
            }
            let path = input.paths.first()?.as_str().to_owned();
            Some(MissingInput { metric, need, path })
        })
    };
    task.metrics.iter().zip(&scoring.metrics).filter_map(missing).collect()
}
