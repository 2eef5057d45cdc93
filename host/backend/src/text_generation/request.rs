//! Bodies of requests.

use crate::api::GenerateRequest;
use crate::conversation::{merge, plain_prompt};
use gage_config::{HttpBackendConfig, HttpKind};
use gage_core::Object;
use serde_json::Value;

/// Builds the body of a request. Also returns the stop texts and the maximum number of tokens that it may generate.
pub(super) fn body_of(
    request: GenerateRequest,
    config: &HttpBackendConfig,
) -> (Object, Vec<String>, Option<u32>) {
    let params = request.params.over(&config.default_params);
    let prompt = request.prompt.unwrap_or_else(|| plain_prompt(&request.messages));
    let longest = params.max_new_tokens;
    let stop = params.stop.clone().unwrap_or_default();
    let is_greedy = params.is_greedy();
    let settings = [
        ("max_new_tokens", longest.map(Value::from)),
        // A temperature of zero is refused; greedy decoding has its own switch.
        ("do_sample", Some((!is_greedy).into())),
        ("temperature", params.temperature.filter(|_| !is_greedy).map(Value::from)),
        ("top_p", params.top_p.filter(|top_p| !is_greedy && *top_p < 1.0).map(Value::from)),
        ("top_k", params.top_k.filter(|top_k| !is_greedy && *top_k > 0).map(Value::from)),
        ("seed", params.seed.map(Value::from)),
        ("stop", (!stop.is_empty()).then(|| Value::from(stop.clone()))),
        ("repetition_penalty", params.repetition_penalty.map(Value::from)),
        ("frequency_penalty", params.frequency_penalty.map(Value::from)),
        ("return_full_text", Some(false.into())),
        ("details", (config.kind == HttpKind::Tgi).then_some(Value::Bool(true))),
    ];
    let settings = settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let mut body = Object::from_iter([
        ("inputs".to_owned(), prompt.into()),
        ("parameters".to_owned(), Value::Object(settings.collect())),
    ]);
    merge(&mut body, &config.extra_body);
    (body, stop, longest)
}
