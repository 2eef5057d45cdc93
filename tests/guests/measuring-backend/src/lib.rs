//! A backend that measures the lines of its last message with the role that its configuration names, by every measuring
//! function of the import `llm`. It answers with a JSON object of lists, one per function. A failed call gives the kind
//! and the message of its error.

use gage_sdk::backend::{Backend, BackendSpec, ContinuationScore, GenerateRequest, Generation, Message};
use gage_sdk::llm::{self, EmbedRequest, LoglikelihoodRequest, RollingLoglikelihoodRequest, RollingScore};
use gage_sdk::serde_json::Value;
use gage_sdk::{ErrorKind, PluginError, from_params, json};

#[derive(serde::Deserialize)]
struct Measuring {
    role: String,
    /// Continuations of each line.
    #[serde(default)]
    continuations: Vec<String>,
    /// Functions to call; all if empty.
    #[serde(default)]
    ways: Vec<String>,
}

impl Measuring {
    fn uses(&self, way: &str) -> bool {
        self.ways.is_empty() || self.ways.iter().any(|one| one == way)
    }
}

impl Backend for Measuring {
    fn spec() -> BackendSpec {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let properties = json!({"role": {"type": "string"}, "continuations": texts, "ways": texts});
        BackendSpec::new("1", properties)
    }

    fn prepare(config: Value) -> Result<Self, PluginError> {
        from_params(config)
    }

    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        let text = request.messages.last().map_or("", |message| message.content.as_str());
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let role = || self.role.clone();
        let mut answer = json!({});
        if self.uses("rolling_loglikelihood") {
            let one = |line: &String| rolling(llm::rolling_loglikelihood(&self.role, line));
            answer["rolling_loglikelihood"] = lines.iter().map(one).collect();
        }
        if self.uses("rolling_loglikelihood_all") {
            let one = |line: &String| RollingLoglikelihoodRequest { role: role(), text: line.clone() };
            let asked: Vec<_> = lines.iter().map(one).collect();
            answer["rolling_loglikelihood_all"] =
                llm::rolling_loglikelihood_all(&asked).into_iter().map(rolling).collect();
        }
        if self.uses("embed") {
            answer["embed"] = vectors(llm::embed(&self.role, lines.clone()));
        }
        if self.uses("embed_all") {
            let one = |line: &String| EmbedRequest { role: role(), texts: vec![line.clone()] };
            let asked: Vec<_> = lines.iter().map(one).collect();
            answer["embed_all"] = llm::embed_all(&asked).into_iter().map(vectors).collect();
        }
        let messages = |line: &String| vec![Message::user(line)];
        if self.uses("loglikelihood") {
            let one =
                |line| scores(llm::loglikelihood(&self.role, messages(line), self.continuations.clone()));
            answer["loglikelihood"] = lines.iter().map(one).collect();
        }
        if self.uses("loglikelihood_all") {
            let one = |line| LoglikelihoodRequest {
                role: role(),
                messages: messages(line),
                continuations: self.continuations.clone(),
            };
            let asked: Vec<_> = lines.iter().map(one).collect();
            answer["loglikelihood_all"] = llm::loglikelihood_all(&asked).into_iter().map(scores).collect();
        }
        Ok(Generation::of(&answer.to_string()))
    }
}

fn error(error: PluginError) -> Value {
    let kind = match error.kind {
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::InvalidInput => "invalid_input",
        ErrorKind::LimitExceeded => "limit_exceeded",
        ErrorKind::Denied => "denied",
        _ => "other",
    };
    json!({"error": kind, "message": error.message})
}

fn rolling(result: Result<RollingScore, PluginError>) -> Value {
    let shown = |score: RollingScore| json!([score.logprob, score.token_count, score.byte_count]);
    result.map_or_else(error, shown)
}

fn vectors(result: Result<Vec<Vec<f32>>, PluginError>) -> Value {
    result.map_or_else(error, |vectors| json!(vectors))
}

fn scores(result: Result<Vec<ContinuationScore>, PluginError>) -> Value {
    let shown = |scores: Vec<ContinuationScore>| {
        scores.iter().map(|score| json!([score.logprob, score.token_count])).collect()
    };
    result.map_or_else(error, shown)
}

gage_sdk::backend!(name: "measuring-backend", description: "Measures lines by a role", backend: Measuring);
