//! Test whether a result is a success.

use gage_sdk::serde_json::Value;

/// Returns whether a result passes: a boolean directly, a number from the threshold up, and an object by its `pass` or
/// else `score`. `None` for anything else.
pub(crate) fn passed(result: &Value, threshold: f64) -> Option<bool> {
    let known = |value: &Value, threshold: f64| match value {
        Value::Bool(pass) => Some(*pass),
        Value::Number(number) => number.as_f64().map(|number| number >= threshold),
        _ => None,
    };
    match result {
        Value::Object(object) => match object.get("pass") {
            // A numeric `pass` is 0 or 1, regardless of the threshold of scores.
            Some(pass) if !pass.is_null() => known(pass, 1.0),
            _ => known(object.get("score")?, threshold),
        },
        other => known(other, threshold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn successes() {
        for (result, expected) in [
            (json!(true), Some(true)),
            (json!(0.5), Some(true)),
            (json!(0.4), Some(false)),
            (json!({ "pass": null, "score": 0.5 }), Some(true)),
            (json!({ "pass": 0.5, "score": 1 }), Some(false)),
            (json!({ "pass": "no", "score": 1 }), None),
            (json!({}), None),
            (json!("1"), None),
        ] {
            assert_eq!(passed(&result, 0.5), expected, "{result}");
        }
    }
}
