//! Paths into Samples that the suite passes to its metrics, such as a `label_field`. A path that no Sample has is most likely a
//! typo.

use gage_config::{MetricSpec, PipelineConfig, PluginReference};
use gage_core::{EvalContext, FieldPath, JsonView, Root, Sample};
use gage_plugin::{MetricKind, Registry};
use parking_lot::Mutex;
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// A path into the Samples of a dataset that a metric reads.
#[derive(Debug)]
pub(super) struct MetricPath {
    dataset_id: String,
    /// The metric and its parameter, as in `exact_match.label_field`.
    key: String,
    path: FieldPath,
    is_found: AtomicBool,
    /// The paths of the first Sample without this one.
    known: Mutex<Option<Vec<String>>>,
}

/// Returns the paths of the metrics of all tasks, each once. A component that a metric names by its file is not read.
pub(super) fn of_suite(config: &PipelineConfig, registry: &Registry) -> Vec<MetricPath> {
    let mut paths: Vec<MetricPath> = Vec::new();
    let of_tasks = config.tasks.iter().map(|task| (task.dataset_id.as_str(), task.metrics.as_slice()));
    // Without tasks, the metrics of the suite score its dataset.
    let of_datasets = config.datasets.iter().filter(|_| config.tasks.is_empty());
    let of_datasets = of_datasets.map(|dataset| (dataset.dataset_id.as_str(), config.metrics.as_slice()));
    for (dataset_id, metrics) in of_tasks.chain(of_datasets) {
        for (key, path) in metrics.iter().flat_map(|metric| of_metric(metric, registry)) {
            let path = MetricPath::new(dataset_id, &key, &path);
            let is_known = |known: &MetricPath| {
                (&known.dataset_id, &known.key, &known.path) == (&path.dataset_id, &path.key, &path.path)
            };
            if path.path.root() == Root::Sample && !paths.iter().any(is_known) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Returns the paths that the parameters of a metric hold, each with its key.
fn of_metric(metric: &MetricSpec, registry: &Registry) -> Vec<(String, String)> {
    let given = metric.params.to_json();
    let has_params = given.as_object().is_some_and(|params| !params.is_empty());
    if !has_params || matches!(metric.implementation, PluginReference::File { .. }) {
        return Vec::new();
    }
    // A metric that cannot be found is an error of `validate`.
    let Ok((component, member)) = registry.find::<MetricKind>(&metric.implementation) else {
        return Vec::new();
    };
    let mut members = component.descriptions().iter();
    let described = members.find(|described| member.as_ref().is_none_or(|name| described.name == *name));
    let inputs = described.map(|described| described.inputs.as_slice()).unwrap_or_default();
    let path_of = |params: &[String]| {
        // The first parameter that is set wins.
        let param = params.iter().find(|param| given.get(param).is_some_and(|path| !path.is_null()))?;
        Some((format!("{}.{param}", metric.metric_id), given[param].as_str()?.to_owned()))
    };
    inputs.iter().filter_map(|input| path_of(&input.path_params)).collect()
}

impl MetricPath {
    fn new(dataset_id: &str, key: &str, path: &str) -> MetricPath {
        MetricPath {
            dataset_id: dataset_id.to_owned(),
            key: key.to_owned(),
            path: FieldPath::new(path),
            is_found: AtomicBool::new(false),
            known: Mutex::default(),
        }
    }

    /// Returns whether the path is into the Samples of a dataset.
    pub(super) fn is_of(&self, dataset_id: &str) -> bool {
        self.dataset_id == dataset_id
    }

    /// Notes whether a Sample has the path.
    pub(super) fn look_at(&self, sample: &Sample) {
        if self.is_found() {
            return;
        }
        let nothing = &Value::Null;
        let roots = EvalContext {
            sample: JsonView::Sample(sample),
            model_output: nothing.into(),
            judge_output: nothing,
            support_output: nothing,
        };
        if self.path.find(roots).is_some() {
            self.is_found.store(true, Ordering::Relaxed);
        } else {
            self.known.lock().get_or_insert_with(|| paths_of(&sample.to_value()));
        }
    }

    /// Returns whether a Sample has the path.
    pub(super) fn is_found(&self) -> bool {
        self.is_found.load(Ordering::Relaxed)
    }

    /// Returns the path that was most likely intended.
    pub(super) fn help(&self) -> Option<String> {
        let path = self.path.as_str();
        let path = path.strip_prefix("sample.").unwrap_or(path);
        let known = self.known.lock();
        let nearest = gage_core::nearest(path, known.iter().flatten().map(String::as_str))?;
        Some(format!("did you mean `sample.{nearest}`?"))
    }
}

impl fmt::Display for MetricPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MetricPath { path, key, .. } = self;
        write!(formatter, "no Sample has a value at `{path}` ({key}), so this metric would have no figure")
    }
}

/// Returns the keys of a Sample, and those of the objects in it.
fn paths_of(sample: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    for (key, value) in sample.as_object().into_iter().flatten() {
        paths.push(key.clone());
        let below = value.as_object().into_iter().flatten();
        paths.extend(below.map(|(inner, _)| format!("{key}.{inner}")));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_a_sample_are_known_two_levels_deep() {
        let sample = json!({"label": "a", "metadata": {"answer": {"text": 1}}, "references": [1]});
        let mut paths = paths_of(&sample);
        paths.sort();
        assert_eq!(paths, ["label", "metadata", "metadata.answer", "references"]);
    }
}
