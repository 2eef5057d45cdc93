//! The messages of a request.

use crate::{Message, OptionDisplay, Sample};
use std::ops::Deref;
use std::sync::Arc;

/// Messages of a request: its own, or those of its Sample, which are not copied.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Empty if the messages are those of a Sample.
    own: Vec<Message>,
    sample: Option<Arc<Sample>>,
}

impl Messages {
    /// Creates the conversation of a Sample, as described in [`Sample::conversation`].
    pub fn of(sample: &Arc<Sample>, display: OptionDisplay) -> Messages {
        let is_unchanged = sample.few_shot_examples.is_empty() && sample.missing_options(display).is_none();
        match is_unchanged {
            true => Messages { own: Vec::new(), sample: Some(Arc::clone(sample)) },
            false => Messages::from(sample.conversation(display)),
        }
    }

    /// Converts to owned messages.
    pub fn into_vec(mut self) -> Vec<Message> {
        std::mem::take(self.to_mut())
    }

    /// Returns the messages for modification.
    pub fn to_mut(&mut self) -> &mut Vec<Message> {
        if let Some(sample) = self.sample.take() {
            self.own.clone_from(&sample.messages);
        }
        &mut self.own
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Messages {
        Messages { own: messages, sample: None }
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Messages {
        Messages::from(Vec::from_iter(messages))
    }
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        self.sample.as_ref().map_or(&self.own, |sample| &sample.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use serde_json::{Value, json};

    #[test]
    fn messages_of_a_sample_are_its_own_until_they_are_changed() {
        let read = |examples: Value| {
            let messages = json!([{"role": "user", "content": "?"}]);
            let mut value =
                json!({"schema_version": "v1", "id": "1", "messages": messages, "references": []});
            value["few_shot_examples"] = examples;
            Arc::new(Sample::from_value(value).expect("a Sample"))
        };
        let sample = read(json!([]));
        let mut messages = Messages::of(&sample, OptionDisplay::AfterQuestion);
        assert!(std::ptr::eq(&messages[0], &sample.messages[0]));
        messages.to_mut().push(Message::text(Role::Assistant, "!"));
        assert_eq!((messages.len(), sample.messages.len()), (2, 1));
        assert_eq!(messages[0], sample.messages[0]);
        let example = json!({"messages": [{"role": "user", "content": "a"}], "references": [], "label": "b"});
        let sample = read(json!([example]));
        assert_eq!(sample.conversation(OptionDisplay::AfterQuestion).len(), 3);
        assert_eq!(
            Messages::of(&sample, OptionDisplay::AfterQuestion).into_vec(),
            sample.conversation(OptionDisplay::AfterQuestion)
        );
    }
}
