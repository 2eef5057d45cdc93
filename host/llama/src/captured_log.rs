//! Captures the lines that llama.cpp logs during a call. They also go to the regular log.

use gage_model_protocol::LOG_TARGET;
use parking_lot::Mutex;
use std::sync::Arc;
use tracing::subscriber::with_default;
use tracing::{Dispatch, Event, Level, Subscriber, dispatcher};
use tracing_serde::fields::AsMap as _;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// Maximum number of lines kept.
const MAX_LOG_LINES: usize = 32;

/// Calls a function. Also returns the warnings and errors that llama.cpp logged on this thread during the call.
pub fn captured<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    captured_at(Level::WARN, work)
}

/// Calls a function. Also returns the lines of at least this level that llama.cpp logged on this thread during the call.
pub fn captured_at<T>(level: Level, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    captured_for(Capture::new(level, false), work)
}

/// Like [`captured_at`], but errors of llama.cpp do not go to the regular log. The caller reports them.
pub fn captured_without_errors<T>(level: Level, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    captured_for(Capture::new(level, true), work)
}

fn captured_for<T>(capture: Capture, work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let lines = Arc::clone(&capture.lines);
    let done = with_default(tracing_subscriber::registry().with(capture), work);
    let lines = std::mem::take(&mut *lines.lock());
    (done, lines)
}

/// Subscriber that keeps lines of llama.cpp, and forwards events.
struct Capture {
    /// The least important level that is kept.
    level: Level,
    lines: Arc<Mutex<Vec<String>>>,
    /// True if errors of llama.cpp are not forwarded.
    withholds_errors: bool,
    beside: Dispatch,
}

impl Capture {
    fn new(level: Level, withholds_errors: bool) -> Capture {
        let beside = dispatcher::get_default(Clone::clone);
        Capture { level, lines: Arc::default(), withholds_errors, beside }
    }
}

impl<S: Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let is_of_llama = metadata.target() == LOG_TARGET;
        if is_of_llama && *metadata.level() <= self.level {
            let fields = serde_json::to_value(event.field_map()).unwrap_or_default();
            let message = fields["message"].as_str().unwrap_or_default().trim();
            let mut lines = self.lines.lock();
            if lines.len() < MAX_LOG_LINES && !message.is_empty() {
                lines.push(message.to_owned());
            }
        }
        let is_withheld = self.withholds_errors && is_of_llama && *metadata.level() == Level::ERROR;
        if !is_withheld && self.beside.enabled(metadata) {
            self.beside.event(event);
        }
    }
}
