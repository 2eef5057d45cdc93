//! The chat template of a model: conversations that wait together are rendered in one call, off the async runtime.

use gage_core::Message;
use gage_plugin::CallCoalescer;
use gage_template::{ChatTemplate, ChatTemplateError, ContentForm, Conversation};
use serde_json::Value;
use std::sync::Arc;

/// Maximum number of concurrent calls of the template. One thread renders far more conversations than a model answers.
const MAX_RUNNING_CALLS: usize = 1;

/// Renders conversations with a model's chat template.
pub struct ChatRenderer {
    calls: CallCoalescer<Conversation, Result<String, ChatTemplateError>>,
}

impl ChatRenderer {
    /// Creates the renderer of a template.
    pub fn new(template: ChatTemplate) -> ChatRenderer {
        let template = Arc::new(template);
        let call = move |conversations: &[Conversation]| template.render_batch(conversations);
        ChatRenderer { calls: CallCoalescer::new(MAX_RUNNING_CALLS, call) }
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// If the template rejects the conversation.
    pub async fn render(
        &self,
        messages: &[Message],
        tools: &[Value],
        form: ContentForm,
    ) -> Result<String, String> {
        match self.calls.call(Conversation::new(messages, tools, form)).await {
            Some(rendered) => rendered.map_err(|error| error.to_string()),
            None => Err("internal error: the call of the chat template failed".to_owned()),
        }
    }

    /// Renders a conversation as text with one marker per image, `count` in all.
    ///
    /// If a template drops markers when a message's content is a single text, it is given the content as a list of parts.
    ///
    /// # Errors
    /// If the template refuses the conversation, or omits images.
    pub async fn render_with_images(
        &self,
        messages: &[Message],
        tools: &[Value],
        mark: char,
        count: usize,
    ) -> Result<String, String> {
        let shown = |text: &str| text.matches(mark).count();
        let first = self.render(messages, tools, ContentForm::Text).await;
        if first.as_ref().is_ok_and(|text| shown(text) == count) {
            return first;
        }
        match self.render(messages, tools, ContentForm::Parts).await {
            Ok(text) if shown(&text) == count => Ok(text),
            _ => {
                let found = shown(&first?);
                Err(format!(
                    "the chat template shows {found} of {count} images; give another one as `chat_template`, which \
                     writes the text of every part of a message once"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::{ContentPart, Role};
    use gage_plugin::{HostOptions, PluginHost, Registry};
    use gage_template::TemplateSandbox;
    use std::sync::OnceLock;

    fn renderer(template: &str) -> ChatRenderer {
        static SANDBOX: OnceLock<TemplateSandbox> = OnceLock::new();
        let sandbox = SANDBOX.get_or_init(|| {
            let host = PluginHost::new(&HostOptions::default()).expect("an engine");
            let registry = Registry::new(host, gage_plugin_bundle::COMPONENTS);
            TemplateSandbox::load(&registry).expect("a component")
        });
        ChatRenderer::new(ChatTemplate::compile(sandbox, "m.gguf", template, "", "").expect("a template"))
    }

    #[tokio::test]
    async fn images_stand_where_the_message_has_them() {
        let mut message = Message::text(Role::User, "a ");
        message.content.extend(["~", " b"].map(ContentPart::text));
        let messages = [Message::text(Role::System, "s"), message];
        let of_text = "{% for m in messages %}[{{ m.content | trim }}]{% endfor %}";
        let of_parts =
            "{% for m in messages %}[{% for p in m.content %}{{ p.text }}|{% endfor %}]{% endfor %}";
        for (template, expected) in [
            (of_text, Ok("[s][a ~ b]")),
            (of_parts, Ok("[s|][a |~| b|]")),
            ("{{ messages[0].content }}", Err("0 of 1 images")),
            ("{{ messages[1].content }}{{ messages[1].content }}", Err("2 of 1 images")),
            ("{{ raise_exception('no') }}", Err("the chat template of m.gguf cannot render")),
        ] {
            let rendered = renderer(template).render_with_images(&messages, &[], '~', 1).await;
            match (rendered, expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason}"),
                (found, _) => panic!("{template}: {found:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_dropped_request_leaves_the_others_as_they_are() {
        let renderer = renderer("{{ messages[0].content }}");
        let question = |text: &str| [Message::text(Role::User, text)];
        let (first, second) = (question("a"), question("b"));
        let mut dropped = Box::pin(renderer.render(&first, &[], ContentForm::Text));
        // Whether it has ended by now does not matter.
        let _ = futures::poll!(dropped.as_mut());
        drop(dropped);
        assert_eq!(renderer.render(&second, &[], ContentForm::Text).await.as_deref(), Ok("b"));
    }
}
