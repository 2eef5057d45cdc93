//! A backend that calls a model on a server with the OpenAI chat completions API, through the granted import
//! `http`. The whole batch is sent at once.
//!
//! ```yaml
//! plugins:
//!   - id: my_server
//!     source: ./http_model.wasm
//!     grants:
//!       http: [{host: api.example.com, methods: [POST]}]
//!       secrets: [MY_API_KEY]
//! backends:
//!   - backend_id: dut
//!     type: custom_script
//!     config:
//!       component: my_server
//!       config: {url: "https://api.example.com/v1/chat/completions", model: small, secret: MY_API_KEY}
//! ```

use gage_sdk::backend::{
    Backend, BackendSpec, FinishReason, GenerateRequest, Generation, Message, Role, Usage,
};
use gage_sdk::http::{Request, Response, send_all};
use gage_sdk::serde_json::{Value, from_str};
use gage_sdk::{PluginError, from_params, json};

#[derive(serde::Deserialize)]
struct HttpModel {
    /// URL for requests.
    url: String,
    /// Name of the model.
    model: String,
    /// Granted secret that is sent as a bearer token.
    secret: Option<String>,
}

impl Backend for HttpModel {
    fn spec() -> BackendSpec {
        let properties = json!({
            "url": {"type": "string"},
            "model": {"type": "string"},
            "secret": {"type": "string"},
        });
        BackendSpec { max_batch: 32, ..BackendSpec::new("1", properties) }
    }

    fn prepare(config: Value) -> Result<Self, PluginError> {
        from_params(config)
    }

    fn generate_all(&self, requests: &[GenerateRequest]) -> Vec<Result<Generation, PluginError>> {
        let sent: Vec<Request> = requests.iter().map(|request| self.request(request)).collect();
        send_all(&sent).into_iter().map(|response| answer(response?.success()?)).collect()
    }
}

impl HttpModel {
    fn request(&self, request: &GenerateRequest) -> Request {
        let params: Value = from_str(&request.params).unwrap_or_default();
        let messages: Vec<Value> = request.messages.iter().map(message).collect();
        let mut body = json!({"model": self.model, "messages": messages});
        // Parameter names in the API.
        for (name, ours) in
            [("max_tokens", "max_new_tokens"), ("temperature", "temperature"), ("seed", "seed")]
        {
            if let Some(value) = params.get(ours).filter(|value| !value.is_null()) {
                body[name] = value.clone();
            }
        }
        let request = Request::post_json(&self.url, &body);
        match &self.secret {
            Some(secret) => request.bearer(secret),
            None => request,
        }
    }
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    json!({"role": role, "content": message.content})
}

fn answer(response: Response) -> Result<Generation, PluginError> {
    let body = response.json()?;
    let choice = &body["choices"][0];
    let Some(text) = choice["message"]["content"].as_str() else {
        return Err(PluginError::upstream("the server's answer has no choices[0].message.content"));
    };
    let count = |name: &str| body["usage"][name].as_u64();
    let usage = count("prompt_tokens").zip(count("completion_tokens"));
    Ok(Generation {
        finish: match choice["finish_reason"].as_str() {
            Some("length") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        },
        usage: usage.map(|(prompt_tokens, completion_tokens)| Usage { prompt_tokens, completion_tokens }),
        ..Generation::of(text)
    })
}

gage_sdk::backend!(
    name: "http-model",
    description: "Asks a model on a server that speaks the OpenAI chat completions API",
    extra: json!({"wants": {"http": ["the host of `url`"]}}),
    backend: HttpModel,
);
