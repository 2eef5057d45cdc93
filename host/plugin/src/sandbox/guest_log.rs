//! The log of a running guest: the budget of its lines, and their destination.

use crate::call_subject::CallSubject;
use crate::limits::Limits;
use crate::plugin_line::{LineReceiver, LineSource, PluginLine};
use tracing::Level;

/// The log of one call.
pub(crate) struct GuestLog {
    plugin: String,
    subject: CallSubject,
    receiver: Option<LineReceiver>,
    lines_left: usize,
    bytes_left: usize,
    dropped: usize,
}

impl GuestLog {
    pub(crate) fn new(
        plugin: &str,
        subject: CallSubject,
        receiver: Option<LineReceiver>,
        limits: &Limits,
    ) -> GuestLog {
        GuestLog {
            plugin: plugin.to_owned(),
            subject,
            receiver,
            lines_left: limits.log_lines,
            bytes_left: limits.log_bytes,
            dropped: 0,
        }
    }

    /// Logs a line, or counts it as left out if the budget is used up.
    pub(crate) fn emit(&mut self, source: LineSource, text: &str) {
        if self.lines_left == 0 || self.bytes_left < text.len() {
            self.dropped += 1;
            return;
        }
        self.lines_left -= 1;
        self.bytes_left -= text.len();
        // A guest must not control a terminal, or write lines that imitate other messages.
        let text = gage_core::printable_line(text);
        match &self.receiver {
            Some(receiver) => {
                let member = self.subject.member.clone();
                receiver.receive(PluginLine { source, member, text: text.into_owned() });
            }
            None => self.trace(source, &text),
        }
    }

    /// Returns whether a line would be kept: by the receiver or the program's log, within the budget.
    pub(crate) fn is_enabled(&self, source: LineSource) -> bool {
        if self.lines_left == 0 || self.bytes_left == 0 {
            return false;
        }
        self.receiver.is_some()
            || match source {
                LineSource::Debug => tracing::enabled!(target: "plugin", Level::DEBUG),
                LineSource::Info | LineSource::Stdout => tracing::enabled!(target: "plugin", Level::INFO),
                LineSource::Warn | LineSource::Stderr => tracing::enabled!(target: "plugin", Level::WARN),
                LineSource::Error => tracing::enabled!(target: "plugin", Level::ERROR),
            }
    }

    fn trace(&self, source: LineSource, text: &str) {
        let plugin = &self.plugin;
        let (member, sample) = (self.subject.member.as_deref(), self.subject.items.as_deref());
        match source {
            LineSource::Debug => tracing::debug!(target: "plugin", %plugin, member, sample, "{text}"),
            LineSource::Info | LineSource::Stdout => {
                tracing::info!(target: "plugin", %plugin, member, sample, "{text}");
            }
            LineSource::Warn | LineSource::Stderr => {
                tracing::warn!(target: "plugin", %plugin, member, sample, "{text}");
            }
            LineSource::Error => tracing::error!(target: "plugin", %plugin, member, sample, "{text}"),
        }
    }

    /// Reports the number of lines left out.
    pub(crate) fn finish(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        match &self.receiver {
            _ if dropped == 0 => {}
            Some(receiver) => receiver.receive(PluginLine {
                source: LineSource::Warn,
                member: self.subject.member.clone(),
                text: format!("log lines left out: {dropped}"),
            }),
            None => {
                let plugin = &self.plugin;
                tracing::warn!(target: "plugin", %plugin, dropped, "log lines left out");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;

    #[test]
    fn lines_beyond_the_budget_are_counted() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let receiver = LineReceiver::new(move |line: PluginLine| {
            kept.lock().push(format!("{} {:?} {}", line.source.name(), line.member, line.text));
        });
        let limits = Limits { log_lines: 2, ..Limits::default() };
        let mut log = GuestLog::new("p", CallSubject::of_member("m"), Some(receiver), &limits);
        assert!(log.is_enabled(LineSource::Debug));
        for text in ["one", "t\u{1b}[31mwo\nerror: x", "three", "four"] {
            log.emit(LineSource::Stdout, text);
        }
        assert!(!log.is_enabled(LineSource::Error), "the budget is used up");
        log.finish();
        log.finish();
        let expected = [
            "stdout Some(\"m\") one",
            "stdout Some(\"m\") t\\u{1b}[31mwo\\nerror: x",
            "warn Some(\"m\") log lines left out: 2",
        ];
        assert_eq!(*lines.lock(), expected);
    }
}
