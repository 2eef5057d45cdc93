//! A backend that calls a role of the run several times and returns the most frequent answer
//! (self-consistency, Wang et al. 2022), through the granted import `llm`.
//!
//! ```yaml
//! plugins:
//!   - id: majority
//!     source: ./self_consistency.wasm
//!     grants:
//!       llm: [{role: helper, max_calls: 10000, max_tokens: 1000000}]
//! backends:
//!   - backend_id: dut
//!     type: custom_script
//!     config: {component: majority, config: {role: helper, samples: 5, temperature: 0.7}}
//! ```

use gage_sdk::backend::{Backend, BackendSpec, GenerateRequest, Generation, Usage};
use gage_sdk::serde_json::{Value, from_str};
use gage_sdk::{PluginError, from_params, json, llm};

#[derive(serde::Deserialize)]
struct Majority {
    /// Role to call.
    role: String,
    /// Number of calls.
    #[serde(default = "two")]
    samples: u32,
    /// Sampling temperature, which controls how much the answers vary.
    #[serde(default = "warm")]
    temperature: f64,
}

fn two() -> u32 {
    2
}

fn warm() -> f64 {
    0.7
}

impl Backend for Majority {
    fn spec() -> BackendSpec {
        let properties = json!({
            "role": {"type": "string"},
            "samples": {"type": "integer", "minimum": 1, "maximum": 64, "default": 2},
            "temperature": {"type": "number", "minimum": 0, "default": 0.7},
        });
        BackendSpec::new("1", properties)
    }

    fn prepare(config: Value) -> Result<Self, PluginError> {
        from_params(config)
    }

    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        let mut params: Value = from_str(&request.params).unwrap_or_default();
        params["temperature"] = self.temperature.into();
        let seed = params["seed"].as_u64().unwrap_or(0);
        let asked: Vec<llm::GenerateRequest> = (0..u64::from(self.samples))
            .map(|number| {
                // Each call uses a different seed, but the same one in every run.
                params["seed"] = seed.wrapping_add(number).into();
                llm::GenerateRequest::new(&self.role, request.messages.clone()).params(&params)
            })
            .collect();
        let answers =
            llm::generate_all(&asked).into_iter().collect::<Result<Vec<Generation>, PluginError>>()?;
        let count = |one: &Generation| {
            answers.iter().filter(|other| other.answer.trim() == one.answer.trim()).count()
        };
        let most = answers.iter().map(count).max().unwrap_or(0);
        // Ties go to the first answer.
        let chosen = answers.iter().find(|one| count(one) == most).cloned();
        let chosen = chosen.ok_or_else(|| PluginError::upstream("the role gave no answer"))?;
        let sum =
            |part: fn(&Usage) -> u64| answers.iter().filter_map(|one| one.usage.as_ref()).map(part).sum();
        Ok(Generation {
            usage: Some(Usage {
                prompt_tokens: sum(|usage| usage.prompt_tokens),
                completion_tokens: sum(|usage| usage.completion_tokens),
            }),
            extra: json!({"votes": most, "samples": answers.len()}).to_string(),
            ..chosen
        })
    }
}

gage_sdk::backend!(
    name: "self-consistency",
    description: "Asks a role several times and gives the answer that comes most often",
    extra: json!({"wants": {"llm": ["the role that its configuration names"]}}),
    backend: Majority,
);
