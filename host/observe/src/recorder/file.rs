//! `events.jsonl`: the events in chronological order. For human readers only; nothing depends on it.

use super::Recorder;
use crate::Event;
use gage_core::foreign_file;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Maximum number of buffered bytes.
const MAX_BUFFERED_BYTES: usize = 1 << 18;

/// Appends lines to a file.
#[derive(Debug)]
pub struct FileRecorder {
    path: PathBuf,
    file: File,
    length: u64,
    lines: u64,
    held: Vec<u8>,
    held_events: u64,
    lost_events: u64,
}

impl FileRecorder {
    /// Opens or creates a file of events. Removes an incomplete last line.
    ///
    /// # Errors
    /// When a file operation fails.
    pub fn open(path: &Path) -> io::Result<FileRecorder> {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true);
        let mut file = foreign_file::open_to_write(path, options)?;
        let (lines, length) = whole_lines(&mut file)?;
        cut(&mut file, length)?;
        let path = path.to_owned();
        Ok(FileRecorder { path, file, length, lines, held: Vec::new(), held_events: 0, lost_events: 0 })
    }

    /// Returns the number of lines in the file when it was opened; the IDs continue from there.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Appends the lines of a number of events.
    pub(super) fn append(&mut self, lines: &[u8], events: u64) {
        self.held.extend_from_slice(lines);
        self.held_events += events;
        if self.held.len() >= MAX_BUFFERED_BYTES {
            self.flush();
        }
    }
}

impl Recorder for FileRecorder {
    fn record(&mut self, _event: &Event, line: &[u8]) {
        self.append(line, 1);
    }

    /// Writes the buffered lines. Does not wait for the disk.
    fn flush(&mut self) {
        if self.held.is_empty() {
            return;
        }
        match self.file.write_all(&self.held) {
            Ok(()) => self.length += self.held.len() as u64,
            Err(error) => {
                // If this fails too, readers encounter a partial line.
                let _ = cut(&mut self.file, self.length);
                if self.lost_events == 0 {
                    let path = self.path.display();
                    tracing::warn!(%path, %error, "events are lost; the run goes on, and its results are not affected");
                }
                self.lost_events += self.held_events;
            }
        }
        self.held.clear();
        self.held_events = 0;
    }

    fn finish(&mut self, _by: Instant) -> u64 {
        self.flush();
        self.lost_events
    }
}

impl Drop for FileRecorder {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Returns the number of complete lines, and their length.
fn whole_lines(file: &mut File) -> io::Result<(u64, u64)> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut lines, mut length) = (0, 0);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        lines += 1;
        length += line.len() as u64;
        line.clear();
    }
    Ok((lines, length))
}

fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use serde_json::Value;
    use std::fs;

    #[test]
    fn a_torn_end_is_cut_and_lines_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        fs::write(&path, "{}\n{}\n{\"event_id\": 2, \"kin").unwrap();
        let mut recorder = FileRecorder::open(&path).unwrap();
        assert_eq!(recorder.lines(), 2);
        let event = Event::new("a", Level::Info, Value::Null);
        recorder.record(&event, b"{\"event_id\": 2}\n");
        assert_eq!(recorder.finish(Instant::now()), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n{}\n{\"event_id\": 2}\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn events_lost_to_a_full_disk_are_counted() {
        gage_recorded_messages::record_warnings("observing");
        // The device accepts no data, like a full disk.
        let file = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let path = PathBuf::from("/dev/full");
        let (held, length, lines) = (Vec::new(), 0, 0);
        let mut recorder = FileRecorder { path, file, length, lines, held, held_events: 0, lost_events: 0 };
        (0..3).for_each(|_| recorder.append(b"{}\n", 1));
        recorder.flush();
        recorder.append(b"{}\n", 1);
        assert_eq!(recorder.finish(Instant::now()), 4);
    }
}
