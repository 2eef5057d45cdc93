//! Prompts of a role: those of samples that wait together are rendered in one call, off the async runtime.

use gage_core::Message;
use gage_plugin::CallCoalescer;
use gage_template::{PromptError, PromptInput, PromptRenderer};
use std::sync::Arc;

/// Renders the prompt of a role.
pub(crate) struct PromptCalls {
    renderer: Arc<PromptRenderer>,
    calls: CallCoalescer<PromptInput, Result<Vec<Message>, PromptError>>,
}

impl PromptCalls {
    /// `workers` bounds the concurrent calls.
    pub(crate) fn new(renderer: &Arc<PromptRenderer>, workers: usize) -> PromptCalls {
        let called = Arc::clone(renderer);
        let calls = CallCoalescer::new(workers, move |inputs: &[PromptInput]| called.render_batch(inputs));
        PromptCalls { renderer: Arc::clone(renderer), calls }
    }

    /// Returns the prompt.
    pub(crate) fn renderer(&self) -> &PromptRenderer {
        &self.renderer
    }

    /// Renders the messages of an input. The error is a text that names the template.
    pub(crate) async fn render(&self, input: PromptInput) -> Result<Vec<Message>, String> {
        match self.calls.call(input).await {
            Some(rendered) => rendered.map_err(|error| error.to_string()),
            None => {
                Err(format!("internal error: the call of the prompt `{}` failed", self.renderer.prompt_id()))
            }
        }
    }
}
