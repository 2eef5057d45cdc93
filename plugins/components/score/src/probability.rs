//! Probabilities as models state them.

use gage_sdk::metric::Value;
use gage_sdk::serde_json;
use gage_text_kit::number::parse_float;
use gage_text_kit::value::as_float;

/// Returns the probability that a value states: a number from 0 to 1, a text that spells one, or a percentage such as
/// `80%`. `None` for anything else, and outside 0 to 1.
pub(crate) fn stated(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Boolean(_) => None,
        Value::Text(text) => match text.trim().strip_suffix(['%', '％']) {
            Some(percent) => parse_float(percent).map(|percent| percent / 100.0),
            None => parse_float(text),
        },
        other => as_float(other),
    };
    number.filter(|number| (0.0..=1.0).contains(number))
}

/// Allowed distance of a distribution's total from 1: probabilities are often rounded.
const TOLERANCE: f64 = 0.01;

/// Reads a distribution over options: an object of probabilities by option. `Err` says what is wrong.
pub(crate) fn distribution(value: &serde_json::Value) -> Result<Vec<(&str, f64)>, &'static str> {
    let serde_json::Value::Object(object) = value else { return Err("it is not an object of probabilities") };
    let probability = |value: &serde_json::Value| value.as_f64().filter(|value| (0.0..=1.0).contains(value));
    let options: Option<Vec<(&str, f64)>> =
        object.iter().map(|(option, value)| Some((option.as_str(), probability(value)?))).collect();
    let Some(options) = options else { return Err("a probability is not a number from 0 to 1") };
    let sum: f64 = options.iter().map(|(_, probability)| probability).sum();
    if (sum - 1.0).abs() > TOLERANCE { Err("the probabilities do not add up to 1") } else { Ok(options) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn statements() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (value, expected) in [
            (Value::Number(0.8), Some(0.8)),
            (text(" 0.8 "), Some(0.8)),
            (text("80%"), Some(0.8)),
            (text("80 ％"), Some(0.8)),
            (text("80"), None),
            (text("nan"), None),
            (text("1e400"), None),
            (text("high"), None),
            (text(""), None),
            (Value::Number(-0.1), None),
            (Value::Boolean(true), None),
            (Value::Absent, None),
        ] {
            assert_eq!(stated(&value), expected);
        }
    }

    #[test]
    fn distributions() {
        assert_eq!(distribution(&json!({ "A": 0.7, "B": 0.3 })), Ok(vec![("A", 0.7), ("B", 0.3)]));
        assert!(distribution(&json!({ "A": 0.333, "B": 0.333, "C": 0.333 })).is_ok());
        for value in [json!({}), json!({ "A": 2 }), json!({ "A": 0.5 }), json!({ "A": "1" }), json!([1.0])] {
            assert!(distribution(&value).is_err(), "{value}");
        }
    }
}
