//! The only writer of a journal.

use super::appender::{Appender, Store as _};
use super::index::{IndexBuilder, JournalIndex};
use super::line::ChecksumSeed;
use super::scan::ScanResult;
use super::sealer::Sealer;
use super::segment_names::{is_sealed, sealed_path, segment_name};
use super::segments::segment_paths;
use super::{DurableCount, Header, JournalEntry, durable_count, durable_lines};
use crate::atomic_file::sync_folder;
use crate::folder_guard::{FolderGuard, JournalFile};
use crate::format::{JOURNAL_FOLDER, SET_ASIDE_BEGIN};
use crate::{RecordError, RunFolder};
use gage_core::foreign_file;
use serde::Serialize;
use std::borrow::Borrow;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size at which a segment is sealed and the next one begins, in bytes.
const SEGMENT_BYTES: u64 = 16 << 20;

/// Minimum size of the last segment to be sealed when the run ends, in bytes. A smaller one stays readable as text.
const MIN_SEALED_BYTES: u64 = 1 << 20;

/// Appends records to the journal of a run.
#[derive(Debug)]
pub struct JournalWriter {
    run_id: String,
    /// The segment that grows, and its number.
    path: PathBuf,
    number: u64,
    appender: Appender<File>,
    recorded: DurableCount,
    guard: FolderGuard,
    /// Number of lines in all files, now and before the first entry of this writer.
    lines: u64,
    lines_before: u64,
    sealer: Sealer,
    /// Length at which a segment is full, and length of this segment at which the next one begins. They differ
    /// if that has failed.
    segment_bytes: u64,
    next_segment_at: u64,
    storage: Option<Arc<dyn Storage>>,
}

/// Storage below a journal. A simulation lets it fail.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Called before lines are appended.
    ///
    /// # Errors
    /// If the append is to fail.
    fn before_append(&self) -> io::Result<()>;
}

/// A journal that is ready for writing, and its previous content.
#[derive(Debug)]
pub struct OpenedJournal {
    /// The writer.
    pub writer: JournalWriter,
    /// Index of the existing records.
    pub index: JournalIndex,
    /// Number of bytes in the torn end that was cut off. They belong to samples that were never acknowledged.
    pub dropped_bytes: u64,
    /// Copy of that end, if it contains complete lines. A killed process never leaves such lines.
    pub quarantined: Option<QuarantinedTail>,
}

