//! Refusals of a sampling parameter, and the setting that avoids each.
//!
//! What is sent is never changed during a run: requests must stay those of the suite.

use crate::http::Refusal;
use gage_config::OpenAiOptions;

/// Codes of a refused parameter and of a refused value.
const CODES: [&str; 2] = ["unsupported_parameter", "unsupported_value"];

/// Returns the setting that avoids the refusal of a parameter, as a request.
pub(super) fn remedy(refusal: &Refusal<'_>) -> Option<String> {
    if !matches!(refusal.status, 400 | 422) {
        return None;
    }
    let message = refusal.message();
    if message.contains("max_completion_tokens") && message.contains("max_tokens") {
        return Some(
            "set `max_tokens_name: max_completion_tokens` in the `config` of the backend".to_owned(),
        );
    }
    let name = refusal.body.get("error")?.get("param")?.as_str()?;
    let is_refused = refusal.codes().iter().any(|code| CODES.contains(&code.as_str()));
    (is_refused && OpenAiOptions::can_omit(name))
        .then(|| format!("set `omit_params: [{name}]` in the `config` of the backend"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn refusal(message: &str, code: &str, param: &str) -> Value {
        json!({"error": {"message": message, "type": "invalid_request_error", "code": code, "param": param}})
    }

    #[test]
    fn a_refused_parameter_has_its_setting() {
        let limit = "Unsupported parameter: 'max_tokens' is not supported with this model. \
                     Use 'max_completion_tokens' instead.";
        let temperature = "Unsupported value: 'temperature' does not support 0 with this model.";
        let other_name = Some("set `max_tokens_name: max_completion_tokens` in the `config` of the backend");
        let omitted = Some("set `omit_params: [temperature]` in the `config` of the backend");
        for (status, body, expected) in [
            (400, refusal(limit, "unsupported_parameter", "max_tokens"), other_name),
            (422, json!({"detail": limit}), other_name),
            (400, refusal(temperature, "unsupported_value", "temperature"), omitted),
            (400, refusal(temperature, "unsupported_value", "messages[0].role"), None),
            (400, refusal("temperature is too high", "invalid_value", "temperature"), None),
            (500, refusal(limit, "unsupported_parameter", "max_tokens"), None),
            (400, json!({"error": {"message": "no such field"}}), None),
        ] {
            let refusal = Refusal { status, body: &body, text: "" };
            assert_eq!(remedy(&refusal).as_deref(), expected, "{status} {body}");
        }
    }
}
