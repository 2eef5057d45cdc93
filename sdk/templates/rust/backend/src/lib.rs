//! Answers with the last message.

use gage_sdk::backend::{Backend, BackendSpec, GenerateRequest, Generation};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, from_params, json};

/// The configuration in a suite.
#[derive(serde::Deserialize)]
struct Echo {
    #[serde(default)]
    prefix: String,
}

impl Backend for Echo {
    // Increase the version, "1", when an answer could change.
    fn spec() -> BackendSpec {
        BackendSpec::new("1", json!({ "prefix": { "type": "string", "default": "" } }))
    }

    fn prepare(config: Value) -> Result<Self, PluginError> {
        from_params(config)
    }

    // To call a server or another model, use `gage_sdk::http` or `gage_sdk::llm`, and add it to `imports` in
    // gage-plugin.toml. Implement `generate_all` to send several requests concurrently.
    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        let last = request.messages.last();
        let last = last.ok_or_else(|| PluginError::invalid_input("there is no message to echo"))?;
        Ok(Generation::of(format!("{}{}", self.prefix, last.content)))
    }
}

gage_sdk::backend!(name: "{{name}}", description: "Answers with the last message", backend: Echo);

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::backend::Message;

    #[test]
    fn echoes() {
        let echo = Echo { prefix: "> ".to_owned() };
        let messages = vec![Message::system("s"), Message::user("hello")];
        let request = GenerateRequest { id: "1".to_owned(), messages, params: "{}".to_owned() };
        assert_eq!(echo.generate(&request).unwrap().answer, "> hello");
    }
}