/// Foreign lines at the end of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedTail {
    /// The journal file that contained them.
    pub journal: PathBuf,
    /// The file that holds them now.
    pub path: PathBuf,
    /// Number of complete lines.
    pub lines: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl JournalWriter {
    /// Opens or creates the journal of a run, and cuts off a torn end. Complete lines in the torn end are
    /// first copied to a file beside the journal.
    ///
    /// # Errors
    /// If the folder was opened for reading. If a line before the end is damaged or missing (the error names
    /// it), or the journal has fewer lines than the run recorded. If it belongs to another run or has a newer
    /// format, or the file system refuses.
    pub fn open(folder: &RunFolder) -> Result<OpenedJournal, RecordError> {
        folder.check_writable()?;
        let recorded = durable_lines(folder)?;
        let mut builder = IndexBuilder::new(folder.run_id());
        let mut paths = segment_paths(folder.path())?;
        if paths.is_empty() {
            durable_count::check(folder, recorded, 0)?;
        }
        // A sealed segment is not appended to.
        let last = paths.pop_if(|path| !is_sealed(path));
        let number = paths.len() as u64 + 1;
        let path = last.unwrap_or_else(|| folder.path_of(JOURNAL_FOLDER).join(segment_name(number)));
        let unsealed: Vec<PathBuf> = paths.iter().filter(|path| !is_sealed(path)).cloned().collect();
        builder.add_segments(paths)?;
        let mut file = open_to_write(&path)?;
        sync_folder(&folder.path_of(JOURNAL_FOLDER))?;
        let end = builder.add_last_segment(path.clone())?;
        durable_count::check(folder, recorded, builder.lines)?;
        let quarantined = if end.torn_lines > 0 { Some(quarantine(&path, &end)?) } else { None };
        file.cut(end.good_bytes).map_err(|source| RecordError::io("cut the torn end of", &path, source))?;
        let (good_bytes, own_lines) = (end.good_bytes, builder.last_lines);
        let lines = builder.lines;
        let recorded = DurableCount::begin(folder.path(), folder.run_id(), lines)?;
        let appender = Appender::new(file, good_bytes);
        let guard = FolderGuard::new(folder.path(), journal_file(&path, &appender), recorded.file());
        let mut writer = JournalWriter {
            run_id: folder.run_id().to_owned(),
            path,
            number,
            appender,
            recorded,
            guard,
            lines,
            lines_before: lines,
            sealer: Sealer::default(),
            segment_bytes: SEGMENT_BYTES,
            next_segment_at: SEGMENT_BYTES,
            storage: None,
        };
        writer.remove_interrupted_seal()?;
        if good_bytes == 0 {
            writer.append([Header::new(folder.run_id())])?;
            writer.lines_before = writer.lines;
        }
        writer.appender.begin_records(ChecksumSeed::of_run(folder.run_id()), own_lines.max(1) + 1);
        unsealed.into_iter().for_each(|path| writer.sealer.add(path));
        Ok(OpenedJournal { writer, index: builder.finish(), dropped_bytes: end.torn_bytes, quarantined })
    }

    /// Appends entries. On success, they survive a power loss. On failure, none of them is in the journal,
    /// and the next call starts where this one did.
    ///
    /// # Errors
    /// If the disk is full or fails, or a record is larger than 256 MiB or nested deeper than 120 levels.
    pub fn append_batch<'e, E: Borrow<JournalEntry<'e>> + Serialize>(
        &mut self,
        entries: impl IntoIterator<Item = E>,
    ) -> Result<(), RecordError> {
        self.append(entries)?;
        if self.appender.length() >= self.next_segment_at {
            self.begin_segment();
        }
        Ok(())
    }

    /// Sets the storage that may let appends fail.
    pub fn set_storage(&mut self, storage: Option<Arc<dyn Storage>>) {
        self.storage = storage;
    }

    /// Checks that the run folder, the journal and its count are in their places. Costs a few system calls.
    ///
    /// # Errors
    /// If one of them was deleted or replaced, or the journal was shortened. A folder that was moved still receives records, and is no error.
    pub fn check_folder(&self) -> Result<(), RecordError> {
        self.guard.check(journal_file(&self.path, &self.appender), self.recorded.file())
    }

    /// Does the same, and checks that the folder was not moved, so that files can be created in it by path.
    ///
    /// # Errors
    /// If the folder or the journal was deleted, replaced or moved.
    pub fn check_in_place(&self) -> Result<(), RecordError> {
        self.guard.check_in_place(journal_file(&self.path, &self.appender), self.recorded.file())
    }

    /// Returns whether entries were appended since the journal was opened.
    pub fn has_grown(&self) -> bool {
        self.lines > self.lines_before
    }

    /// Seals what is not sealed, unless it is short. Call it before the digests of the journal are taken.
    ///
    /// # Errors
    /// If the file system refuses. No record is lost: a segment that is not sealed is read as it is.
    pub fn finish(mut self) -> Result<(), RecordError> {
        if self.appender.length() >= MIN_SEALED_BYTES {
            self.sealer.add(self.path.clone());
        }
        self.sealer.finish()
    }

    /// Begins the next segment, and has the one before it sealed. If that fails, the current one grows on.
    fn begin_segment(&mut self) {
        let number = self.number + 1;
        let path = self.path.with_file_name(segment_name(number));
        match create_segment(&path, &self.run_id) {
            Ok(appender) => {
                self.appender = appender;
                self.sealer.add(std::mem::replace(&mut self.path, path));
                self.number = number;
                self.next_segment_at = self.segment_bytes;
                self.lines += 1;
                self.recorded.store(self.lines);
            }
            Err(_) => {
                // Unless it is removed, it is an empty segment at the end, which the next attempt fills.
                let _ = std::fs::remove_file(&path);
                self.next_segment_at += self.segment_bytes;
            }
        }
    }

    /// Removes the sealed form of the segment that is appended to. A killed process may have left both.
    fn remove_interrupted_seal(&self) -> Result<(), RecordError> {
        let sealed = sealed_path(&self.path);
        match std::fs::remove_file(&sealed) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(RecordError::io("delete", &sealed, error))
            }
            _ => Ok(()),
        }
    }

    fn append<T: Serialize>(&mut self, values: impl IntoIterator<Item = T>) -> Result<(), RecordError> {
        let allowed = self.storage.as_ref().map_or(Ok(()), |storage| storage.before_append());
        let appended = allowed.and_then(|()| self.appender.append(values));
        self.lines += appended.map_err(|source| RecordError::Append { path: self.path.clone(), source })?;
        self.recorded.store(self.lines);
        Ok(())
    }
}

