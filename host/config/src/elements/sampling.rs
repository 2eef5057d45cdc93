//! Sampling parameters within a configuration.

use crate::mapping_reader::MappingReader;
use crate::problems::Problems;
pub use gage_core::SamplingParams;
use serde_json::Value;

/// Reads the sampling parameters below a key; nothing there is the default.
pub(crate) fn read(
    table: &mut MappingReader<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> SamplingParams {
    let Some(node) = table.free_map(key, problems) else { return SamplingParams::default() };
    let Value::Object(object) = node.to_json() else { return SamplingParams::default() };
    match SamplingParams::from_object(object) {
        Ok(params) => params,
        Err(found) => {
            for problem in found {
                let place = node.nearest(&problem.pointer);
                let name = problem.pointer.trim_start_matches('/');
                let key = format!("{}.{name}", table.path_of(key));
                problems.error(place.span, &key, format!("`{name}`: {}", problem.message));
            }
            SamplingParams::default()
        }
    }
}
