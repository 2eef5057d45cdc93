//! Forwards the log of a model process to this program's log.

use gage_core::{ResourceShortage, spawn_thread};
use gage_model_protocol::LOG_TARGET;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::ChildStderr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tracing::Level;

/// Number of lines kept in case of a crash.
const MAX_KEPT_LINES: usize = 8;

/// Maximum length of a line that is read at once, in bytes.
const MAX_LINE_BYTES: u64 = 16 << 10;

/// Reader of a log on its own thread.
pub struct LogForwarder {
    last: Arc<Mutex<VecDeque<String>>>,
    thread: JoinHandle<()>,
}

impl LogForwarder {
    /// Starts reading.
    ///
    /// # Errors
    /// If no thread can be created.
    pub fn start(stderr: ChildStderr) -> std::io::Result<LogForwarder> {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last);
        let read = move || {
            let mut reader = BufReader::new(stderr);
            let mut line = Vec::new();
            loop {
                line.clear();
                match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let Some(Line { level, message, is_own }) = read_line(&String::from_utf8_lossy(&line)) else {
                    continue;
                };
                match is_own {
                    true => pass_on_own(level, &message),
                    false => pass_on(level, &message),
                }
                if level <= Level::WARN {
                    let mut last = kept.lock();
                    if last.len() == MAX_KEPT_LINES {
                        last.pop_front();
                    }
                    last.push_back(message);
                }
            }
        };
        let thread = spawn_thread("llama.cpp log", read).map_err(ResourceShortage::report)?;
        Ok(LogForwarder { last, thread })
    }

    /// Waits for the end of the log and returns its last warnings and errors.
    pub fn finish(self) -> Vec<String> {
        // A panic of the thread only loses log lines.
        let _ = self.thread.join();
        self.last.lock().drain(..).collect()
    }

    /// Returns the last warnings and errors so far. The log is forwarded until its end.
    pub fn last_lines(self) -> Vec<String> {
        self.last.lock().iter().cloned().collect()
    }
}

/// A line of a log.
#[derive(Debug, PartialEq)]
struct Line {
    level: Level,
    message: String,
    /// True if the line is from this program, not llama.cpp. It is shown like the program's other messages.
    is_own: bool,
}

/// Parses a line as a JSON record. Other lines, such as those printed by a failed assertion, are kept unchanged.
fn read_line(line: &str) -> Option<Line> {
    let line = line.trim();
    let record = serde_json::from_str::<Value>(line).ok();
    let text = |pointer| record.as_ref().and_then(|record| record.pointer(pointer)).and_then(Value::as_str);
    let is_own = text("/target").is_some_and(|target| target.starts_with("gage_"));
    let (level, message) = match (text("/level"), text("/fields/message")) {
        (Some(level), Some(message)) => (level.parse().unwrap_or(Level::INFO), message.trim()),
        _ => (Level::WARN, line),
    };
    if message.is_empty() {
        return None;
    }
    let mut message = message.to_owned();
    let fields = record.as_ref().and_then(|record| record.pointer("/fields")?.as_object());
    for (key, value) in fields.into_iter().flatten().filter(|(key, _)| is_own && *key != "message") {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        message.push_str(&format!(" {key}={value}"));
    }
    let message = message.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    Some(Line { level, message, is_own })
}

/// Forwards a line as [`pass_on`] does, but as one of this program.
fn pass_on_own(level: Level, message: &str) {
    match level {
        Level::ERROR => tracing::error!("{message}"),
        Level::WARN => tracing::warn!("{message}"),
        Level::INFO => tracing::info!("{message}"),
        Level::DEBUG => tracing::debug!("{message}"),
        Level::TRACE => tracing::trace!("{message}"),
    }
}

fn pass_on(level: Level, message: &str) {
    match level {
        Level::ERROR => tracing::error!(target: LOG_TARGET, "{message}"),
        Level::WARN => tracing::warn!(target: LOG_TARGET, "{message}"),
        Level::INFO => tracing::info!(target: LOG_TARGET, "{message}"),
        Level::DEBUG => tracing::debug!(target: LOG_TARGET, "{message}"),
        Level::TRACE => tracing::trace!(target: LOG_TARGET, "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_their_level_and_other_lines_are_warnings() {
        let record =
            r#"{"timestamp":"x","level":"ERROR","fields":{"message":"no\tmemory "},"target":"llama-cpp-2"}"#;
        let own = r#"{"level":"WARN","fields":{"message":"trying fewer layers","gpu_layers":4,"error":"no\nroom"},
            "target":"gage_llama::load"}"#;
        for (line, expected) in [
            (record, Some((Level::ERROR, "no memory", false))),
            (own, Some((Level::WARN, "trying fewer layers gpu_layers=4 error=no room", true))),
            ("GGML_ASSERT(x) failed\n", Some((Level::WARN, "GGML_ASSERT(x) failed", false))),
            ("{}", Some((Level::WARN, "{}", false))),
            ("\n", None),
        ] {
            let expected =
                expected.map(|(level, message, is_own)| Line { level, message: message.to_owned(), is_own });
            assert_eq!(read_line(line), expected, "{line}");
        }
    }
}
