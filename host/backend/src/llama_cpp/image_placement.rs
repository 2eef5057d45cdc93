//! Images of a conversation, and their places in its text.
//!
//! For every image, the template receives a marker as its text: a code point that is never a character. The image thus
//! ends up where the message has it, among the text that the template adds. The tokens that the model requires
//! immediately before and after an image come from `mtmd`, according to its model file.

use crate::api::{BackendError, BackendErrorKind};
use crate::conversation::inline_media;
use gage_core::{ContentPart, Message};

/// Returns the files of all images in base64, in the order of the conversation.
///
/// # Errors
/// If an image is not a `data:` URL: nothing is downloaded.
pub fn images_of(id: &str, messages: &[Message]) -> Result<Vec<String>, BackendError> {
    let parts = messages.iter().flat_map(|message| &message.content);
    let urls = parts.filter_map(|part| match part {
        ContentPart::Media { url, .. } => Some(url),
        ContentPart::Text { .. } => None,
    });
    let data = |url: &String| match inline_media(url) {
        Some((_, data)) => Ok(data.to_owned()),
        None => {
            let shown: String = url.chars().take(100).collect();
            let message = format!(
                "request '{id}': the image `{shown}` is not on this machine, and llama_cpp downloads \
                 nothing; download it first"
            );
            Err(BackendError::new(BackendErrorKind::Unsupported, message))
        }
    };
    urls.map(data).collect()
}

/// Returns the messages with a marker in place of every image.
pub fn with_marked_images(messages: &[Message], mark: char) -> Vec<Message> {
    let marked = |part: &ContentPart| match part {
        ContentPart::Text { .. } => part.clone(),
        ContentPart::Media { .. } => ContentPart::text(mark),
    };
    let shown = |message: &Message| Message {
        role: message.role,
        content: message.content.iter().map(marked).collect(),
        name: message.name.clone(),
        tool_calls: message.tool_calls.clone(),
        tool_call_id: message.tool_call_id.clone(),
        extra: message.extra.clone(),
    };
    messages.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::{LazyObject, MediaKind, Role};

    fn image(url: &str) -> ContentPart {
        let url = url.to_owned();
        ContentPart::Media {
            kind: MediaKind::Image,
            url,
            options: LazyObject::default(),
            extra: LazyObject::default(),
        }
    }

    fn conversation() -> Vec<Message> {
        let mut message = Message::text(Role::User, "a ");
        message.content.extend([image("data:image/png;base64,QQ=="), ContentPart::text(" b")]);
        vec![Message::text(Role::System, "s"), message]
    }

    #[test]
    fn images_come_as_data_and_from_nowhere_else() {
        assert_eq!(images_of("q", &conversation()).expect("data"), ["QQ=="]);
        for url in ["https://example.org/a.png", "data:image/png,raw", "a.png"] {
            let message = Message { content: vec![image(url)], ..Message::text(Role::User, "") };
            let error = images_of("q", &[message]).expect_err("refused");
            assert_eq!(error.kind, BackendErrorKind::Unsupported, "{url}");
        }
    }

    #[test]
    fn a_marker_stands_in_place_of_an_image() {
        let marked = with_marked_images(&conversation(), '~');
        let texts: Vec<String> = marked.iter().map(|message| gage_core::text_of(&message.content)).collect();
        assert_eq!(texts, ["s", "a ~ b"]);
        assert_eq!(marked[1].content.len(), 3);
    }
}
