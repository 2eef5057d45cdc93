//! Sampling parameters within a configuration.

use crate::mapping_reader::MappingReader;
use crate::node::Entry;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::Object;
pub use gage_core::SamplingParams;
use serde_json::Value;

/// Reads the sampling parameters below a key. Missing ones have their defaults.
pub(crate) fn read(
    table: &mut MappingReader<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> SamplingParams {
    let Some(node) = table.free_map(key, problems) else { return SamplingParams::default() };
    let Value::Object(object) = node.to_json() else { return SamplingParams::default() };
    let span_of = |pointer: &str| {
        let name = pointer.trim_start_matches('/');
        let is_unknown = |entry: &&Entry| entry.key == name && !SamplingParams::NAMES.contains(&name);
        let unknown = node.as_map().unwrap_or_default().iter().find(is_unknown);
        unknown.map_or_else(|| node.nearest(pointer).span, |entry| entry.key_span)
    };
    read_object(object, &table.path_of(key), span_of, problems)
}

/// Reads sampling parameters; `span_of` returns the span of one by its JSON pointer.
pub(crate) fn read_object(
    object: Object,
    path: &str,
    span_of: impl Fn(&str) -> Span,
    problems: &mut Problems,
) -> SamplingParams {
    SamplingParams::from_object(object).unwrap_or_else(|found| {
        for problem in found {
            let name = problem.pointer.trim_start_matches('/');
            let message = format!("`{name}`: {}", problem.message);
            problems.error(span_of(&problem.pointer), &format!("{path}.{name}"), message);
        }
        SamplingParams::default()
    })
}

#[cfg(test)]
mod tests {
    use crate::pipeline::{Environment, load};

    /// Returns the problems of a suite with a key for its metrics, and with parameters of its backend.
    fn problems_of(metrics: &str, params: &str) -> String {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             tasks: [{{task_id: t, dataset_id: d}}]\n{metrics}: [exact_match]\n\
             backends:\n  - backend_id: b\n    type: openai_http\n    \
             config: {{base_url: 'http://a/v1', model: m, default_params: {{{params}}}}}\n\
             role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
             custom: {{steps: [{{step: inference}}, {{step: auto_eval}}]}}\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        load("test.yaml", &text, &[], &environment).1.render(false)
    }

    #[test]
    fn an_unknown_parameter_is_marked_at_its_key() {
        let shown = problems_of("metrics", "max_new_token: 64, temperature: 0");
        assert!(shown.contains("{max_new_token: 64, temperature: 0}"), "{shown}");
        assert!(shown.contains(" ^^^^^^^^^^^^^ backends[0].config.default_params.max_new_token"), "{shown}");
        let shown = problems_of("metrics", "temperature: hot");
        assert!(shown.contains(" ^^^ backends[0].config.default_params.temperature"), "{shown}");
    }

    /// Without metrics the step `auto_eval` has nothing to do, which is not what is wrong.
    #[test]
    fn misspelt_metrics_are_one_error() {
        let shown = problems_of("metric", "temperature: 0");
        assert!(
            shown.contains("unknown key `metric`") && shown.contains("did you mean `metrics`?"),
            "{shown}"
        );
        assert!(!shown.contains("there are no metrics"), "{shown}");
        let shown = problems_of("other", "temperature: 0");
        assert!(shown.contains("there are no metrics"), "{shown}");
    }
}
