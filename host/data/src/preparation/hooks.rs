//! Doc hooks: components that supply text and media of Samples.

use super::batch::Batch;
use crate::media::MediaSource;
use crate::rejection::Rejection;
use gage_core::{MediaKind, Sample};
use gage_plugin::{DocHook, DocHookOutput, ItemError, message_from_guest};
use serde_json::Value;
use std::sync::Arc;

/// Replaces the messages of each Sample with those of a hook.
pub(super) fn set_text(batch: &mut Batch<'_>, hook: &DocHook) {
    let mut results = hook.apply(&texts(batch.samples())).into_iter();
    batch.each(|sample| {
        let messages = match next_result(&mut results, hook)? {
            DocHookOutput::Text(messages) => messages,
            DocHookOutput::Media(_) => Vec::new(),
        };
        if messages.is_empty() {
            let message = format!("{}: gave no message", name_of(hook));
            return Err(Rejection::of_sample("no_messages", message, Some("/messages".to_owned())));
        }
        sample.messages = messages
            .into_iter()
            .map(|message| message_from_guest(message).map_err(|text| invalid(hook, &text)))
            .collect::<Result<_, Rejection>>()?;
        Ok(())
    });
}

/// Adds media from hooks to each Sample, except to those that already have media in their inputs.
pub(super) fn find_media(batch: &mut Batch<'_>, hooks: &[Arc<DocHook>]) {
    for hook in hooks {
        let wanting = batch.samples().filter(|sample| !has_media_inputs(sample));
        let mut results = hook.apply(&texts(wanting)).into_iter();
        batch.each_with_media(|sample, media| {
            if !has_media_inputs(sample)
                && let DocHookOutput::Media(sources) = next_result(&mut results, hook)?
            {
                media.extend(sources.into_iter().map(source));
            }
            Ok(())
        });
    }
}

fn has_media_inputs(sample: &Sample) -> bool {
    let media = sample.inputs.get("multi_modal_data").and_then(Value::as_object);
    media.is_some_and(|media| media.values().any(|list| list.as_array().is_some_and(|list| !list.is_empty())))
}

fn texts<'s>(samples: impl Iterator<Item = &'s Sample>) -> Vec<String> {
    samples.map(|sample| sample.to_value().to_string()).collect()
}

fn name_of(hook: &DocHook) -> String {
    format!("the doc hook `{}`", hook.name())
}

fn invalid(hook: &DocHook, message: &str) -> Rejection {
    Rejection::of_sample("invalid_result", format!("{}: {message}", name_of(hook)), None)
}

fn next_result(
    results: &mut impl Iterator<Item = Result<DocHookOutput, ItemError>>,
    hook: &DocHook,
) -> Result<DocHookOutput, Rejection> {
    match results.next() {
        Some(Ok(hooked)) => Ok(hooked),
        Some(Err(error)) => Err(Rejection::of_plugin(&name_of(hook), error)),
        None => Err(invalid(hook, "there is no result")),
    }
}

fn source(media: gage_plugin::MediaSource) -> MediaSource {
    let kind = match media.kind {
        gage_plugin::MediaKind::Image => MediaKind::Image,
        gage_plugin::MediaKind::Audio => MediaKind::Audio,
        gage_plugin::MediaKind::Video => MediaKind::Video,
        gage_plugin::MediaKind::File => MediaKind::File,
    };
    MediaSource { kind, source: media.source, extra: media.extra }
}
