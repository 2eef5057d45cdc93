//! What llama.cpp logs while something is done, beside where its log goes anyway.

use gage_model_protocol::LOG_TARGET;
use parking_lot::Mutex;
use std::fmt::Debug;
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::subscriber::with_default;
use tracing::{Event, Level, Metadata, Subscriber, dispatcher, span};

/// Most lines that are kept.
const MAX_LOG_LINES: usize = 32;

/// Does something, and gives the warnings and errors that llama.cpp logged meanwhile on this thread.
pub fn captured<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let beside = dispatcher::get_default(Clone::clone);
    let done = with_default(Capture { lines: Arc::clone(&lines), beside }, work);
    let lines = std::mem::take(&mut *lines.lock());
    (done, lines)
}

/// Keeps lines and passes everything on.
struct Capture {
    lines: Arc<Mutex<Vec<String>>>,
    beside: dispatcher::Dispatch,
}

impl Subscriber for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_kept(metadata) || self.beside.enabled(metadata)
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        self.beside.new_span(attributes)
    }

    fn record(&self, span: &span::Id, values: &span::Record<'_>) {
        self.beside.record(span, values);
    }

    fn record_follows_from(&self, span: &span::Id, follows: &span::Id) {
        self.beside.record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        if is_kept(event.metadata()) {
            let mut message = Message(String::new());
            event.record(&mut message);
            let mut lines = self.lines.lock();
            if lines.len() < MAX_LOG_LINES && !message.0.is_empty() {
                lines.push(message.0);
            }
        }
        if self.beside.enabled(event.metadata()) {
            self.beside.event(event);
        }
    }

    fn enter(&self, span: &span::Id) {
        self.beside.enter(span);
    }

    fn exit(&self, span: &span::Id) {
        self.beside.exit(span);
    }
}

fn is_kept(metadata: &Metadata<'_>) -> bool {
    metadata.target() == LOG_TARGET && *metadata.level() <= Level::WARN
}

struct Message(String);

impl Visit for Message {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0 = value.trim().to_owned();
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}").trim().to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_and_errors_of_llama_cpp_are_kept_and_nothing_else() {
        let ((), lines) = captured(|| {
            tracing::error!(target: LOG_TARGET, "first");
            tracing::info!(target: LOG_TARGET, "not this");
            tracing::error!("nor that");
            tracing::warn!(target: LOG_TARGET, "second {}", 2);
        });
        assert_eq!(lines, ["first", "second 2"]);
        assert_eq!(captured(|| 1), (1, Vec::new()));
    }
}
