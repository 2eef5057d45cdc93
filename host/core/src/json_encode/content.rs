//! Messages in the shape of the OpenAI chat API; content is always a list of parts.

use super::{JsonMembers, MediaMember, Member, always, list, serialize, text};
use crate::Object;
use crate::content::{ContentPart, Message};

serialize!(ContentPart, Message);

impl JsonMembers for ContentPart {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        let (name, main) = match self {
            ContentPart::Text { text, .. } => ("text", Member::Text(text)),
            ContentPart::Media { kind, url, options, .. } => {
                (kind.type_name(), Member::Media(MediaMember { url, options }))
            }
        };
        [("type", Member::Text(name)), (name, main)].into_iter()
    }

    fn extra(&self) -> &Object {
        match self {
            ContentPart::Text { extra, .. } | ContentPart::Media { extra, .. } => extra,
        }
    }
}

impl JsonMembers for Message {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        let has_content = !self.content.is_empty() || self.tool_calls.is_empty();
        [
            always("role", Member::Text(self.role.name())),
            text("name", self.name.as_deref()),
            has_content.then_some(("content", Member::Parts(&self.content))),
            list("tool_calls", &self.tool_calls, Member::Values),
            text("tool_call_id", self.tool_call_id.as_deref()),
        ]
        .into_iter()
        .flatten()
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}
