//! A line of results, in the format of either provider.

use gage_core::{max_json_values, parse_json};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Maximum number of JSON values in a line: as many as an answer of 64 MiB may have.
const MAX_LINE_VALUES: usize = max_json_values(64 << 20);

/// The result of a request.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) enum BatchResult {
    /// The reply of the server.
    Reply {
        /// Status.
        status: u16,
        /// Body, as JSON.
        body: Vec<u8>,
    },
    /// The request was not answered, for this reason.
    Failed(String),
}

/// The keys that show whether a line is a request or a result. Null counts as missing.
#[derive(Deserialize)]
struct LineHead {
    custom_id: String,
    response: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    body: Option<IgnoredAny>,
    params: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ResultLine {
    custom_id: String,
    response: Option<OpenAiResponse>,
    error: Option<Value>,
    result: Option<AnthropicResult>,
}

#[derive(Deserialize)]
struct OpenAiResponse {
    status_code: u16,
    body: Value,
}

#[derive(Deserialize)]
struct AnthropicResult {
    #[serde(rename = "type")]
    kind: String,
    message: Option<Value>,
    error: Option<Value>,
}

/// Returns the name of the request that a line is the result of.
///
/// # Errors
/// Describes why the line is no result.
pub(super) fn read_head(line: &[u8]) -> Result<String, String> {
    let head: LineHead = parse_json(line, MAX_LINE_VALUES)
        .map_err(|error| format!("it is not the JSON of a result: {error}"))?;
    let LineHead { custom_id, response, error, result, body, params } = head;
    if response.is_some() || error.is_some() || result.is_some() {
        return Ok(custom_id);
    }
    Err(if body.is_some() || params.is_some() {
        "it is a request; give the file of results that the provider returned".to_owned()
    } else {
        "it is no result: it has neither `response`, `error` nor `result`".to_owned()
    })
}

/// Reads the result of the request with a name.
///
/// # Errors
/// Describes why the line is not readable as this result.
pub(super) fn read_result(line: &[u8], wanted: &str) -> Result<BatchResult, String> {
    let line: ResultLine =
        parse_json(line, MAX_LINE_VALUES).map_err(|error| format!("the result cannot be read: {error}"))?;
    if line.custom_id != wanted {
        return Err("the file has changed since it was opened".to_owned());
    }
    let reply = |status: u16, body: &Value| {
        let body = serde_json::to_vec(body).map_err(|error| error.to_string());
        body.map(|body| BatchResult::Reply { status, body })
    };
    if let Some(error) = line.error {
        return Ok(BatchResult::Failed(message_of(&error)));
    }
    if let Some(response) = line.response {
        return reply(response.status_code, &response.body);
    }
    let Some(result) = line.result else { return Err("it has no result".to_owned()) };
    match (result.kind.as_str(), result.message, result.error) {
        ("succeeded", Some(message), _) => reply(200, &message),
        (kind, _, Some(error)) => Ok(BatchResult::Failed(format!("{kind}: {}", message_of(&error)))),
        (kind, ..) => Ok(BatchResult::Failed(kind.to_owned())),
    }
}

/// Returns the message of an error object, or its text.
fn message_of(error: &Value) -> String {
    let inner = error.get("error").filter(|inner| inner.is_object()).unwrap_or(error);
    let text = |key: &str| inner.get(key).and_then(Value::as_str);
    let message = match (text("code").or_else(|| text("type")), text("message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (one, other) => one.or(other).map_or_else(|| error.to_string(), str::to_owned),
    };
    gage_secrets::redact(&message).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_of_both_providers_are_read() {
        let reply = |status| BatchResult::Reply { status, body: br#"{"x":1}"#.to_vec() };
        let failed = |text: &str| BatchResult::Failed(text.to_owned());
        for (line, expected) in [
            (
                json!({"id": "r", "response": {"status_code": 200, "request_id": "q", "body": {"x": 1}}, "error": null}),
                reply(200),
            ),
            (json!({"response": {"status_code": 429, "body": {"x": 1}}}), reply(429)),
            (
                json!({"response": null, "error": {"code": "batch_expired", "message": "late"}}),
                failed("batch_expired: late"),
            ),
            (json!({"result": {"type": "succeeded", "message": {"x": 1}}}), reply(200)),
            (json!({"result": {"type": "expired"}}), failed("expired")),
            (
                json!({"result": {"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}}}),
                failed("errored: invalid_request_error: no"),
            ),
        ] {
            let mut line = line;
            line["custom_id"] = "a".into();
            let text = line.to_string();
            assert_eq!(read_head(text.as_bytes()).as_deref(), Ok("a"), "{text}");
            assert_eq!(read_result(text.as_bytes(), "a"), Ok(expected), "{text}");
            assert!(read_result(text.as_bytes(), "b").is_err(), "{text}");
        }
        for wrong in [
            json!({"custom_id": "a", "response": {"status_code": "200", "body": {}}}),
            json!({"custom_id": "a", "response": {"status_code": 70_000, "body": {}}}),
            json!({"custom_id": "a", "response": {"body": {}}}),
            json!({"custom_id": "a", "response": 3}),
            json!({"custom_id": "a", "result": {}}),
        ] {
            assert!(read_result(wrong.to_string().as_bytes(), "a").is_err(), "{wrong}");
        }
    }
}
