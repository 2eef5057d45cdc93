//! Cache key of an answer: the digest of everything that can change it.
//!
//! Structures are destructured without `..`, so that a new field must be explicitly included or ignored.

use super::store::FORMAT;
use crate::api::{
    BackendInfo, CHAT_TEMPLATE_FACT, Continuation, DrawIndex, EmbedRequest, GenerateRequest,
    LoglikelihoodRequest, RollingRequest,
};
use crate::conversation::public_headers;
use gage_config::{
    BackendKind, BackendSpec, CustomScriptConfig, Grants, HttpBackendConfig, HttpGrant, LlamaCppConfig, Node,
    OnLongPrompt, OpenAiOptions, OutputConstraint,
};
use gage_core::{Digest, Message, SamplingParams};
use serde_json::{Value, json};

/// Cache keys of the requests of one backend.
#[derive(Clone, Debug)]
pub(crate) struct CacheKeys {
    /// Digest of the backend.
    backend: Digest,
    default_params: SamplingParams,
    /// True if the backend sees the id of a request.
    sees_id: bool,
}

impl CacheKeys {
    /// Creates the keys of a backend; `None` if its answers depend on more than the request. `grants` are those of a
    /// component.
    pub(crate) fn new(spec: &BackendSpec, info: &BackendInfo, grants: Option<&Grants>) -> Option<CacheKeys> {
        let (is, sees_id) = match &spec.kind {
            BackendKind::Http(config) => (of_server(config), false),
            BackendKind::LlamaCpp(config) => (of_model_file(config, info), false),
            BackendKind::CustomScript(config) => (of_component(config, info, grants?)?, true),
            // Nothing is saved.
            BackendKind::Answers(_) => return None,
        };
        let backend = Digest::of_json(&json!({"type": info.kind, "is": is}));
        Some(CacheKeys { backend, default_params: spec.default_params().clone(), sees_id })
    }

    /// Returns the key of a conversation to continue; `None` if the request has no draw index.
    pub(super) fn of_generate(&self, request: &GenerateRequest) -> Option<Digest> {
        let GenerateRequest { id, messages, prompt, params, tools, tool_choice, draw, place: _ } = request;
        let DrawIndex { repeat, prompt: number, attempt } = (*draw)?;
        let params = params.clone().over(&self.default_params);
        // Two rows with the same question share an answer, unless sampling is random.
        let is_chance = params.seed.is_none() && params.temperature != Some(0.0);
        Some(self.key(json!({
            "asked": "generate",
            "messages": values_of(messages),
            "prompt": prompt,
            "params": params,
            "tools": tools,
            "tool_choice": tool_choice,
            "repeat": repeat,
            "prompt_number": number,
            "attempt": attempt,
            "id": (self.sees_id || is_chance).then_some(id),
        })))
    }

    /// Returns the key of continuations to score.
    pub(super) fn of_loglikelihood(&self, request: &LoglikelihoodRequest) -> Digest {
        let LoglikelihoodRequest { id, messages, prompt, continuations } = request;
        let continuations = continuations.iter().map(|Continuation { id, text }| json!([id, text]));
        self.key(json!({
            "asked": "loglikelihood",
            "messages": values_of(messages),
            "prompt": prompt,
            "continuations": continuations.collect::<Vec<Value>>(),
            "id": self.sees_id.then_some(id),
        }))
    }

    /// Returns the key of a whole text to score.
    pub(super) fn of_rolling(&self, request: &RollingRequest) -> Digest {
        let RollingRequest { id, text, has_special_tokens } = request;
        self.key(json!({
            "asked": "rolling_loglikelihood",
            "text": text,
            "has_special_tokens": has_special_tokens,
            "id": self.sees_id.then_some(id),
        }))
    }

    /// Returns the key of texts to embed.
    pub(super) fn of_embed(&self, request: &EmbedRequest) -> Digest {
        let EmbedRequest { id, texts } = request;
        self.key(json!({"asked": "embed", "texts": texts, "id": self.sees_id.then_some(id)}))
    }

    fn key(&self, asked: Value) -> Digest {
        Digest::of_json(&json!({"format": FORMAT, "backend": self.backend, "request": asked}))
    }
}

fn values_of(messages: &[Message]) -> Vec<Value> {
    messages.iter().map(Message::to_value).collect()
}

