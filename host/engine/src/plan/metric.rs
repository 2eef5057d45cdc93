//! The metrics of a task: loaded, their parameters checked, and how their scores become one figure.

use super::{CLOCKS, PlannedMetric, report_missing, report_params};
use gage_config::{AggregationSpec, PluginReference, Problems};
use gage_core::Root;
use gage_plugin::{Aggregator, AggregatorKind, Metric, MetricKind, Registry, RegistryError};
use serde_json::json;
use std::sync::Arc;

pub(super) fn plan_metric(
    spec: &gage_config::MetricSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<PlannedMetric> {
    let (family, member) = match registry.find::<MetricKind>(&spec.implementation) {
        Ok(found) => found,
        Err(error) => {
            report_missing(
                &error,
                registry,
                spec.span,
                "metrics",
                &spec.implementation.to_string(),
                problems,
            );
            return None;
        }
    };
    let metric = match family.configure(member.as_deref(), spec.params.to_json()) {
        Ok(metric) => metric,
        Err(found) => {
            report_params(found, Some(&spec.params), spec.span, "params", problems);
            return None;
        }
    };
    let (aggregation, aggregator) = plan_aggregation(spec, &metric, registry, problems)?;
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

/// Whether one of these inputs varies from run to run.
pub(crate) fn reads_clock(inputs: &[gage_plugin::Input]) -> bool {
    let is_clock = |path: &gage_core::FieldPath| {
        path.root() == Root::ModelOutput && path.first_key().is_none_or(|key| CLOCKS.contains(&key))
    };
    inputs.iter().any(|input| input.paths.iter().any(is_clock))
}

/// How the scores of a metric become one figure: as the suite says, otherwise as the metric does.
fn plan_aggregation(
    spec: &gage_config::MetricSpec,
    metric: &Metric,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<(String, Option<Arc<Aggregator>>)> {
    match &spec.aggregation {
        Some(AggregationSpec::Host(name)) => Some((name.clone(), None)),
        Some(AggregationSpec::Plugin(call)) => {
            let name = call.reference.to_string();
            match registry.find::<AggregatorKind>(&call.reference) {
                // A name may be meant for the host as well as for a component.
                Err(RegistryError::Unknown { known, .. }) if !registry.is_lacking() => {
                    let message = format!("unknown aggregation `{name}`");
                    let host = gage_config::METRIC_AGGREGATIONS.into_iter().chain(["p50", "p90", "p99"]);
                    let known: Vec<&str> = host.chain(known.iter().map(String::as_str)).collect();
                    problems.error(call.span, "aggregation", message).known(&name, known);
                    None
                }
                Err(error) => {
                    report_missing(&error, registry, call.span, "aggregation", &name, problems);
                    None
                }
                Ok((family, member)) => match family.configure(member.as_deref(), call.params.to_json()) {
                    Ok(aggregator) => Some((aggregator.name().to_owned(), Some(Arc::new(aggregator)))),
                    Err(found) => {
                        report_params(found, Some(&call.params), call.span, "aggregation", problems);
                        None
                    }
                },
            }
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
