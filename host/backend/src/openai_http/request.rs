//! The bodies of requests.

use crate::api::GenerateRequest;
use crate::conversation::{inline_media, is_plain, merge};
use gage_config::{HttpBackendConfig, OpenAiOptions, TokenLimitName};
use gage_core::{ContentPart, MediaKind, Message, Object, SamplingParams};
use serde_json::{Value, json};

/// The body of a request, and the most tokens that it may generate.
pub(super) fn body_of(
    request: GenerateRequest,
    config: &HttpBackendConfig,
    options: &OpenAiOptions,
) -> (Object, Option<u32>) {
    let params = request.params.over(&config.default_params);
    let longest = params.max_new_tokens;
    let mut body = Object::new();
    body.insert("model".to_owned(), config.model.as_str().into());
    let is_chat = request.prompt.is_none();
    match request.prompt {
        Some(prompt) => body.insert("prompt".to_owned(), prompt.into()),
        None => {
            let messages = request.messages.into_iter().map(message_to_value).collect();
            body.insert("messages".to_owned(), messages)
        }
    };
    put_params(&mut body, params, is_chat, options);
    put_logprobs(&mut body, is_chat, options.logprobs);
    if options.stream {
        body.insert("stream".to_owned(), true.into());
        // Without it a stream does not say how many tokens it took.
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(form) = options.response_format.as_ref().filter(|_| is_chat) {
        body.insert("response_format".to_owned(), form.clone());
    }
    if is_chat && !request.tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(request.tools));
        if let Some(choice) = request.tool_choice {
            body.insert("tool_choice".to_owned(), choice);
        }
    }
    merge(&mut body, &config.extra_body);
    (body, longest)
}

fn put_params(body: &mut Object, params: SamplingParams, is_chat: bool, options: &OpenAiOptions) {
    let longest = match options.token_limit {
        TokenLimitName::MaxCompletionTokens if is_chat => "max_completion_tokens",
        _ => "max_tokens",
    };
    let mut put = |key: &str, value: Option<Value>| {
        let is_taken = !options.omit_params.iter().any(|omitted| omitted == key);
        if let Some(value) = value.filter(|_| is_taken) {
            body.insert(key.to_owned(), value);
        }
    };
    put(longest, params.max_new_tokens.map(Value::from));
    put("temperature", Some(params.temperature.unwrap_or(0.0).into()));
    put("top_p", params.top_p.map(Value::from));
    put("top_k", params.top_k.map(Value::from));
    put("min_p", params.min_p.map(Value::from));
    put("seed", params.seed.map(Value::from));
    put("stop", params.stop.map(Value::from));
    put("presence_penalty", params.presence_penalty.map(Value::from));
    put("frequency_penalty", params.frequency_penalty.map(Value::from));
    put("repetition_penalty", params.repetition_penalty.map(Value::from));
}

/// Chat completions take a switch and a number, completions the number alone.
fn put_logprobs(body: &mut Object, is_chat: bool, logprobs: Option<u32>) {
    let Some(alternatives) = logprobs else { return };
    if !is_chat {
        body.insert("logprobs".to_owned(), alternatives.into());
        return;
    }
    body.insert("logprobs".to_owned(), true.into());
    if alternatives > 0 {
        body.insert("top_logprobs".to_owned(), alternatives.into());
    }
}

/// A message in the shape that servers understand best: text alone as a string, sound that lies in the
/// message as `input_audio`.
fn message_to_value(mut message: Message) -> Value {
    let text = is_plain(&message.content).then(|| gage_core::text_of(&message.content));
    if text.is_some() && message.tool_calls.is_empty() {
        // An empty list in the place of the text is all that is needed.
        message.content.clear();
    }
    let sounds: Vec<Option<Value>> = message.content.iter().map(sound_of).collect();
    let mut value = message.into_value();
    match (text, value.get_mut("content")) {
        (Some(text), Some(content)) => *content = text.into(),
        (None, Some(Value::Array(parts))) => {
            for (part, sound) in parts.iter_mut().zip(sounds) {
                if let Some(sound) = sound {
                    *part = sound;
                }
            }
        }
        _ => {}
    }
    value
}

fn sound_of(part: &ContentPart) -> Option<Value> {
    let ContentPart::Media { kind: MediaKind::Audio, url, .. } = part else { return None };
    let (media_type, data) = inline_media(url)?;
    let format = match media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        other => other.strip_prefix("audio/")?,
    };
    Some(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}))
}
