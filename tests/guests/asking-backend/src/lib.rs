//! A backend that calls the host as its last message says, for tests of the limits that end it: `spin` sends no requests forever,
//! `spin denied` sends requests that are not granted, `spin log` writes logs, and `ask URL` waits for an answer.

use gage_sdk::backend::{Backend, BackendSpec, GenerateRequest, Generation};
use gage_sdk::http::{Request, send_all};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json, log};

struct Asking;

impl Backend for Asking {
    fn spec() -> BackendSpec {
        BackendSpec::new("1", json!({}))
    }

    fn prepare(_config: Value) -> Result<Self, PluginError> {
        Ok(Asking)
    }

    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        let message = request.messages.last().map_or("", |last| last.content.as_str());
        match message {
            "spin" => loop {
                send_all(&[]);
            },
            "spin denied" => loop {
                drop(Request::get("http://denied.example").send());
            },
            "spin log" => loop {
                log::info("again");
            },
            _ => {}
        }
        if let Some(url) = message.strip_prefix("ask ") {
            Request::post_json(url, &json!({})).send()?;
        }
        Ok(Generation::of(message))
    }
}

gage_sdk::backend!(name: "asking-backend", description: "Asks servers", backend: Asking);
