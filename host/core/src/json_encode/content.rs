//! Messages in the shape of the OpenAI chat API; content is always a list of parts.

use super::{JsonMembers, MediaMember, Member, always, list, serialize, text};
use crate::Object;
use crate::content::{ContentPart, Message};
use serde::{Serialize, Serializer};

serialize!(ContentPart, Message, BriefMessage<'_>);

/// Messages whose content is a text, if it is a single part of text.
#[derive(Clone, Copy)]
pub(crate) struct BriefMessages<'s>(pub(crate) &'s [Message]);

struct BriefMessage<'s>(&'s Message);

impl Serialize for BriefMessages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(BriefMessage))
    }
}

impl JsonMembers for BriefMessage<'_> {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        let text = match self.0.content.as_slice() {
            [ContentPart::Text { text, extra }] if extra.is_empty() => Some(text),
            _ => None,
        };
        self.0.members().map(move |(key, member)| match (member, text) {
            (Member::Parts(_), Some(text)) => (key, Member::Text(text)),
            (member, _) => (key, member),
        })
    }

    fn extra(&self) -> &Object {
        &self.0.extra
    }
}

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
