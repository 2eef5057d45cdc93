//! Token usage of requests, as stored in outputs.

use gage_core::{Object, OutputView, Usage};
use serde_json::{Value, json};

/// Adds the usage of two requests, as far as it is known.
pub(crate) fn sum_of(before: Option<Usage>, more: Option<Usage>) -> Option<Usage> {
    let (Some(before), Some(more)) = (before, more) else { return before.or(more) };
    Some(Usage {
        prompt_tokens: before.prompt_tokens.saturating_add(more.prompt_tokens),
        completion_tokens: before.completion_tokens.saturating_add(more.completion_tokens),
    })
}

/// Returns an object with the usage under its key.
pub(crate) fn named(usage: Option<Usage>) -> Object {
    usage.map(|usage| ("usage".to_owned(), json!(usage))).into_iter().collect()
}

/// Returns the usage in an output.
pub(crate) fn usage_in(output: Option<&Value>) -> Option<Usage> {
    usage_at(output?, "usage")
}

/// Returns the usage of a model's output.
pub(crate) fn usage_of(output: &OutputView) -> Option<Usage> {
    match output {
        OutputView::Read(output) => output.usage,
        OutputView::Json(output) => usage_in(Some(output)),
    }
}

/// Returns the usage under a key of an output.
pub(crate) fn usage_at(output: &Value, key: &str) -> Option<Usage> {
    let usage = output.get(key)?;
    let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    usage.is_object().then(|| Usage {
        prompt_tokens: tokens("prompt_tokens"),
        completion_tokens: tokens("completion_tokens"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_where_there_is_some_and_summed() {
        let usage = |prompt_tokens, completion_tokens| Usage { prompt_tokens, completion_tokens };
        for (output, expected) in [
            (json!({}), None),
            (json!({"usage": null}), None),
            (json!({"usage": {}}), Some(usage(0, 0))),
            (json!({"usage": {"prompt_tokens": 3}}), Some(usage(3, 0))),
            (json!({"usage": {"prompt_tokens": 3, "completion_tokens": "x"}}), Some(usage(3, 0))),
        ] {
            assert_eq!(usage_in(Some(&output)), expected, "{output}");
        }
        for (before, more, expected) in [
            (None, None, None),
            (Some(usage(1, 2)), None, Some(usage(1, 2))),
            (None, Some(usage(1, 2)), Some(usage(1, 2))),
            (Some(usage(1, 2)), Some(usage(3, u64::MAX)), Some(usage(4, u64::MAX))),
        ] {
            assert_eq!(sum_of(before, more), expected, "{before:?} {more:?}");
        }
    }
}
