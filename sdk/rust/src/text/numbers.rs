use serde_json::Value;

/// Keys for the number in objects in lists of token log-probabilities.
const KEYS: [&str; 3] = ["logprob", "token_logprob", "value"];

/// Returns all numbers in a JSON value, in order. Includes nested lists and texts that spell a number (`nan`
/// is one). An object counts by the first of its keys `logprob`, `token_logprob` and `value`. Anything else
/// is omitted, including booleans.
pub fn flatten_numbers(value: &Value) -> Vec<f64> {
    let mut numbers = Vec::new();
    collect(value, &mut numbers);
    numbers
}

fn collect(value: &Value, numbers: &mut Vec<f64>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => numbers.extend(number.as_f64()),
        Value::String(text) => numbers.extend(text.trim().parse::<f64>()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, numbers)),
        Value::Object(object) => {
            if let Some(value) = KEYS.iter().find_map(|key| object.get(*key)) {
                collect(value, numbers);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_flattened() {
        for (value, expected) in [
            (json!(null), vec![]),
            (json!(1), vec![1.0]),
            (json!("x"), vec![]),
            (json!([null, 1, true]), vec![1.0]),
            (json!([[-0.1, -0.2], [-0.3, [-0.4]]]), vec![-0.1, -0.2, -0.3, -0.4]),
            (json!({ "a": 1 }), vec![]),
            (json!([{ "token": "a", "logprob": -0.5 }, { "value": [1] }]), vec![-0.5, 1.0]),
            (json!(["1e3"]), vec![1000.0]),
        ] {
            assert_eq!(flatten_numbers(&value), expected, "{value}");
        }
        assert!(flatten_numbers(&json!("nan"))[0].is_nan());
    }
}
