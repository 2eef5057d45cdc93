//! The log of a model's process, passed on to this one's.

use super::captured_log::LOG_TARGET;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tracing::Level;

/// Lines that are kept for the case of a crash.
const MOST_LINES: usize = 8;

/// Longest line that is read at once, in bytes.
const MOST_BYTES: u64 = 16 << 10;

/// Reads a log on a thread of its own.
pub struct Relay {
    last: Arc<Mutex<VecDeque<String>>>,
    thread: JoinHandle<()>,
}

impl Relay {
    /// Starts to read.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(stderr: ChildStderr) -> std::io::Result<Relay> {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last);
        let read = move || {
            let mut reader = BufReader::new(stderr);
            let mut line = Vec::new();
            loop {
                line.clear();
                match reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let Some((level, message)) = read_line(&String::from_utf8_lossy(&line)) else { continue };
                pass_on(level, &message);
                if level <= Level::WARN {
                    let mut last = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if last.len() == MOST_LINES {
                        last.pop_front();
                    }
                    last.push_back(message);
                }
            }
        };
        let thread = std::thread::Builder::new().name("llama.cpp log".to_owned()).spawn(read)?;
        Ok(Relay { last, thread })
    }

    /// Waits for the end of the log and gives its last warnings and errors.
    pub fn finish(self) -> Vec<String> {
        // A panic of the thread loses lines of a log, and nothing else.
        let _ = self.thread.join();
        self.last.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

/// The level and the text of a line: of a record in JSON, else the line as it is, which is what a check that
/// fails prints.
fn read_line(line: &str) -> Option<(Level, String)> {
    let line = line.trim();
    let record = serde_json::from_str::<Value>(line).ok();
    let text = |pointer| record.as_ref().and_then(|record| record.pointer(pointer)).and_then(Value::as_str);
    let (level, message) = match (text("/level"), text("/fields/message")) {
        (Some(level), Some(message)) => (level.parse().unwrap_or(Level::INFO), message.trim()),
        _ => (Level::WARN, line),
    };
    (!message.is_empty())
        .then(|| (level, message.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()))
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
        for (line, expected) in [
            (record, Some((Level::ERROR, "no memory".to_owned()))),
            ("GGML_ASSERT(x) failed\n", Some((Level::WARN, "GGML_ASSERT(x) failed".to_owned()))),
            ("{}", Some((Level::WARN, "{}".to_owned()))),
            ("\n", None),
        ] {
            assert_eq!(read_line(line), expected, "{line}");
        }
    }
}
