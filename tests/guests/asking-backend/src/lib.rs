//! A backend that asks servers as its last message says, for tests of what ends it: `spin` asks for
//! nothing for ever, `spin denied` for what it was not granted, `spin log` writes logs, `ask URL`
//! waits for an answer.

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
        let told = request.messages.last().map_or("", |message| message.content.as_str());
        match told {
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
        if let Some(url) = told.strip_prefix("ask ") {
            Request::post_json(url, &json!({})).send()?;
        }
        Ok(Generation::of(told))
    }
}

gage_sdk::backend!(name: "asking-backend", description: "Asks servers", backend: Asking);
