//! The media of a Sample in the prompts of its judges.

use crate::sample::failure::SampleFailure;
use gage_backend::{Backend, MediaSupport};
use gage_core::{ContentPart, Message, Outcome, Role, SampleView};
use gage_data::MediaStore;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::Span;

/// Adds media to the prompts of a judge.
pub(super) struct JudgeMedia {
    judge_id: String,
    backend_kind: &'static str,
    takes: MediaSupport,
    store: Arc<MediaStore>,
    has_warned: AtomicBool,
}

impl JudgeMedia {
    pub(super) fn new(judge_id: &str, backend: &dyn Backend, store: &Arc<MediaStore>) -> JudgeMedia {
        let info = backend.info();
        JudgeMedia {
            judge_id: judge_id.to_owned(),
            backend_kind: info.kind,
            takes: info.capabilities.media,
            store: Arc::clone(store),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Puts the media of a Sample before the text of the last user message of each prompt. Media that the backend does not
    /// accept are left out; the first time, that gives a warning.
    pub(super) async fn add_to<'m>(
        &self,
        prompts: impl Iterator<Item = &'m mut Vec<Message>>,
        sample: &SampleView,
    ) -> Result<(), SampleFailure> {
        let (parts, refused): (Vec<ContentPart>, Vec<ContentPart>) =
            media_of(sample).into_iter().partition(|part| match part {
                ContentPart::Media { kind, .. } => self.takes.takes(*kind),
                ContentPart::Text { .. } => false,
            });
        if !refused.is_empty() && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                judge = %self.judge_id,
                "the judge does not see media of samples: its backend ({}) accepts {}; `media: false` of the step \
                 leaves them out without this warning",
                self.backend_kind,
                self.takes.described()
            );
        }
        if parts.is_empty() {
            return Ok(());
        }
        let parts = self.embedded(parts).await?;
        for messages in prompts {
            if let Some(last) = messages.iter_mut().rfind(|message| message.role == Role::User) {
                last.content.splice(0..0, parts.iter().cloned());
            }
        }
        Ok(())
    }

    /// Replaces local media by `data:` URLs.
    async fn embedded(&self, parts: Vec<ContentPart>) -> Result<Vec<ContentPart>, SampleFailure> {
        let (store, span) = (Arc::clone(&self.store), Span::current());
        let embed = move || {
            span.in_scope(|| {
                let mut messages = [Message::new(Role::User, parts)];
                store.embed(&mut messages).map(|()| messages)
            })
        };
        let invalid = |kind: &str, message: String| SampleFailure::new(Outcome::InvalidSample, kind, message);
        match tokio::task::spawn_blocking(embed).await {
            Ok(Ok([message])) => Ok(message.content),
            Ok(Err(error)) => Err(invalid(error.kind.name(), error.message)),
            Err(error) => {
                Err(SampleFailure::of_plugin("internal", format!("the media could not be read: {error}")))
            }
        }
    }
}

/// Returns the media of a Sample's own messages, in order.
fn media_of(sample: &SampleView) -> Vec<ContentPart> {
    let is_media = |part: &ContentPart| matches!(part, ContentPart::Media { .. });
    let of = |messages: &[Message]| -> Vec<ContentPart> {
        messages.iter().flat_map(|message| &message.content).filter(|part| is_media(part)).cloned().collect()
    };
    match sample {
        SampleView::Read(sample) => of(&sample.messages),
        SampleView::Json(value) => {
            let messages = value.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
            of(&messages.into_iter().filter_map(|one| Message::from_value(one).ok()).collect::<Vec<_>>())
        }
    }
}