fn journal_file<'j>(path: &'j Path, appender: &'j Appender<File>) -> JournalFile<'j> {
    JournalFile { path, file: appender.store(), bytes: appender.length() }
}

/// Moves the bytes after the good part of a journal file to a new durable file beside it.
fn quarantine(journal: &Path, end: &ScanResult) -> Result<QuarantinedTail, RecordError> {
    let failed = |source| RecordError::io("set aside the bytes after", journal, source);
    let mut from = File::open(journal).map_err(failed)?;
    from.seek(SeekFrom::Start(end.good_bytes)).map_err(failed)?;
    let stem = journal.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut number = 1_u64;
    loop {
        let path = journal.with_file_name(format!("{SET_ASIDE_BEGIN}{stem}-{number}"));
        let mut file = match OpenOptions::new().create_new(true).write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                continue;
            }
            opened => opened.map_err(failed)?,
        };
        if let Err(error) = io::copy(&mut from, &mut file).and_then(|_| file.sync_all()) {
            // A partial copy is useless, and the original is still in place.
            let _ = std::fs::remove_file(&path);
            return Err(failed(error));
        }
        sync_folder(journal.parent().unwrap_or(Path::new(".")))?;
        let (lines, bytes) = (end.torn_lines, end.torn_bytes);
        return Ok(QuarantinedTail { journal: journal.to_owned(), path, lines, bytes });
    }
}

/// Creates a segment that has only its header.
fn create_segment(path: &Path, run_id: &str) -> Result<Appender<File>, RecordError> {
    drop(foreign_file::create_anew(path).map_err(|source| RecordError::io("create", path, source))?);
    let file = open_to_write(path)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    let mut appender = Appender::new(file, 0);
    appender.append([Header::new(run_id)]).map_err(|source| RecordError::io("write", path, source))?;
    appender.begin_records(ChecksumSeed::of_run(run_id), 2);
    Ok(appender)
}

/// Opens a file whose end is written. If another program shortens it, it stays shorter than it should be, which the guard of
/// the folder notices. Elsewhere than on Unix, a file that is only appended to could not be cut.
fn open_to_write(path: &Path) -> Result<File, RecordError> {
    let only_appends = cfg!(unix);
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true).append(only_appends);
    foreign_file::open_to_write(path, options).map_err(|source| RecordError::io("open", path, source))
}

#[cfg(test)]
impl JournalWriter {
    /// Appends whole records.
    pub(crate) fn append_whole(&mut self, records: &[crate::SampleRecord]) -> Result<(), RecordError> {
        self.append_batch(records.iter().map(JournalEntry::FinishedWithoutScores))
    }

