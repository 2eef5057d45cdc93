//! Refusals of a sampling parameter, and the setting that avoids each.
//!
//! A request with a parameter that the suite sets is never changed during a run: requests must stay those of the suite. The
//! default temperature is left out if a model refuses it.

use crate::http::Refusal;
use gage_config::OpenAiOptions;

/// Codes of a refused parameter and of a refused value.
const CODES: [&str; 2] = ["unsupported_parameter", "unsupported_value"];

/// Parts of messages, in lower case, about a parameter or a value that a model does not take.
const REFUSALS: [&str; 4] = ["unsupported", "not support", "don't support", "only the default"];

const TEMPERATURE: &str = "temperature";

/// Returns the setting that avoids the refusal of a parameter, as a request.
pub(super) fn remedy(refusal: &Refusal<'_>) -> Option<String> {
    if !is_of_request(refusal) {
        return None;
    }
    let message = refusal.message();
    let setting = if message.contains("max_completion_tokens") && message.contains("max_tokens") {
        "max_tokens_name: max_completion_tokens".to_owned()
    } else if is_temperature(refusal) {
        format!("omit_params: [{TEMPERATURE}]")
    } else {
        format!("omit_params: [{}]", refused_name(refusal)?)
    };
    Some(format!(
        "set `{setting}` in the `config` of the backend, or `model: {{name: openai:MODEL, {setting}}}` in the short form"
    ))
}

/// Returns whether a model accepts no temperature, or only its own.
pub(super) fn is_temperature(refusal: &Refusal<'_>) -> bool {
    let is_named = || {
        let message = refusal.message().to_lowercase();
        message.contains(TEMPERATURE) && REFUSALS.iter().any(|part| message.contains(part))
    };
    is_of_request(refusal)
        && match param(refusal) {
            Some(name) => name == TEMPERATURE && refused_name(refusal).is_some(),
            None => is_named(),
        }
}

/// Returns whether the status is that of a request which the server cannot take.
fn is_of_request(refusal: &Refusal<'_>) -> bool {
    matches!(refusal.status, 400 | 422)
}

/// Returns the parameter that the server names.
fn param<'r>(refusal: &'r Refusal<'_>) -> Option<&'r str> {
    refusal.body.get("error")?.get("param")?.as_str()
}

/// Returns the sampling parameter that the server refuses.
fn refused_name<'r>(refusal: &'r Refusal<'_>) -> Option<&'r str> {
    let is_refused = refusal.codes().iter().any(|code| CODES.contains(&code.as_str()));
    param(refusal).filter(|name| is_refused && OpenAiOptions::can_omit(name))
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
        let no_penalty = "Unsupported parameter: 'presence_penalty' is not supported with this model.";
        let (other_name, omitted) =
            (Some("max_tokens_name: max_completion_tokens"), Some("omit_params: [temperature]"));
        for (status, body, expected) in [
            (400, refusal(limit, "unsupported_parameter", "max_tokens"), other_name),
            (422, json!({"detail": limit}), other_name),
            (400, refusal(temperature, "unsupported_value", "temperature"), omitted),
            (400, json!({"error": {"message": temperature}}), omitted),
            (
                400,
                refusal(no_penalty, "unsupported_parameter", "presence_penalty"),
                Some("omit_params: [presence_penalty]"),
            ),
            (400, refusal(temperature, "unsupported_value", "messages[0].role"), None),
            (400, refusal("temperature is too high", "invalid_value", "temperature"), None),
            (500, refusal(limit, "unsupported_parameter", "max_tokens"), None),
            (400, json!({"error": {"message": "no such field"}}), None),
        ] {
            let refusal = Refusal { status, body: &body, text: "" };
            let setting = remedy(&refusal);
            let setting = setting.as_deref().and_then(|text| text.split('`').nth(1));
            assert_eq!(setting, expected, "{status} {body}");
            assert_eq!(is_temperature(&refusal), expected == omitted, "{status} {body}");
        }
    }
}
