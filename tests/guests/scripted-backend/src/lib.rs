//! A backend that answers from its configuration: `answers` maps the last message to the
//! answer, `default` is the answer to everything else. Its log-likelihood prefers the answer
//! that it would give. A message that holds `trap` traps.

use gage_sdk::backend::{
    Backend, BackendSpec, ContinuationScore, FinishReason, GenerateRequest, Generation, LoglikelihoodRequest,
    Message, Usage,
};
use gage_sdk::{PluginError, json};
use std::collections::BTreeMap;

#[derive(serde::Deserialize)]
struct Scripted {
    #[serde(default)]
    answers: BTreeMap<String, String>,
    #[serde(default)]
    default: String,
}

impl Scripted {
    fn answer(&self, messages: &[Message]) -> String {
        let question = messages.last().map_or("", |message| message.content.as_str());
        assert!(!question.contains("trap"), "as told");
        self.answers.get(question).unwrap_or(&self.default).clone()
    }
}

impl Backend for Scripted {
    fn spec() -> BackendSpec {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "answers": {"type": "object", "additionalProperties": {"type": "string"}},
                "default": {"type": "string"},
            },
        });
        BackendSpec {
            version: "1".to_owned(),
            max_batch: 16,
            supports_generate: true,
            supports_loglikelihood: true,
            config_schema: schema.to_string(),
        }
    }

    fn prepare(config: gage_sdk::serde_json::Value) -> Result<Scripted, PluginError> {
        gage_sdk::from_params(config)
    }

    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        let answer = self.answer(&request.messages);
        let usage = Usage { prompt_tokens: 1, completion_tokens: answer.split_whitespace().count() as u64 };
        Ok(Generation { answer, finish: FinishReason::Stop, usage: Some(usage), extra: "{}".to_owned() })
    }

    fn loglikelihood(&self, request: &LoglikelihoodRequest) -> Result<Vec<ContinuationScore>, PluginError> {
        let answer = self.answer(&request.messages);
        let score = |continuation: &String| {
            let is_greedy = continuation.trim() == answer;
            let logprob = if is_greedy { -0.5 } else { -2.0 };
            ContinuationScore { logprob, token_count: 1, is_greedy }
        };
        Ok(request.continuations.iter().map(score).collect())
    }
}

gage_sdk::backend!(
    name: "scripted-backend",
    description: "Answers from its configuration",
    backend: Scripted,
);