    /// Makes every segment that has this many bytes a full one.
    pub(crate) fn set_segment_bytes(&mut self, bytes: u64) {
        (self.segment_bytes, self.next_segment_at) = (bytes, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::{Manifest, RunIdentity};
    use gage_recorded_messages::RecordedError as _;
    use serde_json::json;
    use std::fs;

    fn begin(root: &Path) -> RunFolder {
        let folder = RunFolder::create(root, "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        folder
    }

    #[test]
    fn what_was_appended_is_there_when_it_is_opened_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path());
        let mut opened = JournalWriter::open(&folder).unwrap();
        assert_eq!((opened.index.len(), opened.dropped_bytes), (0, 0));
        opened.writer.append_whole(&[record("t", 0, "a"), record("t", 1, "b")]).unwrap();
        opened.writer.append_whole(&[]).unwrap();
        drop(opened);

        let mut opened = JournalWriter::open(&folder).unwrap();
        assert_eq!((opened.index.len(), opened.dropped_bytes), (2, 0));
        opened.writer.append_whole(&[record("t", 2, "c")]).unwrap();
        assert_eq!(JournalIndex::read(&folder).unwrap().len(), 3);
    }

    #[test]
    fn a_record_that_is_too_deep_is_refused_and_the_next_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path());
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        let mut deep = record("t", 0, "a");
        deep.sample = (0..200).fold(json!(1), |inner, _| json!([inner])).into();
        assert!(matches!(writer.append_whole(&[deep]), Err(RecordError::Append { .. })));
        writer.append_whole(&[record("t", 0, "a")]).unwrap();
        assert_eq!(JournalIndex::read(&folder).unwrap().len(), 1);
    }

    #[test]
    fn the_journal_of_another_run_or_of_a_newer_program_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path());
        let path = folder.path_of("journal/000001.jsonl");
        let header = |format: &str, format_version: u32, run_id: &str| {
            let mut line = Vec::new();
            let value = json!({"format": format, "format_version": format_version, "run_id": run_id});
            crate::journal::line::encode(&value, None, Default::default(), &mut line).unwrap();
            line
        };
        let cases = [
            (header("gage-journal", 1, "other"), "line 1: it belongs to run 'other'"),
            (header("gage-journal", 99, "run"), "use a newer gage-host"),
            (header("other", 1, "run"), "line 1: the format is 'other'"),
        ];
        for (line, part) in cases {
            fs::write(&path, line).unwrap();
            let error = JournalWriter::open(&folder).unwrap_err().recorded("run_folders");
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_record_of_another_run_is_no_record_of_this_one() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path());
        JournalWriter::open(&folder).unwrap().writer.append_whole(&[record("t", 0, "a")]).unwrap();
        let path = folder.path_of("journal/000001.jsonl");
        let own = fs::read(&path).unwrap();
        let mut strayed = Vec::new();
        crate::journal::line::encode(
            &record("t", 1, "b"),
            Some(2),
            ChecksumSeed::of_run("other"),
            &mut strayed,
        )
        .unwrap();
        // After the last good line, a foreign line is damage as it is before one: it is complete, so nothing
        // was torn. Only a partial line is cut off as a torn end.
        let header = own.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for (bytes, line) in
            [([&own[..], &strayed].concat(), 3), ([&own[..header], &strayed, &own[header..]].concat(), 2)]
        {
            fs::write(&path, bytes).unwrap();
            let error = JournalWriter::open(&folder).unwrap_err().recorded("run_folders");
            assert!(error.contains(&format!("line {line}: the checksum does not match")), "{error}");
        }
        let part = &strayed[..strayed.len() / 2];
        fs::write(&path, [&own[..], part].concat()).unwrap();
        let opened = JournalWriter::open(&folder).unwrap();
        assert_eq!((opened.index.len(), opened.dropped_bytes), (1, part.len() as u64));
    }

    #[test]
    fn a_torn_header_is_begun_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path());
        fs::write(folder.path_of("journal/000001.jsonl"), b"1234").unwrap();
        let mut opened = JournalWriter::open(&folder).unwrap();
        assert_eq!(opened.dropped_bytes, 4);
        opened.writer.append_whole(&[record("t", 0, "a")]).unwrap();
        assert_eq!(JournalIndex::read(&folder).unwrap().len(), 1);
    }
}
