//! Images of a conversation, and their places in its text.
//!
//! For every image, the template receives a marker as its text: a code point that is never a character. The image thus
//! ends up where the message has it, among the text that the template adds. The tokens that the model requires
//! immediately before and after an image come from `mtmd`, according to its model file.

use crate::api::{BackendError, BackendErrorKind};
use crate::conversation::inline_media;
use gage_core::{ContentPart, Message};
use gage_template::ChatTemplate;
use serde_json::Value;

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

/// Renders the conversation as text with one marker per image.
///
/// If a template drops markers when a message's content is a single text, it is given the content as a list of parts.
///
/// # Errors
/// If the template refuses the conversation, or omits images.
pub fn rendered_with(
    template: &ChatTemplate,
    messages: &[Message],
    tools: &[Value],
    mark: Option<char>,
    count: usize,
) -> Result<String, String> {
    let first = template.render(messages, tools).map_err(|error| error.to_string());
    let Some(mark) = mark else { return first };
    let shown = |text: &str| text.matches(mark).count();
    match &first {
        Ok(text) if shown(text) == count => return first,
        _ => {}
    }
    match template.render_parts(messages, tools) {
        Ok(text) if shown(&text) == count => Ok(text),
        _ => {
            let found = shown(&first?);
            Err(format!(
                "the chat template shows {found} of {count} images; give another one as `chat_template`, which writes \
                 the text of every part of a message once"
            ))
        }
    }
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
    fn images_stand_where_the_message_has_them() {
        let messages = with_marked_images(&conversation(), '~');
        let of_text = "{% for m in messages %}[{{ m.content | trim }}]{% endfor %}";
        let of_parts =
            "{% for m in messages %}[{% for p in m.content %}{{ p.text }}|{% endfor %}]{% endfor %}";
        for (template, expected) in [
            (of_text, Ok("[s][a ~ b]")),
            (of_parts, Ok("[s|][a |~| b|]")),
            ("{{ messages[0].content }}", Err("0 of 1 images")),
            ("{{ messages[1].content }}{{ messages[1].content }}", Err("2 of 1 images")),
            ("{{ raise_exception('no') }}", Err("no")),
        ] {
            let compiled = ChatTemplate::compile(template, "", "").expect("a template");
            match (rendered_with(&compiled, &messages, &[], Some('~'), 1), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason}"),
                (found, _) => panic!("{template}: {found:?}"),
            }
        }
        let plain = rendered_with(&ChatTemplate::none(), &messages, &[], Some('~'), 1);
        assert_eq!(plain.as_deref(), Ok("s\na ~ b"));
    }
}
