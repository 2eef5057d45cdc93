//! `journal/recorded`: a lower bound of the number of durable lines. It distinguishes a journal that is
//! missing, empty or truncated from one that never held more.
//!
//! The file has two slots, a page apart, each with one line in the journal's format, which also holds the id of the
//! journal. After each synced batch, the number goes into the slot with the smaller number. A write that fails
//! halfway thus leaves the other slot whole. The larger valid number counts. Only the start and the end of a run
//! sync the file. After a power loss it may therefore hold a smaller number than the journal has lines, never a
//! larger one.

use super::check_journal_id;
use super::line::{self, ChecksumSeed};
use crate::JournalId;
use crate::atomic_file::sync_folder;
use crate::error::JOURNAL_REMEDY;
use crate::format::{JOURNAL_FOLDER, RECORDED_PATH};
use crate::run_files::read_run_file;
use crate::{RecordError, RunFolder};
use gage_core::foreign_file;
use serde::Deserialize;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Number of reads before the file counts as damaged: another process may be in the middle of a write.
const READ_ATTEMPTS: usize = 8;

/// Offsets of the two slots, in bytes.
const SLOT_OFFSETS: [usize; 2] = [0, 4096];

#[derive(Deserialize)]
struct CountLine {
    journal_id: JournalId,
    lines: u64,
}

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct DurableCount {
    file: File,
    journal_id: JournalId,
    /// Slot that is written next.
    next_slot: usize,
}

impl DurableCount {
    /// Writes the number of lines to both slots, creates the file if needed, and syncs it.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(crate) fn begin(
        folder: &Path,
        journal_id: JournalId,
        lines: u64,
    ) -> Result<DurableCount, RecordError> {
        let path = path_in(folder);
        let failed = |source| RecordError::io("write", &path, source);
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let file = foreign_file::open_to_write(&path, options).map_err(failed)?;
        let mut recorded = DurableCount { file, journal_id, next_slot: 0 };
        recorded.write_both(lines).map_err(failed)?;
        sync_folder(&folder.join(JOURNAL_FOLDER))?;
        Ok(recorded)
    }

    /// Stores the number of lines in the journal. If that fails, the file keeps a smaller number, which is
    /// still a lower bound. The next call writes to the same slot.
    pub(super) fn store(&mut self, lines: u64) {
        let _ = self.write_next(lines);
    }

    /// Returns the open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    fn write_both(&mut self, lines: u64) -> io::Result<()> {
        self.write_next(lines)?;
        // The two slots are never half written at the same time.
        self.file.sync_data()?;
        self.write_next(lines)?;
        let end = self.file.stream_position()?;
        self.file.set_len(end)?;
        self.file.sync_all()
    }

    fn write_next(&mut self, lines: u64) -> io::Result<()> {
        let json = format!("{{\"journal_id\":\"{}\",\"lines\":{lines:>20}}}", self.journal_id);
        let line = line::framed(json.as_bytes(), ChecksumSeed::NONE);
        let offset = SLOT_OFFSETS[self.next_slot];
        self.file.seek(SeekFrom::Start(offset as u64))?;
        self.file.write_all(&line)?;
        self.next_slot = 1 - self.next_slot;
        Ok(())
    }
}

/// Returns the valid slot with the larger number.
fn decode(bytes: &[u8]) -> Result<CountLine, &'static str> {
    let slots = SLOT_OFFSETS.map(|offset| {
        let slot = bytes.get(offset..).unwrap_or_default();
        let end = slot.iter().position(|byte| *byte == b'\n').map_or(slot.len(), |end| end + 1);
        let json = line::decode(&slot[..end], ChecksumSeed::NONE)?;
        serde_json::from_slice::<CountLine>(json).map_err(|_| "it has no number of lines")
    });
    match slots {
        [Ok(first), Ok(second)] => Ok(if first.lines < second.lines { second } else { first }),
        [Ok(one), Err(_)] | [Err(_), Ok(one)] => Ok(one),
        [Err(reason), Err(_)] => Err(reason),
    }
}

