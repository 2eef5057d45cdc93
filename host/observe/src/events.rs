//! `events.jsonl`: what happened, in order of time. A help for people; nothing rests on it.

use serde::Serialize;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most events that are held back before they are written.
const MOST_HELD_EVENTS: u64 = 64;
/// Most bytes that are held back.
const MOST_HELD_BYTES: usize = 1 << 20;

#[derive(Serialize)]
struct Event<'a> {
    event_id: u64,
    unix_ms: u64,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_id: Option<&'a str>,
    payload: &'a Value,
}

/// Appends events. Never fails the run: what cannot be written is counted, and said once.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    file: File,
    length: u64,
    next_id: u64,
    held: Vec<u8>,
    held_events: u64,
    lost_events: u64,
}

impl EventLog {
    /// Opens a file of events, or begins it; ids go on where they ended.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<EventLog> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(false).read(true).write(true).open(path)?;
        let (next_id, length) = whole_lines(&mut file)?;
        cut(&mut file, length)?;
        Ok(EventLog {
            path: path.to_owned(),
            file,
            length,
            next_id,
            held: Vec::new(),
            held_events: 0,
            lost_events: 0,
        })
    }

    /// Adds an event that happens now.
    pub fn append(&mut self, kind: &str, task_id: Option<&str>, sample_id: Option<&str>, payload: &Value) {
        let event =
            Event { event_id: self.next_id, unix_ms: unix_milliseconds(), kind, task_id, sample_id, payload };
        self.next_id += 1;
        self.held_events += 1;
        let begin = self.held.len();
        match serde_json::to_writer(&mut self.held, &event) {
            Ok(()) => self.held.push(b'\n'),
            Err(error) => {
                self.held.truncate(begin);
                self.held_events -= 1;
                self.lose(1, &error.into());
            }
        }
        if self.held_events >= MOST_HELD_EVENTS || self.held.len() >= MOST_HELD_BYTES {
            self.flush();
        }
    }

    /// Writes what is held back. Does not wait for the disk.
    pub fn flush(&mut self) {
        if self.held.is_empty() {
            return;
        }
        match self.file.write_all(&self.held) {
            Ok(()) => self.length += self.held.len() as u64,
            Err(error) => {
                // Where even this fails, a reader meets half a line.
                let _ = cut(&mut self.file, self.length);
                self.lose(self.held_events, &error);
            }
        }
        self.held.clear();
        self.held_events = 0;
    }

    /// How many events could not be written.
    pub fn lost_events(&self) -> u64 {
        self.lost_events
    }

    fn lose(&mut self, count: u64, error: &io::Error) {
        if self.lost_events == 0 {
            let path = self.path.display();
            tracing::warn!(%path, %error, "events are lost; the run goes on, and its results are not affected");
        }
        self.lost_events += count;
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Number of lines that end, and their length.
fn whole_lines(file: &mut File) -> io::Result<(u64, u64)> {
    let mut buffer = vec![0_u8; 1 << 16];
    let (mut lines, mut whole, mut position) = (0, 0, 0);
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok((lines, whole));
        }
        for (offset, _) in buffer[..length].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            lines += 1;
            whole = position + offset as u64 + 1;
        }
        position += length as u64;
    }
}

fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length)).map(|_| ())
}

fn unix_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn events(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn ids_go_on_and_a_torn_end_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut log = EventLog::open(&path).unwrap();
        log.append("run_started", None, None, &json!({"a": 1}));
        log.append("sample_finished", Some("t"), Some("s"), &Value::Null);
        drop(log);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"event_id\": 2, \"kin");
        fs::write(&path, text).unwrap();

        let mut log = EventLog::open(&path).unwrap();
        log.append("run_resumed", None, None, &json!({}));
        drop(log);
        let events = events(&path);
        let ids: Vec<_> = events.iter().map(|event| event["event_id"].as_u64()).collect();
        assert_eq!(ids, [Some(0), Some(1), Some(2)]);
        assert_eq!(events[0]["payload"], json!({"a": 1}));
        assert_eq!((&events[1]["task_id"], &events[1]["sample_id"]), (&json!("t"), &json!("s")));
        assert!(events[0].get("task_id").is_none());
        assert_eq!(events[2]["kind"], "run_resumed");
    }

    #[test]
    fn many_events_do_not_wait_for_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut log = EventLog::open(&path).unwrap();
        (0..100).for_each(|_| log.append("tick", None, None, &Value::Null));
        assert_eq!(events(&path).len(), 64);
        log.flush();
        assert_eq!((events(&path).len(), log.lost_events()), (100, 0));
    }
}
