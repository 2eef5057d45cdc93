//! Prompts of Samples, rendered with the chat template of a tokenizer.

use super::batch::Batch;
use crate::rejection::Rejection;
use gage_core::{Message, OptionDisplay, Sample};
use gage_template::{ChatTemplateError, TokenizerTemplate};
use serde_json::Value;

/// Renders the conversation of each Sample into `inputs.prompt`, unless the row already has a rendered prompt, and records
/// that in the flags of the Sample.
pub(super) fn render(batch: &mut Batch<'_>, tokenizer: &TokenizerTemplate, display: OptionDisplay) {
    let conversations: Vec<(Vec<Message>, &[Value])> = batch
        .samples()
        .filter(|sample| sample.rendered_prompt().is_none())
        .map(|sample| (sample.conversation(display), sample.tools.as_slice()))
        .collect();
    let has_media: Vec<bool> =
        conversations.iter().map(|(messages, _)| messages.iter().any(Message::has_media)).collect();
    let prompts = tokenizer.render_batch(&conversations);
    drop(conversations);
    let mut prompts = prompts.into_iter().zip(has_media);
    let path = tokenizer.path.display().to_string();
    batch.each(|sample| {
        if sample.rendered_prompt().is_some() {
            return Ok(());
        }
        match prompts.next() {
            Some((prompt, has_media)) => apply(sample, prompt, has_media, &path),
            None => Ok(()),
        }
    });
}

/// Records a rendered prompt in its Sample.
fn apply(
    sample: &mut Sample,
    prompt: Result<String, ChatTemplateError>,
    has_media: bool,
    path: &str,
) -> Result<(), Rejection> {
    let rejection =
        |message: String| Rejection::of_sample("chat_template", message, Some("/messages".to_owned()));
    let prompt = match prompt {
        Ok(prompt) => prompt,
        // A text-only template cannot take media; the messages are sent, and the receiver renders them.
        Err(_) if has_media => return Ok(()),
        Err(error) => return Err(rejection(error.to_string())),
    };
    if prompt.trim().is_empty() {
        let message =
            "the chat template rendered an empty text; it may expect the content of messages in another form";
        return Err(rejection(message.to_owned()));
    }
    sample.inputs.insert("prompt".to_owned(), Value::String(prompt));
    let flag = |text: &str| Some(text.to_owned());
    sample.chat_template_mode = flag("preprocess");
    sample.rendered_by = flag("preprocess");
    sample.template_source = flag("tokenizer");
    sample.cache_suffix = flag("-chat_template");
    sample.tokenizer_path = flag(path);
    Ok(())
}
