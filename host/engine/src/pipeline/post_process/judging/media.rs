//! The media of a Sample, and of the reply to it, in the prompts of its judges.

use crate::pipeline::reply_media::{ReplyPart, parts_of};
use crate::sample::failure::SampleFailure;
use crate::sample::result::SampleResult;
use gage_backend::{Backend, MediaSupport};
use gage_core::{ContentPart, LazyObject, MediaKind, Message, Outcome, OutputView, Role, SampleView};
use gage_data::{MediaStore, data_url_of};
use gage_observe::{SampleScope, in_sample_scope};
use gage_record::MediaFolder;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Labels of media in a judge's prompt. The first is used if both have media.
const QUESTION_LABEL: &str = "The media of the question:";
const ANSWER_LABEL: &str = "The media of the answer:";

/// The places of the media that judges see.
#[derive(Clone, Copy)]
pub(crate) struct JudgeMediaSources<'a> {
    /// The media of Samples.
    pub(crate) samples: &'a Arc<MediaStore>,
    /// The run folder, with the media of replies.
    pub(crate) replies: &'a Path,
}

/// Adds media to the prompts of a judge.
pub(super) struct JudgeMedia {
    judge_id: String,
    backend_kind: &'static str,
    takes: MediaSupport,
    store: Arc<MediaStore>,
    /// The run folder, with the media of replies.
    run: PathBuf,
    has_warned: AtomicBool,
}

impl JudgeMedia {
    pub(super) fn new(judge_id: &str, backend: &dyn Backend, media: JudgeMediaSources<'_>) -> JudgeMedia {
        let info = backend.info();
        JudgeMedia {
            judge_id: judge_id.to_owned(),
            backend_kind: info.kind,
            takes: info.capabilities.media,
            store: Arc::clone(media.samples),
            run: media.replies.to_owned(),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Puts the media of a Sample, and then those of the reply, before the text of the last user message of each prompt. Media
    /// that the backend does not accept are left out; the first time, that gives a warning.
    pub(super) async fn add_to<'m>(
        &self,
        prompts: impl Iterator<Item = &'m mut Vec<Message>>,
        result: &SampleResult,
    ) -> Result<(), SampleFailure> {
        let mut of_sample = self.accepted(media_of(&result.sample));
        let mut of_reply = self.accepted(media_of_reply(&result.model_output));
        if !of_sample.is_empty() {
            of_sample = self.embedded(of_sample).await?;
        }
        if !of_reply.is_empty() {
            of_reply = self.embedded_replies(of_reply).await?;
        }
        place(prompts, of_sample, of_reply);
        Ok(())
    }

    /// Returns the media that the backend accepts.
    fn accepted(&self, media: Vec<ContentPart>) -> Vec<ContentPart> {
        let (parts, refused): (Vec<ContentPart>, Vec<ContentPart>) =
            media.into_iter().partition(|part| match part {
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
        parts
    }

    /// Replaces the paths of stored reply media by `data:` URLs.
    async fn embedded_replies(&self, mut parts: Vec<ContentPart>) -> Result<Vec<ContentPart>, SampleFailure> {
        let run = self.run.clone();
        let read = move || {
            for part in &mut parts {
                if let ContentPart::Media { url, .. } = part
                    && let Some(bytes) = MediaFolder::read(&run, url)
                {
                    *url = data_url_of(&bytes);
                }
            }
            parts
        };
        let failed =
            |error| SampleFailure::of_plugin("internal", format!("the media could not be read: {error}"));
        tokio::task::spawn_blocking(read).await.map_err(failed)
    }

    /// Replaces local media by `data:` URLs.
    async fn embedded(&self, parts: Vec<ContentPart>) -> Result<Vec<ContentPart>, SampleFailure> {
        let (store, scope) = (Arc::clone(&self.store), SampleScope::current());
        let embed = move || {
            in_sample_scope(scope, || {
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

/// Adds the media that a judge was shown to its recorded prompts, by their paths. `accepts` are the kinds that its backend
/// accepts.
pub(crate) fn add_shown_media(
    prompts: &mut [Vec<Message>],
    result: &SampleResult,
    accepts: impl Fn(MediaKind) -> bool,
) {
    let is_accepted = |part: &ContentPart| matches!(part, ContentPart::Media { kind, .. } if accepts(*kind));
    let mut of_sample = media_of(&result.sample);
    let mut of_reply = media_of_reply(&result.model_output);
    of_sample.retain(is_accepted);
    of_reply.retain(is_accepted);
    place(prompts.iter_mut(), of_sample, of_reply);
}

/// Puts media, with their labels, before the text of the last user message of each prompt.
fn place<'m>(
    prompts: impl Iterator<Item = &'m mut Vec<Message>>,
    of_sample: Vec<ContentPart>,
    of_reply: Vec<ContentPart>,
) {
    let mut parts = Vec::with_capacity(of_sample.len() + of_reply.len() + 2);
    if !of_sample.is_empty() && !of_reply.is_empty() {
        parts.push(ContentPart::text(QUESTION_LABEL));
    }
    parts.extend(of_sample);
    if !of_reply.is_empty() {
        parts.push(ContentPart::text(ANSWER_LABEL));
        parts.extend(of_reply);
    }
    if parts.is_empty() {
        return;
    }
    for messages in prompts {
        if let Some(last) = messages.iter_mut().rfind(|message| message.role == Role::User) {
            last.content.splice(0..0, parts.iter().cloned());
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

/// Returns the media of a reply, in order.
fn media_of_reply(output: &OutputView) -> Vec<ContentPart> {
    let part = |part: ReplyPart<'_>| ContentPart::Media {
        kind: part.kind,
        url: part.url.to_owned(),
        options: LazyObject::default(),
        extra: LazyObject::default(),
    };
    parts_of(output).map(part).collect()
}
