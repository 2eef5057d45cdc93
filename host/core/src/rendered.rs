//! Prompts that were rendered before a model's template could be applied.

use crate::Sample;
use serde_json::Value;

impl Sample {
    /// The prompt, where somebody rendered it already: `inputs.prompt` of a Sample whose
    /// `chat_template_mode` says `preprocess`. No template may be applied to it.
    pub fn rendered_prompt(&self) -> Option<&str> {
        let is_rendered = self.chat_template_mode.as_deref() == Some("preprocess");
        let prompt = self.inputs.get("prompt").and_then(Value::as_str).filter(|prompt| !prompt.is_empty());
        prompt.filter(|_| is_rendered)
    }
}
