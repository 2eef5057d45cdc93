//! `embed_local_message_images`: local images that are already in the messages.
//!
//! The hook embeds nothing itself, since it cannot open files. It lists the images, and the host embeds them if the
//! suite requests it. An image that is already in a message is not added again.
//! to it again.

use crate::from_field::media_source;
use gage_row_kit::fields::{Fields, find, unusable};
use gage_row_kit::media::{Kind, read};
use gage_sdk::doc_hook::{DocHook, HookKind, HookSpec, MediaSource};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};
use serde::Deserialize;

/// Lists the local images of all messages, or of one place in them.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedLocalMessageImages {
    content_field: Option<String>,
}

impl DocHook for EmbedLocalMessageImages {
    fn name() -> &'static str {
        "embed_local_message_images"
    }

    fn spec() -> HookSpec {
        let properties = json!({ "content_field": {
            "type": ["string", "null"], "minLength": 1,
            "description": "Path of the content, such as `messages.0.content`; by default all messages",
        } });
        let description = "Marks local images in messages for the host to embed";
        let member = MemberSpec::new("1", description, properties);
        HookSpec::new(HookKind::Visual, member)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        from_params(params)
    }

    fn to_media(&self, sample: &Value) -> Result<Vec<MediaSource>, PluginError> {
        let mut media: Vec<MediaSource> = Vec::new();
        for (path, part) in self.image_parts(sample) {
            let sources = read(part.clone(), Kind::Image).map_err(|why| unusable(&path, &why))?;
            for source in sources.into_iter().filter(|source| is_local(&source.url)) {
                if media.iter().all(|there| there.source != source.url) {
                    media.push(media_source(source, Kind::Image));
                }
            }
        }
        Ok(media)
    }
}

impl EmbedLocalMessageImages {
    /// Returns the image parts to check, each with its path.
    fn image_parts<'sample>(&self, sample: &'sample Value) -> Vec<(String, &'sample Value)> {
        let contents: Vec<(String, &Value)> = match &self.content_field {
            Some(path) => {
                let content = sample.as_object().and_then(|fields: &Fields| find(fields, path));
                content.map(|content| (path.clone(), content)).into_iter().collect()
            }
            None => {
                let messages = sample["messages"].as_array().into_iter().flatten().enumerate();
                messages
                    .map(|(index, message)| (format!("messages.{index}.content"), &message["content"]))
                    .collect()
            }
        };
        let parts = contents.into_iter().flat_map(|(path, content)| {
            let parts = content.as_array().into_iter().flatten().enumerate();
            parts.map(move |(index, part)| (format!("{path}.{index}"), part))
        });
        parts.filter(|(_, part)| part["type"] == Kind::Image.part_type()).collect()
    }
}

/// Returns whether a source is a file on this machine.
fn is_local(url: &str) -> bool {
    let begins =
        |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    !["http://", "https://", "data:"].into_iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_images_are_named_once() {
        let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
        let sample = json!({ "messages": [
            { "role": "system", "content": "s" },
            { "role": "user", "content": [image("a.png"), image("HTTPS://b.example/b.png"), { "type": "text", "text": "q" }] },
            { "role": "user", "content": [image("a.png"), image("file:///c.png"), image("data:image/png;base64,AA==")] },
        ] });
        for (params, expected) in [
            (json!({}), vec!["a.png", "file:///c.png"]),
            (json!({ "content_field": "messages.1.content" }), vec!["a.png"]),
            (json!({ "content_field": "messages.9.content" }), vec![]),
        ] {
            let hook = EmbedLocalMessageImages::prepare(params);
            let media = hook.and_then(|hook| hook.to_media(&sample)).unwrap_or_default();
            let sources: Vec<&str> = media.iter().map(|media| media.source.as_str()).collect();
            assert_eq!(sources, expected);
        }
    }

    #[test]
    fn errors_name_the_part() {
        let sample = json!({ "messages": [{ "content": [{ "type": "image_url", "image_url": 1 }] }] });
        let error = EmbedLocalMessageImages::default().to_media(&sample).err();
        assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/messages/0/content/0"));
    }
}
