//! Planning of a task's metrics: loads them, checks their parameters, and plans their aggregation.

use super::PlannedMetric;
use super::plugin_use::PluginUse;
use gage_config::{AggregationSpec, BackendKind, PipelineConfig, PluginReference, Problems, TaskSpec};
use gage_core::{JUDGE_CLOCK, Root, TIMING_KEYS};
use gage_plugin::{Aggregator, AggregatorKind, Metric, MetricKind, Registry, RegistryError};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn plan_metric(
    spec: &gage_config::MetricSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<PlannedMetric> {
    let used = PluginUse {
        reference: &spec.implementation,
        params: Some(&spec.params),
        span: spec.span,
        key: "metrics",
        params_key: "params",
    };
    let metric = used.configure::<MetricKind>(registry, problems)?;
    used.check_paths(&metric.description().inputs, problems)?;
    let (aggregation, aggregator) = plan_aggregation(spec, &metric, registry, problems)?;
    let aggregation = weighted_aggregation(spec, &metric, aggregation, aggregator.is_some(), problems)?;
    if let Some(aggregator) = &aggregator {
        warn_of_own_params(spec, aggregator, problems);
    }
    let is_timing = reads_clock(metric.inputs());
    Some(PlannedMetric {
        metric_id: spec.metric_id.clone(),
        implementation: spec.implementation.clone(),
        aggregation,
        aggregator,
        is_timing,
        metric,
    })
}

/// Returns `weighted_mean` for a metric with weights, unless the suite chooses another aggregation that reads them.
fn weighted_aggregation(
    spec: &gage_config::MetricSpec,
    metric: &Metric,
    aggregation: String,
    is_custom: bool,
    problems: &mut Problems,
) -> Option<String> {
    const WEIGHTED: &str = "weighted_mean";
    match (&spec.aggregation, metric.has_weights()) {
        (_, false) => Some(aggregation),
        (None, true) => Some(WEIGHTED.to_owned()),
        (Some(_), true) if is_custom || aggregation == WEIGHTED => Some(aggregation),
        (Some(_), true) => {
            let message = format!("the aggregation `{aggregation}` does not use `weight_field`");
            problems
                .error(spec.span, "params.weight_field", message)
                .help(format!("write `aggregation: {WEIGHTED}`, or leave `weight_field` out"));
            None
        }
    }
}

/// Returns true if one of these inputs varies from run to run.
pub(crate) fn reads_clock(inputs: &[gage_plugin::Input]) -> bool {
    let is_clock = |path: &gage_core::FieldPath| {
        let is_of = |keys: &[&str]| path.first_key().is_none_or(|key| keys.contains(&key));
        match path.root() {
            Root::ModelOutput => is_of(&TIMING_KEYS),
            Root::JudgeOutput => path.first_key() == Some(JUDGE_CLOCK),
            _ => false,
        }
    };
    inputs.iter().any(|input| input.paths.iter().any(is_clock))
}

/// Warns of parameters that a metric and its aggregator set differently, because the aggregate would not match the scores.
fn warn_of_own_params(spec: &gage_config::MetricSpec, aggregator: &Aggregator, problems: &mut Problems) {
    let own = match &spec.aggregation {
        Some(AggregationSpec::Plugin(call)) => call.params.to_json(),
        Some(AggregationSpec::Host(_)) | None => Value::Null,
    };
    let schemas = &aggregator.description().params_schema["properties"];
    let given = spec.params.to_json();
    for (name, value) in given.as_object().into_iter().flatten() {
        let Some(schema) = schemas.get(name) else { continue };
        let counts = own.get(name).unwrap_or(&schema["default"]);
        if counts == value {
            continue;
        }
        let aggregator = aggregator.name();
        let message = format!(
            "`{name}` of the metric applies only to the scores of samples; the figure comes from the \
             aggregator `{aggregator}`, which has its own `{name}`: {counts}"
        );
        let span = spec.params.nearest(&format!("/{name}")).span;
        problems
            .warning(span, &format!("params.{name}"), message)
            .help(format!("write aggregation: {{{aggregator}: {{{name}: {value}}}}}"));
    }
}

/// Reports aggregators that need more attempts at a sample than a task makes, because these figures would be missing. Warns
/// if the attempts are alike.
pub(super) fn check_attempts(
    config: &PipelineConfig,
    task: &TaskSpec,
    metrics: &[PlannedMetric],
    problems: &mut Problems,
) {
    let is_greedy = task.repeat > 1 && is_greedy(config, task);
    for (spec, metric) in task.metrics.iter().zip(metrics) {
        let Some(AggregationSpec::Plugin(call)) = &spec.aggregation else { continue };
        let Some(aggregator) = &metric.aggregator else { continue };
        let Some(name) = aggregator.attempts_parameter() else { continue };
        let node = call.params.nearest(&format!("/{name}"));
        let attempts = match node.to_json() {
            Value::Array(several) => several.iter().filter_map(Value::as_u64).max(),
            single => single.as_u64(),
        };
        if is_greedy {
            let message = format!(
                "`{}` compares the {} answers to a sample of the task `{}`, but at temperature 0 they are mostly alike",
                aggregator.name(),
                task.repeat,
                task.task_id
            );
            problems
                .warning(call.span, "aggregation", message)
                .help("set a temperature: `sampling_params: {temperature: 0.8}` for the task or in `custom`");
        }
        let Some(attempts) = attempts.filter(|attempts| *attempts > task.repeat) else { continue };
        let message =
            format!("`{name}` is {attempts}, but `repeat` of the task `{}` is {}", task.task_id, task.repeat);
        problems.error(node.span, "aggregation", message).help(format!(
            "set `repeat: {attempts}` for the task or in `custom`, or leave {attempts} out of `{name}`"
        ));
    }
}

/// Returns true if the model under test is asked at temperature 0. Of servers and components, only what is sent counts.
fn is_greedy(config: &PipelineConfig, task: &TaskSpec) -> bool {
    let backend = config.inference_role_of(task).and_then(|role| config.backend_of(role));
    let params = config.sent_params_of(task);
    match backend.map(|backend| &backend.kind) {
        Some(BackendKind::Http(_) | BackendKind::CustomScript(_)) => params.temperature == Some(0.0),
        Some(BackendKind::LlamaCpp(_)) => params.is_greedy(),
        Some(BackendKind::Answers(_)) | None => false,
    }
}

/// Returns the aggregation of a metric's scores: the suite's choice, or else the metric's default.
fn plan_aggregation(
    spec: &gage_config::MetricSpec,
    metric: &Metric,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<(String, Option<Arc<Aggregator>>)> {
    match &spec.aggregation {
        Some(AggregationSpec::Host(name)) => Some((name.clone(), None)),
        Some(AggregationSpec::Plugin(call)) => {
            // The name may refer to the host's aggregations or a component.
            if let Err(RegistryError::Unknown { known, .. }) =
                registry.find::<AggregatorKind>(&call.reference)
                && !registry.is_lacking()
            {
                let name = call.reference.to_string();
                let message = format!("unknown aggregation `{name}`");
                let host = gage_config::METRIC_AGGREGATIONS.into_iter().chain(["p50", "p90", "p99"]);
                let known: Vec<&str> = host.chain(known.iter().map(String::as_str)).collect();
                problems.error(call.span, "aggregation", message).known(&name, known);
                return None;
            }
            let used = PluginUse::of_call(call, "aggregation");
            let aggregator = used.configure::<AggregatorKind>(registry, problems)?;
            Some((aggregator.name().to_owned(), Some(Arc::new(aggregator))))
        }
        None => {
            let name = metric.description().default_aggregation.clone().unwrap_or_default();
            if gage_config::is_aggregation(&name) {
                return Some((name, None));
            }
            let found = registry.find::<AggregatorKind>(&PluginReference::Name(name.clone()));
            if let Some(aggregator) =
                found.ok().and_then(|(family, member)| family.configure(member.as_deref(), json!({})).ok())
            {
                return Some((name, Some(Arc::new(aggregator))));
            }
            let message = format!("the metric asks for the unknown aggregation `{name}`");
            problems.error(spec.span, "aggregation", message).known(&name, gage_config::METRIC_AGGREGATIONS);
            None
        }
    }
}