/// Describes a server, without the settings that only affect how it is reached and who asks.
fn of_server(config: &HttpBackendConfig) -> Value {
    let HttpBackendConfig {
        kind: _,
        openai,
        base_url,
        public_base_url: _,
        model,
        key: _,
        headers: _,
        stream,
        connection: _,
        retry: _,
        limits: _,
        default_params: _,
        extra_body,
        public_extra_body: _,
        span: _,
    } = config;
    json!({
        "openai": of_openai(openai),
        "stream": stream,
        "base_url": base_url,
        "model": model,
        "headers": public_headers(config),
        "extra_body": extra_body,
    })
}

fn of_openai(options: &OpenAiOptions) -> Value {
    let OpenAiOptions {
        logprobs,
        response_format,
        think_tags,
        loglikelihood,
        text_start,
        chat_template,
        token_limit,
        omit_params,
    } = options;
    json!({
        "logprobs": logprobs,
        "response_format": response_format,
        "think_tags": think_tags,
        "loglikelihood": loglikelihood.map(<&str>::from),
        "text_start": text_start,
        "chat_template": <&str>::from(chat_template),
        "token_limit": <&str>::from(token_limit),
        "omit_params": omit_params,
    })
}

/// Describes a model file by its digest, its runtime settings and its constraints. Its name and the numbers of threads
/// and replicas are ignored.
fn of_model_file(config: &LlamaCppConfig, info: &BackendInfo) -> Value {
    let LlamaCppConfig {
        // The effects of these are among the details.
        model_path: _,
        model_path_span: _,
        context_length: _,
        slots: _,
        replicas: _,
        threads: _,
        batch_size: _,
        gpu_layers: _,
        cache_type_k: _,
        cache_type_v: _,
        deterministic: _,
        lora: _,
        mmproj: _,
        mmproj_span: _,
        chat_template_span: _,
        image_max_tokens: _,
        chat_template: _,
        kernels: _,
        hang_timeout: _,
        default_params: _,
        main_gpu,
        devices,
        split_mode,
        flash_attention,
        on_long_prompt,
        constraint,
        logprobs,
    } = config;
    let mut details = info.details.clone();
    for fact in ["replicas", "slots", "threads", "kernel_modules", "devices", CHAT_TEMPLATE_FACT] {
        details.shift_remove(fact);
    }
    // `CPU (its name); built for AVX2, …`: the build can change an answer, but the name of the processor cannot.
    if let Some(Value::String(kernels)) = details.get_mut("kernels")
        && let Some((_, build)) = kernels.split_once("; ")
    {
        *kernels = build.to_owned();
    }
    json!({
        "details": details,
        "main_gpu": main_gpu,
        "devices": devices,
        "split_mode": split_mode,
        "flash_attention": flash_attention,
        "truncates_prompts": *on_long_prompt == OnLongPrompt::TruncateLeft,
        "constraint": constraint.as_ref().map(|constraint| match constraint {
            OutputConstraint::Grammar(text) => json!({"grammar": text}),
            OutputConstraint::JsonSchema(schema) => json!({"json_schema": schema}),
            OutputConstraint::Choices(choices) => json!({"choices": choices}),
        }),
        "logprobs": logprobs,
        "arch": std::env::consts::ARCH,
    })
}

/// Describes a component.
///
/// `None` if it asks the models of the run, since only the component knows how their answers affect its own. Those
/// answers are not cached either, since two equal questions of a component may mean two draws.
fn of_component(config: &CustomScriptConfig, info: &BackendInfo, grants: &Grants) -> Option<Value> {
    let CustomScriptConfig { component: _, component_span: _, config, default_params: _ } = config;
    let Grants { http, secrets, llm, media } = grants;
    if !llm.is_empty() {
        return None;
    }
    // Limits make a request fail, and failures are not cached.
    let hosts = http.iter().map(|grant| {
        let HttpGrant { host, port, methods, private, timeout: _, response_bytes: _, max_concurrency: _ } =
            grant;
        json!({"host": host, "port": port, "methods": methods, "private": private})
    });
    Some(json!({
        "component": info.details,
        "config": config.as_ref().map(Node::to_json),
        "http": hosts.collect::<Vec<Value>>(),
        "secrets": secrets.iter().map(|secret| secret.name.as_str()).collect::<Vec<&str>>(),
        "media": media,
    }))
}

#[cfg(test)]
mod tests;
