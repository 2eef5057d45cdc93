//! JSON encoding of Samples, their parts and model outputs. Each type lists its members only once; the list
//! serves texts, values and path lookups.

mod content;
mod output;
mod sample;

use crate::Object;
use crate::content::{ContentPart, Message};
use crate::output::{ContinuationScore, FinishReason, RollingScore, Usage};
use crate::sample::derived::{DerivedChoices, MetadataMember, OptionTexts};
use crate::sample::{ChoiceOption, FewShotExample, Reference, SandboxSpec};
use content::BriefMessages;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A type that is written as a JSON object.
pub(crate) trait JsonMembers {
    /// Returns its known members that are not empty, in output order.
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)>;
    /// Returns a known member that is not empty.
    fn member(&self, key: &str) -> Option<Member<'_>> {
        self.members().find(|(known, _)| *known == key).map(|(_, member)| member)
    }
    /// Returns the unknown members, which come last.
    fn extra(&self) -> &Object;
}

/// Value of a known member.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Member<'s> {
    Text(&'s str),
    Value(&'s Value),
    Object(&'s Object),
    Metadata(MetadataMember<'s>),
    OptionTexts(OptionTexts<'s>),
    Choices(DerivedChoices<'s>),
    Values(&'s [Value]),
    Media(MediaMember<'s>),
    Part(&'s ContentPart),
    Parts(&'s [ContentPart]),
    Message(&'s Message),
    Messages(&'s [Message]),
    BriefMessages(BriefMessages<'s>),
    Conversations(&'s [Vec<Message>]),
    Option(&'s ChoiceOption),
    Options(&'s [ChoiceOption]),
    Reference(&'s Reference),
    References(&'s [Reference]),
    Examples(&'s [FewShotExample]),
    Sandbox(&'s SandboxSpec),
    Finish(FinishReason),
    Usage(Usage),
    Continuations(&'s [ContinuationScore]),
    Rolling(RollingScore),
}

/// URL of media, with its options.
#[derive(Serialize)]
pub(crate) struct MediaMember<'s> {
    pub(crate) url: &'s str,
    #[serde(flatten)]
    pub(crate) options: &'s Object,
}

/// Writes an object. An unknown member with the key of a known one is ignored.
pub(crate) fn write<S: Serializer>(written: &impl JsonMembers, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, member) in written.members() {
        map.serialize_entry(key, &member)?;
    }
    for (key, value) in written.extra().iter().filter(|(key, _)| written.member(key).is_none()) {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// Implements `Serialize` for types that list their members.
macro_rules! serialize {
    ($($type:ty),+ $(,)?) => {
        $(impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::json_encode::write(self, serializer)
            }
        })+
    };
}

pub(crate) use serialize;

/// A member that is always present.
pub(crate) fn always<'s>(key: &'static str, member: Member<'s>) -> Option<(&'static str, Member<'s>)> {
    Some((key, member))
}

pub(crate) fn text<'s>(key: &'static str, text: Option<&'s str>) -> Option<(&'static str, Member<'s>)> {
    Some((key, Member::Text(text?)))
}

pub(crate) fn value<'s>(key: &'static str, value: Option<&'s Value>) -> Option<(&'static str, Member<'s>)> {
    Some((key, Member::Value(value?)))
}

pub(crate) fn object<'s>(key: &'static str, object: &'s Object) -> Option<(&'static str, Member<'s>)> {
    filled_object(object).map(|member| (key, member))
}

/// Returns the member of an object; `None` if it is empty.
pub(crate) fn filled_object(object: &Object) -> Option<Member<'_>> {
    (!object.is_empty()).then_some(Member::Object(object))
}

/// Returns the member of a list; `None` if it is empty.
pub(crate) fn filled_list<'s, T>(items: &'s [T], member: fn(&'s [T]) -> Member<'s>) -> Option<Member<'s>> {
    (!items.is_empty()).then(|| member(items))
}

/// A list that is omitted if empty.
pub(crate) fn list<'s, T>(
    key: &'static str,
    items: &'s [T],
    member: fn(&'s [T]) -> Member<'s>,
) -> Option<(&'static str, Member<'s>)> {
    filled_list(items, member).map(|member| (key, member))
}
