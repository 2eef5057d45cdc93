//! Tests of the HTTP backends against a real server on loopback.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod failures;
mod limits;
mod protocols;
mod reaching;
mod recordings;
mod silent_server;
mod surplus_answers;
mod tunnels;

use gage_backend::{Backend, BackendError, DrawIndex, GenerateRequest, OpenOptions, Reply, open};
use gage_config::{Environment, PipelineConfig, load};
use gage_core::{Message, ModelOutput, Role, SamplingParams};
use gage_load_server::{Answer, LoadServer, Request};
use gage_plugin::{HostOptions, PluginHost, Registry};
use std::sync::Arc;

/// A key as it may appear in a suite.
const KEY: &str = "sk-0123456789abcdef";

/// Returns a suite with one backend.
fn config(kind: &str, url: &str, keys: &str) -> PipelineConfig {
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
         backends:\n  - backend_id: b\n    type: {kind}\n    config: {{base_url: '{url}', api_key: {KEY}{keys}}}\n\
         role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
         custom: {{steps: [{{step: inference}}]}}\n"
    );
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load("test.yaml", &text, &[], &environment);
    assert!(!problems.has_errors(), "{}", problems.render(false));
    config.unwrap_or_else(|| panic!("{}", problems.render(false)))
}

/// Opens a backend for a server.
async fn backend(kind: &str, url: &str, keys: &str, options: &OpenOptions) -> Arc<dyn Backend> {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    let registry = Registry::new(host, &[]);
    let config = config(kind, url, keys);
    open(&config.backends[0], &registry, options).await.unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Starts a server.
fn server(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> LoadServer {
    gage_recorded_messages::record_warnings("server");
    LoadServer::start(answer).expect("a server")
}

/// Returns a question of the user.
fn question(text: &str) -> GenerateRequest {
    GenerateRequest {
        id: text.to_owned(),
        messages: vec![Message::text(Role::User, text)].into(),
        prompt: None,
        params: SamplingParams::default(),
        tools: Vec::new(),
        tool_choice: None,
        draw: Some(DrawIndex::default()),
        place: None,
    }
}

async fn ask(backend: &dyn Backend, text: &str) -> Result<Reply<ModelOutput>, BackendError> {
    backend.generate(Box::new(question(text))).await
}
