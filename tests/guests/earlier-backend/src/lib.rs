//! A backend that was built against version 0.1.0 of the contract, from its released files, without an SDK. It hands
//! each question to the role `model`, by all that this version has for it, and logs.

wit_bindgen::generate!({ path: "../../../wit/released/0.1.0", world: "backend-plugin", generate_all });

use exports::gage::plugin::backend::{
    BackendSpec, ContinuationScore, GenerateRequest, Generation, Guest, LoglikelihoodRequest, PluginError,
    PluginInfo,
};
use gage::plugin::{llm, log};

const ROLE: &str = "model";

struct EarlierBackend;

impl Guest for EarlierBackend {
    fn describe() -> PluginInfo {
        PluginInfo {
            name: "earlier-backend".to_owned(),
            version: "1.0.0".to_owned(),
            description: "Hands questions to a role, by an earlier contract".to_owned(),
            extra: "{}".to_owned(),
        }
    }

    fn spec() -> BackendSpec {
        BackendSpec {
            version: "1".to_owned(),
            max_batch: 4,
            supports_generate: true,
            supports_loglikelihood: true,
            config_schema: "{}".to_owned(),
        }
    }

    fn check(_config: String) -> Result<(), PluginError> {
        Ok(())
    }

    fn generate(_config: String, requests: Vec<GenerateRequest>) -> Vec<Result<Generation, PluginError>> {
        log::emit(log::Level::Info, "handed on");
        let requests: Vec<llm::GenerateRequest> = requests
            .into_iter()
            .map(|GenerateRequest { messages, params, .. }| llm::GenerateRequest {
                role: ROLE.to_owned(),
                messages,
                params,
            })
            .collect();
        match requests.as_slice() {
            [request] => vec![llm::generate(request)],
            several => llm::generate_all(several),
        }
    }

    fn loglikelihood(
        _config: String,
        requests: Vec<LoglikelihoodRequest>,
    ) -> Vec<Result<Vec<ContinuationScore>, PluginError>> {
        let ask = |LoglikelihoodRequest { messages, continuations, .. }| {
            let role = ROLE.to_owned();
            llm::loglikelihood(&llm::LoglikelihoodRequest { role, messages, continuations })
        };
        requests.into_iter().map(ask).collect()
    }
}

export!(EarlierBackend);
