//! Bodies of requests.

use crate::api::{BackendError, BackendErrorKind, GenerateRequest};
use crate::conversation::{inline_media, is_plain, merge, plain_prompt, unsupported};
use gage_config::{HttpBackendConfig, TokenLimitName};
use gage_core::{ContentPart, MediaKind, Message, SamplingParams};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Body of a request, serialized directly. Building it from JSON values would cost as much as the rest of a short
/// request.
pub(super) struct Body<'b> {
    request: &'b GenerateRequest,
    /// Parameters that are sent, including the backend's defaults.
    params: SamplingParams,
    config: &'b HttpBackendConfig,
}

impl<'b> Body<'b> {
    pub(super) fn new(request: &'b GenerateRequest, config: &'b HttpBackendConfig) -> Body<'b> {
        let params = config.sent(request.params.clone().over(&config.default_params));
        Body { request, params, config }
    }

    /// Returns the maximum number of tokens that it may generate.
    pub(super) fn longest(&self) -> Option<u32> {
        self.params.max_new_tokens
    }

    /// Returns whether the temperature is the default, because the suite sets none.
    pub(super) fn has_default_temperature(&self) -> bool {
        let set = self.request.params.temperature.or(self.config.default_params.temperature);
        self.params.temperature.is_some()
            && set.is_none()
            && !self.config.extra_body.contains_key("temperature")
    }

    fn is_chat(&self) -> bool {
        self.request.prompt.is_none()
    }

    /// Returns the settings that follow the prompt, in order.
    fn settings(&self) -> Vec<(&'static str, Value)> {
        let mut settings = Vec::with_capacity(8);
        self.put_params(&mut settings);
        self.put_logprobs(&mut settings);
        if self.config.stream {
            settings.push(("stream", true.into()));
            // Without this, a stream does not report its token usage.
            settings.push(("stream_options", json!({"include_usage": true})));
        }
        if !self.is_chat() {
            return settings;
        }
        settings.extend(self.config.openai.response_format.clone().map(|form| ("response_format", form)));
        if !self.request.tools.is_empty() {
            settings.push(("tools", Value::Array(self.request.tools.clone())));
            settings.extend(self.request.tool_choice.clone().map(|choice| ("tool_choice", choice)));
        }
        settings
    }

    fn put_params(&self, settings: &mut Vec<(&'static str, Value)>) {
        let longest = match self.config.openai.token_limit {
            TokenLimitName::MaxCompletionTokens if self.is_chat() => "max_completion_tokens",
            _ => "max_tokens",
        };
        let mut put = |key: &'static str, value: Option<Value>| {
            settings.extend(value.map(|value| (key, value)));
        };
        let params = &self.params;
        put(longest, params.max_new_tokens.map(Value::from));
        put("temperature", params.temperature.map(Value::from));
        put("top_p", params.top_p.map(Value::from));
        put("top_k", params.top_k.map(Value::from));
        put("min_p", params.min_p.map(Value::from));
        put("seed", params.seed.map(Value::from));
        put("stop", params.stop.clone().map(Value::from));
        put("presence_penalty", params.presence_penalty.map(Value::from));
        put("frequency_penalty", params.frequency_penalty.map(Value::from));
        put("repetition_penalty", params.repetition_penalty.map(Value::from));
    }

    /// Chat completions take a switch and a number, completions only the number.
    fn put_logprobs(&self, settings: &mut Vec<(&'static str, Value)>) {
        let Some(alternatives) = self.config.openai.logprobs else { return };
        if !self.is_chat() {
            settings.push(("logprobs", alternatives.into()));
            return;
        }
        settings.push(("logprobs", true.into()));
        if alternatives > 0 {
            settings.push(("top_logprobs", alternatives.into()));
        }
    }
}

