//! Notes and labels that people give to the samples of a run, in a file next to the other files of the run.

use crate::refusal::Refusal;
use gage_core::foreign_file::{self, FileLimit};
use gage_record::format::NOTES_FILE;
use gage_record::{TemporaryFile, unix_milliseconds};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Maximum size of the file.
const MAX_NOTES_SIZE: FileLimit = FileLimit::new("a file of notes", 16 << 20);
/// Maximum size of a note, in bytes.
const MAX_NOTE_BYTES: usize = 20_000;
/// Maximum size of the ids of a note, in bytes.
const MAX_IDS_BYTES: usize = 10_000;

/// What a person says about a sample. A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SampleNote {
    task_id: String,
    /// Number of the row in the task's dataset order.
    index: u64,
    sample_id: String,
    /// How right the answer is, from 0 to 1; `None` without a label.
    label: Option<f64>,
    #[serde(default)]
    note: String,
    /// Time of the last change, in milliseconds since 1970, UTC.
    #[serde(default)]
    unix_ms: u64,
}

impl SampleNote {
    /// Returns what is wrong with a note that a page has sent, if anything.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.label.is_some_and(|label| !(0.0..=1.0).contains(&label)) {
            return Some("the label must be a number from 0 to 1".to_owned());
        }
        if self.note.len() > MAX_NOTE_BYTES {
            return Some(format!("the note must have at most {MAX_NOTE_BYTES} bytes"));
        }
        let has_long_ids = self.task_id.len() + self.sample_id.len() > MAX_IDS_BYTES;
        has_long_ids.then(|| format!("the ids must have at most {MAX_IDS_BYTES} bytes together"))
    }

    fn is_empty(&self) -> bool {
        self.label.is_none() && self.note.is_empty()
    }

    fn is_of_same_sample(&self, other: &SampleNote) -> bool {
        (&self.task_id, self.index, &self.sample_id) == (&other.task_id, other.index, &other.sample_id)
    }
}

/// Reads and writes files of notes, one change at a time.
#[derive(Debug, Default)]
pub(crate) struct NoteFiles(Mutex<()>);

impl NoteFiles {
    /// Returns the notes of a run; none if the file does not exist.
    pub(crate) fn read(&self, folder: &Path) -> Result<Vec<SampleNote>, Refusal> {
        let bytes = match foreign_file::read_below(folder, NOTES_FILE, MAX_NOTES_SIZE) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|error| Refusal::Failed(format!("cannot read {NOTES_FILE}: {error}")))?,
        };
        let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let parse = |(number, line): (usize, &[u8])| {
            serde_json::from_slice(line).map_err(|error| {
                let place = format!("line {} of {NOTES_FILE} is not a note", number + 1);
                Refusal::Failed(format!("{place}: {error}; correct it or move the file away"))
            })
        };
        lines.map(parse).collect()
    }

    /// Saves a note in place of the earlier one of its sample. An empty note removes it. A file that cannot be read stays
    /// as it is.
    pub(crate) fn save(&self, folder: &Path, note: SampleNote) -> Result<(), Refusal> {
        let _one_at_a_time = self.0.lock();
        let mut notes = self.read(folder)?;
        notes.retain(|other| !other.is_of_same_sample(&note));
        if !note.is_empty() {
            notes.push(SampleNote { unix_ms: unix_milliseconds(), ..note });
        }
        let failed =
            |error: &dyn std::fmt::Display| Refusal::Failed(format!("cannot write {NOTES_FILE}: {error}"));
        let mut text = Vec::new();
        for note in &notes {
            serde_json::to_writer(&mut text, note).map_err(|error| failed(&error))?;
            text.push(b'\n');
        }
        if text.len() as u64 > MAX_NOTES_SIZE.max_bytes() {
            return Err(failed(&"the notes of the run are too long together; shorten or remove some"));
        }
        let (temporary, mut file) =
            TemporaryFile::create(&folder.join(NOTES_FILE)).map_err(|error| failed(&error))?;
        file.write_all(&text).map_err(|error| failed(&error))?;
        temporary.put_in_place().map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(index: u64, label: Option<f64>, text: &str) -> SampleNote {
        let (task_id, sample_id) = ("t".to_owned(), format!("s-{index}"));
        SampleNote { task_id, index, sample_id, label, note: text.to_owned(), unix_ms: 0 }
    }

    #[test]
    fn the_last_note_of_a_sample_counts() {
        let folder = tempfile::tempdir().unwrap();
        let files = NoteFiles::default();
        assert!(files.read(folder.path()).unwrap().is_empty());
        for saved in [
            note(0, Some(1.0), ""),
            note(1, None, "why?"),
            note(0, Some(0.0), "wrong\n\"unit\""),
            note(1, None, ""),
        ] {
            files.save(folder.path(), saved).unwrap();
        }
        let notes = files.read(folder.path()).unwrap();
        let kept: Vec<_> = notes.iter().map(|note| (note.index, note.label, note.note.as_str())).collect();
        assert_eq!(kept, [(0, Some(0.0), "wrong\n\"unit\"")]);
        assert!(notes[0].unix_ms > 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_file_that_is_no_list_of_notes_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NOTES_FILE);
        std::fs::write(&path, "{}\nmine").unwrap();
        let refusal = NoteFiles::default().save(folder.path(), note(0, Some(1.0), "")).unwrap_err();
        assert!(refusal.reason().starts_with("line 1 of notes.jsonl is not a note"), "{refusal:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\nmine");
    }

    #[test]
    fn labels_and_sizes_have_limits() {
        assert_eq!(note(0, Some(0.5), "x").problem(), None);
        for (wrong, part) in [
            (note(0, Some(1.5), ""), "from 0 to 1"),
            (note(0, Some(f64::NAN), ""), "from 0 to 1"),
            (note(0, None, &"x".repeat(MAX_NOTE_BYTES + 1)), "20000 bytes"),
            (SampleNote { sample_id: "x".repeat(MAX_IDS_BYTES), ..note(0, None, "") }, "10000 bytes"),
        ] {
            assert!(wrong.problem().is_some_and(|problem| problem.contains(part)), "{part}");
        }
    }
}
