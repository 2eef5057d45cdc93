//! Sampling parameters within a configuration.

use crate::mapping_reader::MappingReader;
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
    read_object(object, &table.path_of(key), |pointer| node.nearest(pointer).span, problems)
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
