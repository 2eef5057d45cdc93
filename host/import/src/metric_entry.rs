//! Entries of `metrics` in a new suite.

use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Returns the entry of a metric. `id` is the name of its figure, and `implementation` the metric that computes it.
pub(crate) fn metric_entry(id: &str, implementation: &str, params: &[(&str, Value)]) -> Mapping {
    let mut metric = Mapping::default();
    metric.set("metric_id", Tree::text(id));
    if id != implementation {
        metric.set("implementation", Tree::text(implementation));
    }
    if !params.is_empty() {
        let mut mapping = Mapping::default();
        for (key, value) in params {
            mapping.set(key, Tree::of_json(value.clone()));
        }
        metric.set("params", Tree::Map(mapping));
    }
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_needed_keys_are_written() {
        for (id, params, keys) in [
            ("bleu", &[][..], &["metric_id"][..]),
            ("own", &[], &["metric_id", "implementation"]),
            ("own", &[("k", Value::from(1))], &["metric_id", "implementation", "params"]),
        ] {
            assert_eq!(metric_entry(id, "bleu", params).keys(), keys, "{id}");
        }
    }
}
