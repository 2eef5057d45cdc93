//! Prompts that were rendered before applying a model's template.

use crate::Sample;
use serde_json::Value;

impl Sample {
    /// Returns the prompt if it is already rendered: `inputs.prompt` of a Sample whose `chat_template_mode`
    /// is `preprocess`. No template may be applied to it.
    pub fn rendered_prompt(&self) -> Option<&str> {
        let is_rendered = self.chat_template_mode.as_deref() == Some("preprocess");
        let prompt = self.inputs.get("prompt").and_then(Value::as_str).filter(|prompt| !prompt.is_empty());
        prompt.filter(|_| is_rendered)
    }
}
