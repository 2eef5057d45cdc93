//! Event feed of a run: the number of samples, its start, and its problems.

use gage_core::foreign_file::{self, FileLimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Number of events kept, the newest ones.
const MAX_KEPT_EVENTS: usize = 40;
/// Maximum number of characters of a message; the report has all.
const MAX_MESSAGE_CHARS: usize = 600;
/// Maximum length of a line; longer ones are skipped.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Reads `events.jsonl` while it is written.
#[derive(Debug, Default)]
pub(super) struct EventFeed {
    path: PathBuf,
    offset: u64,
    /// Number of samples of each task, if known.
    pub(super) totals: HashMap<String, u64>,
    /// Tasks that have started.
    pub(super) begun: HashSet<String>,
    /// Metrics of each task whose figure is the mean of their scores.
    pub(super) means: HashMap<String, Vec<String>>,
    /// Means of the metrics of each task over answers that were scored for display: metric, mean and number of scores.
    pub(super) figures_so_far: HashMap<String, Vec<FigureSoFar>>,
    /// Start of the process that writes now, in milliseconds since 1970.
    pub(super) began: Option<u64>,
    recent: VecDeque<FeedEvent>,
}

/// A mean over answers that were scored for display.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct FigureSoFar {
    pub(super) metric_id: String,
    pub(super) mean: f64,
    pub(super) n: u64,
}

/// An event that is shown to readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FeedEvent {
    unix_ms: u64,
    level: String,
    kind: String,
    task_id: Option<String>,
    sample_id: Option<String>,
    message: String,
}

#[derive(Deserialize)]
struct EventLine {
    #[serde(default)]
    unix_ms: u64,
    kind: String,
    level: String,
    task_id: Option<String>,
    sample_id: Option<String>,
    #[serde(default)]
    payload: Value,
}

impl EventFeed {
    pub(super) fn new(path: PathBuf) -> EventFeed {
        EventFeed { path, ..EventFeed::default() }
    }

    /// Returns the newest events, the newest first.
    pub(super) fn recent(&self) -> Vec<&FeedEvent> {
        self.recent.iter().rev().collect()
    }

    /// Reads the new lines. The file is informational, so unreadable parts are skipped.
    pub(super) fn read_new(&mut self) {
        let (folder, name) = (self.path.parent(), self.path.file_name());
        let opened = foreign_file::open_below(
            folder.unwrap_or(Path::new("")),
            name.unwrap_or_default(),
            FileLimit::NONE,
        );
        let Ok(mut file) = opened else { return };
        let length = file.metadata().map_or(0, |data| data.len());
        if length < self.offset {
            *self = EventFeed::new(std::mem::take(&mut self.path));
        }
        if length == self.offset || file.seek(SeekFrom::Start(self.offset)).is_err() {
            return;
        }
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        // An incomplete line is read later.
        while let Some(length) = next_line(&mut reader, &mut line) {
            self.offset += length;
            if let Ok(line) = serde_json::from_slice::<EventLine>(&line) {
                self.add(line);
            }
        }
    }

    fn add(&mut self, line: EventLine) {
        match (line.kind.as_str(), &line.task_id) {
            ("run_started" | "run_resumed", _) => self.began = Some(line.unix_ms),
            ("task_started", Some(task_id)) => {
                self.begun.insert(task_id.clone());
            }
            ("samples_planned", Some(task_id)) => {
                if let Some(total) = line.payload["total"].as_u64() {
                    self.totals.insert(task_id.clone(), total);
                }
                if let Some(means) = line.payload["means"].as_array() {
                    let names = means.iter().filter_map(Value::as_str).map(str::to_owned);
                    self.means.insert(task_id.clone(), names.collect());
                }
            }
            ("figures_so_far", Some(task_id)) => {
                let figures = serde_json::from_value(line.payload["figures"].clone());
                self.figures_so_far.insert(task_id.clone(), figures.unwrap_or_default());
                return;
            }
            _ => {}
        }
        if line.level == "debug" {
            return;
        }
        let message = message_of(&line.payload);
        let EventLine { unix_ms, kind, level, task_id, sample_id, .. } = line;
        if self.recent.len() == MAX_KEPT_EVENTS {
            self.recent.pop_front();
        }
        self.recent.push_back(FeedEvent { unix_ms, level, kind, task_id, sample_id, message });
    }
}

/// Reads one complete line, or nothing. Returns its length. For an overlong one, `line` is empty.
fn next_line(reader: &mut impl std::io::BufRead, line: &mut Vec<u8>) -> Option<u64> {
    line.clear();
    let mut length = reader.take(MAX_LINE_BYTES).read_until(b'\n', line).ok()? as u64;
    if line.last() == Some(&b'\n') {
        return Some(length);
    }
    if length < MAX_LINE_BYTES {
        return None;
    }
    line.clear();
    loop {
        let buffer = reader.fill_buf().ok().filter(|buffer| !buffer.is_empty())?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        length += used as u64;
        if end.is_some() {
            return Some(length);
        }
    }
}

fn message_of(payload: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let message = text(&payload["message"]).or_else(|| {
        let outcome = text(&payload["outcome"])?.replace('_', " ");
        let why = text(&payload["error"]["message"]);
        Some(why.map_or_else(|| outcome.clone(), |why| format!("{outcome}: {why}")))
    });
    message.unwrap_or_default().chars().take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs::OpenOptions;
    use std::io::Write as _;

    #[test]
    fn whole_lines_are_told_of_once_and_long_ones_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut events = EventFeed::new(path.clone());
        events.read_new();
        let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let mut write = |text: &str| file.write_all(text.as_bytes()).unwrap();
        write(&format!("{}\n", json!({"kind": "run_started", "level": "info", "unix_ms": 7})));
        write(&format!(
            "{}\n",
            json!({"kind": "log", "level": "info", "payload": {"message": "x".repeat(2 << 20)}})
        ));
        write("no json\n");
        write(&format!(
            "{}\n",
            json!({"kind": "samples_planned", "level": "info", "task_id": "t", "payload": {"total": 9}})
        ));
        write("{\"kind\": \"sample_not_scored\", \"level\": \"warn\",");
        events.read_new();
        assert_eq!((events.began, events.totals["t"]), (Some(7), 9));
        assert_eq!(events.recent().len(), 2, "{:?}", events.recent());
        write(" \"payload\": {\"outcome\": \"empty_output\", \"error\": {\"message\": \"<b>\"}}}\n");
        events.read_new();
        events.read_new();
        assert_eq!((events.recent().len(), events.recent()[0].message.as_str()), (3, "empty output: <b>"));
    }
}
