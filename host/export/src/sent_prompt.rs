//! The prompts of a run. Its records hold the Samples that they were built from, so the caller of an export builds them again.

use crate::text;
use gage_record::SampleRecord;
use serde_json::Value;

/// A prompt that was sent to the model under test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentPrompt {
    /// The messages. Empty if a text was sent.
    pub messages: Vec<Value>,
    /// The text that was sent, or into which this program rendered the messages.
    pub text: Option<String>,
    /// The texts whose likelihood was measured after the prompt.
    pub continuations: Vec<String>,
}

impl SentPrompt {
    /// Returns the text that the model read. Messages that the server renders are shown as by [`text::of_messages`].
    pub(crate) fn shown(&self) -> String {
        self.text.clone().unwrap_or_else(|| text::of_messages(&self.messages))
    }
}

/// Returns the prompts about a record, in the order of its options. `None` if they are unknown.
pub type PromptsOf<'a> = dyn Fn(&SampleRecord) -> Option<Vec<SentPrompt>> + 'a;
