//! Reads messages and their parts straight from a text.

use super::read::read_tool_call;
use super::{ContentPart, MediaKind, Message, Role};
use crate::json_decode::streaming::{StreamingDecode, TextVisitor, give_up, next, next_checked};
use crate::{LazyObject, Object};
use serde::de::{MapAccess, SeqAccess};

/// `content` or `answer`: a list of parts, or one string.
pub(crate) struct ContentVisitor(pub(crate) Vec<ContentPart>);

impl<'t> StreamingDecode<'t> for ContentVisitor {
    fn of_items<A: SeqAccess<'t>>(items: A) -> Result<Self, A::Error> {
        Vec::of_items(items).map(ContentVisitor)
    }

    fn of_string(text: &str) -> Option<Self> {
        Some(ContentVisitor(vec![ContentPart::text(text)]))
    }
}

/// What a part shows, under the key that is also its type.
enum PartKind {
    Text(String),
    Media(MediaKind, MediaFields),
}

impl<'t> StreamingDecode<'t> for ContentPart {
    fn of_members<A: MapAccess<'t>>(mut members: A) -> Result<Self, A::Error> {
        let (mut name, mut shown, mut extra) = (None, None, LazyObject::default());
        while let Some(TextVisitor(key)) = members.next_key()? {
            let found = if key == "text" {
                PartKind::Text(next(&mut members)?)
            } else if let Some(kind) = MediaKind::from_type_name(&key) {
                PartKind::Media(kind, next(&mut members)?)
            } else if key == "type" {
                name = Some(members.next_value::<TextVisitor>()?);
                continue;
            } else {
                extra.insert(key.into_owned(), members.next_value()?);
                continue;
            };
            // One of two would be a key that is not known; which one, the type says, maybe later.
            if shown.replace(found).is_some() {
                return Err(give_up());
            }
        }
        let (Some(TextVisitor(name)), Some(shown)) = (name, shown) else { return Err(give_up()) };
        match shown {
            PartKind::Text(text) if name == "text" => Ok(ContentPart::Text { text, extra }),
            PartKind::Media(kind, MediaFields { url, options }) if name == kind.type_name() => {
                Ok(ContentPart::Media { kind, url, options: options.into(), extra })
            }
            PartKind::Text(_) | PartKind::Media(..) => Err(give_up()),
        }
    }

    fn of_string(text: &str) -> Option<Self> {
        Some(ContentPart::text(text))
    }
}

/// The URL of a media part and what stands beside it. A string alone is the URL.
struct MediaFields {
    url: String,
    options: Object,
}

impl<'t> StreamingDecode<'t> for MediaFields {
    fn of_members<A: MapAccess<'t>>(mut members: A) -> Result<Self, A::Error> {
        let (mut url, mut options) = (None, Object::new());
        while let Some(TextVisitor(key)) = members.next_key()? {
            if key == "url" {
                url = Some(next(&mut members)?);
            } else {
                options.insert(key.into_owned(), members.next_value()?);
            }
        }
        Ok(MediaFields { url: url.ok_or_else(give_up)?, options })
    }

    fn of_string(text: &str) -> Option<Self> {
        Some(MediaFields { url: text.to_owned(), options: Object::new() })
    }
}

impl<'t> StreamingDecode<'t> for Message {
    fn of_members<A: MapAccess<'t>>(mut members: A) -> Result<Self, A::Error> {
        let (mut role, mut content) = (None, None);
        let (mut name, mut tool_calls, mut tool_call_id) = (None, Vec::new(), None);
        let mut extra = LazyObject::default();
        while let Some(TextVisitor(key)) = members.next_key()? {
            match key.as_ref() {
                "role" => role = Role::from_name(&members.next_value::<TextVisitor>()?.0),
                "content" => content = next::<Option<ContentVisitor>, _>(&mut members)?,
                "name" => name = next(&mut members)?,
                "tool_calls" => {
                    tool_calls =
                        next_checked(&mut members, |value, reading| reading.items(value, read_tool_call))?;
                }
                "tool_call_id" => tool_call_id = next(&mut members)?,
                _ => {
                    extra.insert(key.into_owned(), members.next_value()?);
                }
            }
        }
        let content = match content {
            Some(ContentVisitor(parts)) => parts,
            None if tool_calls.is_empty() => return Err(give_up()),
            None => Vec::new(),
        };
        Ok(Message { role: role.ok_or_else(give_up)?, content, name, tool_calls, tool_call_id, extra })
    }
}
