//! A model on a thread of this process.

use super::load_options::{LlamaCppOpenError, ModelOptions};
use super::model_client::{LoadResult, ModelClient};
use super::runtime::internal;
use super::worker;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use tokio::sync::oneshot;

/// Starts the thread, which ends when the link's outbox is dropped.
///
/// # Errors
/// When no thread can be had.
pub fn start(
    options: ModelOptions,
) -> Result<(Arc<ModelClient>, oneshot::Receiver<LoadResult>), LlamaCppOpenError> {
    let link = Arc::new(ModelClient::default());
    let (outbox, inbox) = channel();
    let (opening, opened) = oneshot::channel();
    {
        let mut state = link.state();
        state.outbox = Some(outbox);
        state.opening = Some(opening);
    }
    let weak = Arc::downgrade(&link);
    let say = move |message| match weak.upgrade() {
        Some(link) => {
            link.on_message(message);
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let weak = Arc::downgrade(&link);
    let run = move || {
        let ended = catch_unwind(AssertUnwindSafe(|| worker::run(options, &inbox, say)));
        if let Some(link) = weak.upgrade() {
            let how = if ended.is_err() { "panicked" } else { "has ended" };
            link.state().fail_all(internal(format!("the thread of the model {how}")));
        }
    };
    std::thread::Builder::new()
        .name("llama.cpp".to_owned())
        .spawn(run)
        .map_err(|error| LlamaCppOpenError::Ended(error.to_string()))?;
    Ok((link, opened))
}
