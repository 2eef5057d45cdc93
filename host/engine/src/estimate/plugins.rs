//! Estimated costs of plugins, measured over the first rows. No metric is called that could send something.

use crate::plan::PlannedTask;
use gage_core::{EvalContext, FinishReason, JsonView, ModelOutput, Sample};
use gage_plugin::{MemberWork, PluginHost, PluginWork, World};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Estimated costs of a member of a plugin in a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginEstimate {
    /// Name of the component.
    pub plugin: String,
    /// Kind of the component: `metric`, `preprocessor`, ….
    pub kind: String,
    /// Name of the member: of the metric, of the preprocessor, ….
    pub member: String,
    /// Processor time per sample in microseconds.
    pub cpu_us_per_sample: f64,
    /// Processor time for all samples in seconds.
    pub cpu_s: f64,
    /// Units of fuel per sample, about one per WebAssembly instruction.
    pub fuel_per_sample: u64,
    /// Most memory that one instance had, in bytes.
    pub peak_memory_bytes: u64,
}

/// Scores Samples as if their labels were the answers, so that their costs are counted.
pub(super) fn try_metrics(task: &PlannedTask, samples: &[Arc<Sample>]) {
    let outputs: Vec<ModelOutput> = samples.iter().map(|sample| answer_of(sample)).collect();
    let nothing = &Value::Null;
    let contexts = || {
        samples.iter().zip(&outputs).map(|(sample, output)| {
            let context = EvalContext {
                sample: JsonView::Sample(sample),
                model_output: JsonView::Output(output),
                judge_output: nothing,
                support_output: nothing,
            };
            (sample.id.as_str(), context)
        })
    };
    let extractors = task.scoring.extractors.iter().map(|planned| &planned.extractor);
    for extractor in extractors.filter(|extractor| !extractor.has_capabilities()) {
        extractor.extract(contexts().map(|(id, context)| extractor.resolve(id, context)).collect());
    }
    let metrics = task.scoring.metrics.iter().map(|planned| &planned.metric);
    for metric in metrics.filter(|metric| !metric.has_capabilities()) {
        metric.score(contexts().map(|(id, context)| metric.resolve(id, context)).collect());
    }
}

/// Returns the right answer as the output of a model.
fn answer_of(sample: &Sample) -> ModelOutput {
    let reference =
        sample.label.clone().or_else(|| sample.references.first().map(gage_core::Reference::text));
    ModelOutput::generated(reference.unwrap_or_default(), FinishReason::Stop, None)
}

/// Returns the costs of each member since `before` per sample and for a number of samples, the most expensive first. `tried` is
/// the number of samples that were scored: several metrics may use the same member.
pub(super) fn estimates(
    host: &PluginHost,
    before: &[MemberWork],
    tried: usize,
    samples: f64,
) -> Vec<PluginEstimate> {
    let mut estimates: Vec<PluginEstimate> = Vec::new();
    for current in host.work() {
        let is_same = |one: &&MemberWork| {
            (&one.plugin, one.world, &one.member) == (&current.plugin, current.world, &current.member)
        };
        let earlier = before.iter().find(is_same).map_or(PluginWork::default(), |one| one.work);
        let items = current.work.items.saturating_sub(earlier.items);
        if items == 0 {
            continue;
        }
        let time: Duration = current.work.processor_time.saturating_sub(earlier.processor_time);
        let fuel = current.work.fuel.saturating_sub(earlier.fuel);
        // A preprocessor may have read more rows than were scored.
        let measured = if current.world == World::Preprocessor { items } else { tried as u64 };
        let measured = measured.max(1);
        // It stays far below 2^53.
        let seconds = time.as_secs_f64() / measured as f64;
        estimates.push(PluginEstimate {
            plugin: current.plugin,
            kind: current.world.to_string(),
            member: current.member,
            cpu_us_per_sample: seconds * 1e6,
            cpu_s: seconds * samples,
            fuel_per_sample: fuel / measured,
            peak_memory_bytes: current.work.peak_memory_bytes,
        });
    }
    estimates.sort_by(|one, other| other.cpu_s.total_cmp(&one.cpu_s));
    estimates
}