/// Settings of the suite replace the host's own values; objects are merged.
impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Body { request, config, .. } = self;
        let further = &config.extra_body;
        let mut map = serializer.serialize_map(None)?;
        match further.get("model") {
            Some(given) => map.serialize_entry("model", given)?,
            None => map.serialize_entry("model", &config.model)?,
        }
        let asked = if self.is_chat() { "messages" } else { "prompt" };
        match (further.get(asked), &request.prompt) {
            (Some(given), _) => map.serialize_entry(asked, given)?,
            (None, Some(prompt)) => map.serialize_entry(asked, prompt)?,
            (None, None) => map.serialize_entry(asked, &Conversation(&request.messages))?,
        }
        let settings = self.settings();
        for (key, value) in &settings {
            match further.get(*key) {
                Some(given) => map.serialize_entry(key, &merged(value, given))?,
                None => map.serialize_entry(key, value)?,
            }
        }
        let is_written =
            |key: &str| key == "model" || key == asked || settings.iter().any(|(written, _)| *written == key);
        for (key, value) in further.iter().filter(|(key, _)| !is_written(key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

fn merged(own: &Value, given: &Value) -> Value {
    match (own, given) {
        (Value::Object(own), Value::Object(given)) => {
            let mut own = own.clone();
            merge(&mut own, given);
            Value::Object(own)
        }
        _ => given.clone(),
    }
}

/// Messages in the format that servers support best.
struct Conversation<'b>(&'b [Message]);

impl Serialize for Conversation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(WireMessage))
    }
}

/// A single message; text alone is sent as a string.
struct WireMessage<'b>(&'b Message);

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Message { role, content, name, tool_calls, tool_call_id, extra } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", role.name())?;
        if let Some(name) = name {
            map.serialize_entry("name", name)?;
        }
        match content.as_slice() {
            [] if !tool_calls.is_empty() => {}
            [ContentPart::Text { text, extra }] if extra.is_empty() => {
                map.serialize_entry("content", text)?
            }
            parts if is_plain(parts) => map.serialize_entry("content", &gage_core::text_of(parts))?,
            parts => map.serialize_entry("content", &Parts(parts))?,
        }
        if !tool_calls.is_empty() {
            map.serialize_entry("tool_calls", tool_calls)?;
        }
        if let Some(id) = tool_call_id {
            map.serialize_entry("tool_call_id", id)?;
        }
        for (key, value) in extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Content with more than text. Inline audio is sent as `input_audio`, and an inline file as `file`.
struct Parts<'b>(&'b [ContentPart]);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Part))
    }
}

struct Part<'b>(&'b ContentPart);

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match sound_of(self.0).or_else(|| file_of(self.0)) {
            Some(part) => part.serialize(serializer),
            None => self.0.serialize(serializer),
        }
    }
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

/// Returns an inline file in the format of the API.
fn file_of(part: &ContentPart) -> Option<Value> {
    let ContentPart::Media { kind: MediaKind::File, url, options, .. } = part else { return None };
    let (media_type, _) = inline_media(url)?;
    let ending = match media_type {
        "application/pdf" => "pdf",
        "text/plain" => "txt",
        other => other.rsplit(['/', '+', '.']).next().unwrap_or("bin"),
    };
    let named = options.get("filename").and_then(Value::as_str).map(str::to_owned);
    let name = named.unwrap_or_else(|| format!("document.{ending}"));
    Some(json!({"type": "file", "file": {"filename": name, "file_data": url}}))
}

/// Replaces a conversation by its texts, joined by line breaks, as a base model reads them.
pub(super) fn leave_template_out(request: &mut GenerateRequest) -> Result<(), BackendError> {
    if request.prompt.is_some() {
        return Ok(());
    }
    if request.messages.iter().any(Message::has_media) {
        return Err(unsupported("completions", "media"));
    }
    if !request.tools.is_empty() {
        return Err(unsupported("completions", "tools"));
    }
    request.prompt = Some(plain_prompt(&std::mem::take(&mut request.messages)));
    Ok(())
}

/// Checks that the API can express every part: it takes the content of files, and no addresses of them.
pub(super) fn check_files(request: &GenerateRequest) -> Result<(), BackendError> {
    let mut parts = request.messages.iter().flat_map(|message| &message.content);
    let is_address = |part: &&ContentPart| match part {
        ContentPart::Media { kind: MediaKind::File, url, .. } => inline_media(url).is_none(),
        _ => false,
    };
    if parts.any(|part| is_address(&part)) {
        let message = format!(
            "request '{}': a `file_url` with a web address cannot be sent in this API; use a local path or a `data:` URL",
            request.id
        );
        return Err(BackendError::new(BackendErrorKind::Rejected, message));
    }
    Ok(())
}
