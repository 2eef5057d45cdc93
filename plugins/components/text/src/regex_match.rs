//! `regex_match`: tests whether a pattern occurs in a text.

use gage_python_regex::PythonRegex;
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::text::quoted;
use gage_text_kit::value::{DisplayValue, as_text, is_falsy, shown};

/// Scores 1 if a pattern in the syntax of Python's `re` occurs anywhere in a text. An absent, empty, false or zero
/// value counts as the empty text.
pub struct RegexMatch {
    regex: PythonRegex,
}

impl Metric for RegexMatch {
    fn name() -> &'static str {
        "regex_match"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("3", "Checks that a regular expression matches a text")
            .input("target", &["target_field"], &["model_output.answer"], ValueKind::Any)
            .params(json!({
                "pattern": {
                    "type": "string", "minLength": 1,
                    "description": "Pattern in the syntax of Python's `re`; it can match anywhere in the text",
                    "examples": [r"^\d{4}-\d\d-\d\d$"],
                },
                "ignore_case": flag_schema(true, "Ignore case"),
            }))
            .required(&["pattern"])
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let pattern = params.text("pattern")?.filter(|pattern| !pattern.is_empty());
        let Some(pattern) = pattern else {
            return Err(PluginError::invalid_config("params: 'pattern' is required").at("/pattern"));
        };
        let regex = PythonRegex::new(pattern, params.flag("ignore_case", true)?).map_err(|error| {
            PluginError::invalid_config(format!("params: pattern: {error}")).at("/pattern")
        })?;
        Ok(RegexMatch { regex })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let value = inputs.value(0);
        let falsy = is_falsy(value);
        let text = as_text(value).filter(|_| !falsy).unwrap_or_default();
        let found = self
            .regex
            .is_match(&text)
            .map_err(|error| PluginError::invalid_input(format!("the pattern cannot be tried: {error}")))?;
        let target = if falsy { DisplayValue::Text("".into()) } else { shown(value) };
        let card = ScoreCard::binary(found).detail(&json!({ "target": target }));
        if found {
            return Ok(card);
        }
        Ok(card.tag("no_match").explain(format!("the pattern does not occur in {}", quoted(&text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::ErrorKind;
    use gage_sdk::metric::Value;

    fn score(params: serde_json::Value, value: Value) -> Option<f64> {
        RegexMatch::prepare(params).ok()?.score(Inputs::new(&[value])).ok()?.primary_score
    }

    #[test]
    fn values_become_texts() {
        for (pattern, value, expected) in [
            ("^42$", Value::Number(42.0), 1.0),
            ("0", Value::Number(0.0), 0.0),
            ("^$", Value::Absent, 1.0),
            (r#"^\["a"\]$"#, Value::Texts(vec!["a".to_owned()]), 1.0),
            ("paris", Value::Text("PARIS".to_owned()), 1.0),
        ] {
            assert_eq!(score(json!({ "pattern": pattern }), value), Some(expected), "{pattern}");
        }
        let exact = json!({ "pattern": "paris", "ignore_case": false });
        assert_eq!(score(exact, Value::Text("PARIS".to_owned())), Some(0.0));
    }

    #[test]
    fn a_failure_is_explained() {
        for (text, expected) in [("paris", None), ("Oslo", Some("the pattern does not occur in 'Oslo'"))] {
            let card = RegexMatch::prepare(json!({ "pattern": "^P" }))
                .and_then(|metric| metric.score(Inputs::new(&[text.into()])));
            assert_eq!(card.map(|card| card.explain), Ok(expected.map(str::to_owned)));
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in
            [json!({}), json!({ "pattern": "" }), json!({ "pattern": 5 }), json!({ "pattern": "(" })]
        {
            let kind = RegexMatch::prepare(params).err().map(|error| error.kind);
            assert!(matches!(kind, Some(ErrorKind::InvalidConfig)));
        }
    }

    #[test]
    fn endless_backtracking_is_an_error_and_no_score() {
        let metric = RegexMatch::prepare(json!({ "pattern": r"^(a|aa)+\1?(?=b)c" }));
        let text = Value::Text("a".repeat(60));
        let kind = metric.and_then(|metric| metric.score(Inputs::new(&[text]))).err().map(|error| error.kind);
        assert!(matches!(kind, Some(ErrorKind::InvalidInput)));
    }
}
