//! Descriptions of tasks for reports.

use gage_config::{PipelineConfig, RequestKind, TaskSpec, load_recorded};
use gage_core::Object;
use gage_engine::Scoring;
use gage_figures::{Aggregation, MetricDescription, PromptDescription, TaskDescription, UNBOUNDED};
use gage_record::Manifest;
use serde_json::Value;

/// Describes a task for reports.
pub(crate) fn describe(spec: &TaskSpec, scoring: &Scoring) -> TaskDescription {
    let of = |is_timing: bool| {
        scoring
            .metrics
            .iter()
            .filter(|planned| planned.is_timing == is_timing)
            .map(|planned| {
                let description = planned.metric.description();
                let value = description.values.first();
                MetricDescription {
                    metric_id: planned.metric_id.clone(),
                    implementation: planned.implementation.to_string(),
                    scorer_version: description.version.clone(),
                    aggregation: match &planned.aggregator {
                        None => Aggregation::parse(&planned.aggregation).unwrap_or(Aggregation::Mean),
                        Some(_) => Aggregation::Custom(planned.aggregation.clone()),
                    },
                    value_name: value.map(|value| value.name.clone()).unwrap_or_default(),
                    higher_is_better: value.is_none_or(|value| value.higher_is_better),
                    is_proportion: value.is_none_or(|value| {
                        matches!((value.minimum, value.maximum), (None, None) | (Some(0.0), Some(1.0)))
                    }),
                    scales: description
                        .values
                        .iter()
                        .filter_map(|value| Some((value.name.clone(), value.scale()?)))
                        .collect(),
                    bounds: value.map_or(UNBOUNDED, |value| {
                        [value.minimum.unwrap_or(UNBOUNDED[0]), value.maximum.unwrap_or(UNBOUNDED[1])]
                    }),
                    directions: description
                        .values
                        .iter()
                        .skip(1)
                        .map(|value| (value.name.clone(), value.higher_is_better))
                        .collect(),
                }
            })
            .collect()
    };
    TaskDescription {
        task_id: spec.task_id.clone(),
        dataset_id: spec.dataset_id.clone(),
        metrics: of(false),
        timing_metrics: of(true),
        slices: spec.slices.iter().map(|path| path.as_str().to_owned()).collect(),
        cluster_by: spec.cluster_by.as_ref().map(|path| path.as_str().to_owned()),
        repeat: spec.repeat,
        prompts: Vec::new(),
        prompt_version: scoring.prompt_version.clone(),
        metric_paths: metric_paths(spec, scoring),
        judges: Vec::new(),
        sampling_params: Object::new(),
    }
}

/// Returns the paths that a suite sets for the metrics of a task. Timing metrics are excluded: records lack their
/// paths.
fn metric_paths(spec: &TaskSpec, scoring: &Scoring) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for planned in scoring.metrics.iter().filter(|planned| !planned.is_timing) {
        let metric_id = &planned.metric_id;
        let Some(metric) = spec.metrics.iter().find(|metric| metric.metric_id == *metric_id) else {
            continue;
        };
        let given = metric.params.to_json();
        for input in &planned.metric.description().inputs {
            let param =
                input.path_params.iter().find(|param| given.get(param).is_some_and(|path| !path.is_null()));
            let path = param.and_then(|param| Some((param, given[param].as_str()?)));
            paths.extend(path.map(|(param, path)| (format!("{metric_id}.{param}"), path.to_owned())));
        }
    }
    paths
}

/// Adds the judges of each task.
pub(crate) fn describe_judges(tasks: &mut [TaskDescription], config: &PipelineConfig) {
    for (task, spec) in tasks.iter_mut().zip(&config.tasks) {
        let judges = spec.steps.judge.iter().flat_map(|step| &step.judges);
        task.judges = judges.filter_map(|judge| config.judge_id_of(judge)).collect();
    }
}

/// Adds the prompts and sampling parameters of each task's requests, and its judges.
pub(crate) fn describe_requests(tasks: &mut [TaskDescription], config: &PipelineConfig, manifest: &Manifest) {
    describe_judges(tasks, config);
    let prompts = &manifest.identity.prompts;
    let holds_secrets = !config.redacted.is_empty() || !manifest.identity.redacted.is_empty();
    let public = holds_secrets.then(|| load_recorded(&config.document)).flatten();
    for (task, spec) in tasks.iter_mut().zip(&config.tasks) {
        let mut roles: Vec<&str> = Vec::new();
        for role in config.roles_of(spec) {
            if !roles.contains(&role.adapter_id.as_str()) {
                roles.push(&role.adapter_id);
            }
        }
        let described = |adapter_id: &str| {
            let prompt = prompts.get(adapter_id)?;
            Some(PromptDescription {
                adapter_id: adapter_id.to_owned(),
                prompt_id: prompt.prompt_id.clone(),
                digest: prompt.digest.clone(),
            })
        };
        task.prompts = roles.into_iter().filter_map(described).collect();
        // A secret among the parameters is shown by its name here. When a run is scored again, it is no longer known.
        let named = public.as_ref().and_then(|public| {
            let task = public.tasks.iter().find(|task| task.task_id == spec.task_id)?;
            Some(public.sent_params_of(task))
        });
        let params = serde_json::to_value(named.unwrap_or_else(|| config.sent_params_of(spec)));
        task.sampling_params = match params {
            Ok(Value::Object(params)) if spec.steps.inference.request == RequestKind::Generate => params,
            _ => Object::new(),
        };
    }
}
