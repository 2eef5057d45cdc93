//! A backend that reads the media of its messages, for tests of the import `media`: it answers with the type, the size and the last
//! bytes of each. The message `ask for SHA` reads another digest.

use gage_sdk::backend::{Backend, BackendSpec, GenerateRequest, Generation};
use gage_sdk::serde_json::{Value, from_str};
use gage_sdk::{PluginError, json, media};

struct Reader;

impl Backend for Reader {
    fn spec() -> BackendSpec {
        BackendSpec::new("1", json!({}))
    }

    fn prepare(_config: Value) -> Result<Self, PluginError> {
        Ok(Reader)
    }

    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        let mut answer = Vec::new();
        for message in &request.messages {
            if let Some(digest) = message.content.strip_prefix("ask for ") {
                media::read_all(digest)?;
            }
            let extra: Value = from_str(&message.extra).unwrap_or_default();
            let parts = extra["parts"].as_array().into_iter().flatten();
            for digest in parts.filter_map(|part| part["digest"].as_str()) {
                let found = media::find(digest)?;
                let whole = media::read_all(digest)?;
                let tail = media::read(digest, found.size.saturating_sub(3), 100)?;
                let text = String::from_utf8_lossy(&tail).into_owned();
                answer.push(format!("{} of {} bytes ending in {text}", found.media_type, whole.len()));
            }
        }
        Ok(Generation::of(answer.join("; ")))
    }
}

gage_sdk::backend!(name: "media-backend", description: "Reads media", backend: Reader);
