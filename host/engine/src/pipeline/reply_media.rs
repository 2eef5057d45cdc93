//! Media in the replies of models: stored in the run folder, and read again for judges and metrics.

use crate::limits::cancel_token::CancelToken;
use crate::sample::failure::SampleFailure;
use crate::sample::result::SampleResult;
use gage_core::{MediaKind, ModelOutput, Outcome, OutputView};
use gage_data::ReplyMedia;
use gage_record::{MediaFolder, RecordError, RunFolder, Stage};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum size of one medium, in bytes.
const MAX_MEDIA_BYTES: u64 = 256 << 20;

/// Storage of reply media. Shared by all tasks of a run.
pub(crate) struct ReplyMediaStore {
    run: PathBuf,
    folder: MediaFolder,
    stop: CancelToken,
    /// The first error of the file system. It ends the run.
    failure: Mutex<Option<RecordError>>,
    has_warned_of_urls: AtomicBool,
}

/// Reason that the media of a reply were not stored.
enum StoreError {
    /// The reply is damaged.
    Reply(String),
    /// The file system refuses.
    Folder(RecordError),
}

impl ReplyMediaStore {
    pub(crate) fn new(run: &RunFolder, stop: &CancelToken) -> ReplyMediaStore {
        ReplyMediaStore {
            run: run.path().to_owned(),
            folder: MediaFolder::of(run),
            stop: stop.clone(),
            failure: Mutex::default(),
            has_warned_of_urls: AtomicBool::new(false),
        }
    }

    /// Returns the folder of the run.
    pub(crate) fn run(&self) -> &Path {
        &self.run
    }

    /// Returns the error that ended the run, if there was one.
    pub(crate) fn take_failure(&self) -> Option<RecordError> {
        self.failure.lock().take()
    }

    /// Stores the media of a result, and replaces their `data:` URLs by paths in the run folder. `None` if they cannot be
    /// written, which ends the run.
    pub(crate) async fn store(
        self: &Arc<ReplyMediaStore>,
        mut result: Box<SampleResult>,
    ) -> Option<Box<SampleResult>> {
        let OutputView::Read(output) = &mut result.model_output else { return Some(result) };
        if !output.has_media() {
            return Some(result);
        }
        let Some(mut parts) = output.extra.get_mut(ModelOutput::MEDIA_KEY).map(Value::take) else {
            return Some(result);
        };
        let store = Arc::clone(self);
        let stored = tokio::task::spawn_blocking(move || {
            let all = parts.as_array_mut().into_iter().flatten();
            all.map(|part| store.store_part(part)).collect::<Result<Vec<()>, StoreError>>().map(|_| parts)
        });
        match stored.await {
            Ok(Ok(parts)) => {
                if let OutputView::Read(output) = &mut result.model_output {
                    output.extra.insert(ModelOutput::MEDIA_KEY.to_owned(), parts);
                }
                Some(result)
            }
            Ok(Err(StoreError::Folder(error))) => {
                self.failure.lock().get_or_insert(error);
                self.stop.cancel();
                None
            }
            Ok(Err(StoreError::Reply(message))) => Some(failed(result, message)),
            Err(error) => {
                Some(failed(result, format!("the media of the reply could not be stored: {error}")))
            }
        }
    }

    /// Stores one part.
    fn store_part(&self, part: &mut Value) -> Result<(), StoreError> {
        let Some(kind) = part.get("type").and_then(Value::as_str).map(str::to_owned) else { return Ok(()) };
        let url =
            part.get(&kind).and_then(|inner| inner.get("url")).and_then(Value::as_str).unwrap_or_default();
        if !url.starts_with("data:") {
            if !self.has_warned_of_urls.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "a reply names its media by URL; they are recorded as URLs, and not fetched. Ask the server for \
                     base64 to store them in the run folder"
                );
            }
            return Ok(());
        }
        let media = ReplyMedia::of_data_url(url, MAX_MEDIA_BYTES).map_err(|error| {
            StoreError::Reply(format!("the media of the reply are damaged: {}", error.message))
        })?;
        let (path, digest) = self.folder.store(&media.bytes, media.extension).map_err(StoreError::Folder)?;
        *part = json!({
            "type": kind,
            kind: {"url": path},
            "media_type": media.media_type,
            "bytes": media.bytes.len(),
            "digest": digest.to_string(),
        });
        Ok(())
    }
}

/// One medium of a reply.
pub(crate) struct ReplyPart<'o> {
    pub(crate) kind: MediaKind,
    /// Path in the run folder, or a URL that was not fetched.
    pub(crate) url: &'o str,
    pub(crate) media_type: &'o str,
}

/// Returns the media of a reply, in order.
pub(crate) fn parts_of(output: &OutputView) -> impl Iterator<Item = ReplyPart<'_>> {
    let parts = match output {
        OutputView::Read(output) => output.extra.get(ModelOutput::MEDIA_KEY),
        OutputView::Json(value) => value.get(ModelOutput::MEDIA_KEY),
    };
    parts.and_then(Value::as_array).into_iter().flatten().filter_map(part_of)
}

fn part_of(part: &Value) -> Option<ReplyPart<'_>> {
    let kind = MediaKind::from_type_name(part.get("type")?.as_str()?)?;
    let url = part.get(kind.type_name())?.get("url")?.as_str()?;
    let media_type = part.get("media_type").and_then(Value::as_str).unwrap_or_default();
    Some(ReplyPart { kind, url, media_type })
}

/// Fails a sample whose reply has damaged media.
fn failed(mut result: Box<SampleResult>, message: String) -> Box<SampleResult> {
    if let OutputView::Read(output) = &mut result.model_output {
        output.extra.shift_remove(ModelOutput::MEDIA_KEY);
    }
    result.fail(Stage::Inference, SampleFailure::new(Outcome::BackendError, "protocol", message));
    result
}