/// Returns the lower bound of the number of lines in a journal.
///
/// # Errors
/// If the file is missing, belongs to another journal, or cannot be read.
pub(crate) fn durable_lines(folder: &RunFolder) -> Result<u64, RecordError> {
    let path = path_in(folder.path());
    let mut reason = "";
    for _ in 0..READ_ATTEMPTS {
        let bytes = match read_run_file(folder.path(), RECORDED_PATH) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let reason =
                    format!("it is gone, and nothing says how much the run had recorded; {JOURNAL_REMEDY}");
                return Err(RecordError::invalid(&path, reason));
            }
            read => read.map_err(|source| RecordError::io("read", &path, source))?,
        };
        match decode(&bytes) {
            Ok(count) => {
                return check_journal_id(&path, count.journal_id, folder.journal_id()).map(|()| count.lines);
            }
            Err(wrong) => reason = wrong,
        }
        std::thread::yield_now();
    }
    let reason = format!("{reason}; {JOURNAL_REMEDY}");
    Err(RecordError::invalid(&path, reason))
}

/// Rejects a journal with fewer lines than were recorded. Missing answers would otherwise be requested again.
pub(super) fn check(folder: &RunFolder, recorded: u64, found: u64) -> Result<(), RecordError> {
    match found < recorded {
        true => Err(RecordError::invalid(
            &folder.path_of(JOURNAL_FOLDER),
            format!(
                "it has {found} whole lines, and the run had recorded {recorded}: what it has answered is gone from the end; \
                 {JOURNAL_REMEDY}"
            ),
        )),
        false => Ok(()),
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join(RECORDED_PATH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::{JournalIndex, JournalTail, JournalWriter, Manifest, RunIdentity};
    use gage_recorded_messages::RecordedError as _;
    use std::fs;

    /// A run that was killed after four records.
    fn killed() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        for index in 0..4 {
            writer.append_whole(&[record("t", index, "a")]).unwrap();
        }
        let path = folder.path_of("journal/000001.jsonl");
        (root, path)
    }

    /// The error of resuming a run, which is also the error of reading it.
    fn refused(root: &Path) -> String {
        let gone_on =
            RunFolder::resume(root, "run").and_then(|folder| JournalWriter::open(&folder).map(|_| ()));
        let read = RunFolder::open_read(&root.join("run")).and_then(|folder| JournalIndex::read(&folder));
        let error = gone_on.unwrap_err().recorded("run_folders");
        assert_eq!(read.unwrap_err().recorded("run_folders"), error);
        error
    }

    #[test]
    fn what_is_gone_of_a_journal_is_told() {
        let (root, path) = killed();
        let whole = fs::read(&path).unwrap();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for (case, left, part) in [
            (
                "the first record",
                [0, 2, 3, 4].as_slice(),
                "line 2: it was written as line 3, so that line 2 is gone",
            ),
            (
                "two in the middle",
                &[0, 1, 4],
                "line 3: it was written as line 5, so that lines from 3 to 4 are gone",
            ),
            ("two have changed places", &[0, 1, 3, 2, 4], "line 3: it was written as line 4"),
            (
                "one is there twice",
                &[0, 1, 1, 2, 3, 4],
                "line 3: it was written as line 2, so that lines were moved",
            ),
            ("the last", &[0, 1, 2, 3], "it has 4 whole lines, and the run had recorded 5"),
            ("all but the header", &[0], "it has 1 whole lines, and the run had recorded 5"),
            ("all", &[], "it has 0 whole lines, and the run had recorded 5"),
        ] {
            let bytes: Vec<u8> = left.iter().flat_map(|number| lines[*number]).copied().collect();
            fs::write(&path, &bytes).unwrap();
            let error = refused(root.path());
            assert!(error.contains(part), "{case}: {error}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{case}: it was written to");
        }
        fs::remove_file(&path).unwrap();
        let error = refused(root.path());
        assert!(error.contains("it has 0 whole lines, and the run had recorded 5"), "{error}");
        assert!(!path.exists());
        fs::write(&path, &whole).unwrap();
        let recorded = root.path().join("run/journal/recorded");
        let count = fs::read_to_string(&recorded).unwrap();
        fs::write(&recorded, count.replace("lines", "files")).unwrap();
        assert!(refused(root.path()).contains("recorded cannot be used: the checksum does not match"));
        fs::remove_file(&recorded).unwrap();
        assert!(refused(root.path()).contains("recorded cannot be used: it is gone"));
        fs::remove_dir_all(root.path().join("run/journal")).unwrap();
        let error = RunFolder::resume(root.path(), "run").unwrap_err().recorded("run_folders");
        assert!(error.contains("recorded cannot be used: it is gone"), "{error}");
    }

    /// A write that stops halfway, and a flipped bit: if one slot is damaged, the other is read.
    #[test]
    fn a_damaged_slot_leaves_the_other_readable() {
        let (root, _) = killed();
        let path = root.path().join("run/journal/recorded");
        let whole = fs::read(&path).unwrap();
        let read = || {
            let folder = RunFolder::resume(root.path(), "run").unwrap();
            JournalWriter::open(&folder).unwrap().index.len()
        };
        let slot_bytes = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for offset in SLOT_OFFSETS {
            for byte in offset..offset + slot_bytes {
                for bit in 0..8 {
                    let mut flipped = whole.clone();
                    flipped[byte] ^= 1 << bit;
                    fs::write(&path, &flipped).unwrap();
                    assert_eq!(read(), 4, "byte {byte}, bit {bit}");
                }
                let mut halved = whole.clone();
                halved[byte..offset + slot_bytes].fill(0);
                fs::write(&path, &halved).unwrap();
                assert_eq!(read(), 4, "zeros from byte {byte}");
            }
        }
    }

    /// A full disk leaves a number that is too small, never none.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_failed_write_keeps_the_last_number() {
        let (root, _) = killed();
        let folder = RunFolder::resume(root.path(), "run").unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut recorded = DurableCount { file: full, journal_id: folder.journal_id(), next_slot: 1 };
        recorded.store(6);
        assert_eq!(recorded.next_slot, 1);
        assert_eq!(durable_lines(&folder).unwrap(), 5);
    }

    #[test]
    fn more_than_was_noted_is_no_harm() {
        let (root, _) = killed();
        let folder = RunFolder::resume(root.path(), "run").unwrap();
        DurableCount::begin(folder.path(), folder.journal_id(), 3).unwrap();
        let opened = JournalWriter::open(&folder).unwrap();
        assert_eq!(opened.index.len(), 4);
        assert_eq!(durable_lines(&folder).unwrap(), 5);
    }

    #[test]
    fn a_file_between_two_that_is_gone_is_told() {
        let (root, path) = killed();
        fs::rename(&path, path.with_file_name("000002.jsonl")).unwrap();
        let error = refused(root.path());
        assert!(
            error.contains("000001.jsonl or 000001.jsonl.zst, which comes before it, is gone"),
            "{error}"
        );
    }

    #[test]
    fn those_who_follow_a_journal_see_that_a_line_is_gone() {
        let (root, path) = killed();
        let folder = RunFolder::resume(root.path(), "run").unwrap();
        let mut tail = JournalTail::new(folder.path(), folder.journal_id());
        tail.read_new(|_| ()).unwrap();
        JournalWriter::open(&folder)
            .unwrap()
            .writer
            .append_whole(&[record("t", 8, "a"), record("t", 9, "a")])
            .unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        fs::write(&path, [&lines[..5], &lines[6..]].concat().concat()).unwrap();
        let error = tail.read_new(|_| ()).unwrap_err().recorded("run_folders");
        assert!(error.contains("line 6: it was written as line 7"), "{error}");
    }
}
