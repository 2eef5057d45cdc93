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
    /// First line of each segment.
    header: Header,
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

/// A journal that was read, to be continued. Nothing of it was changed or created yet.
#[derive(Debug)]
pub struct ReadJournal<'f> {
    folder: &'f RunFolder,
    index: JournalIndex,
    /// The segment that will grow, and its number. It may not exist yet.
    path: PathBuf,
    number: u64,
    /// Good and torn parts of that segment, and the number of its lines.
    end: ScanResult,
    own_lines: u64,
    /// Earlier segments that are not sealed.
    unsealed: Vec<PathBuf>,
    /// Number of lines in all files.
    lines: u64,
}

impl ReadJournal<'_> {
    /// Returns the index of the existing records.
    pub fn index(&self) -> &JournalIndex {
        &self.index
    }

    /// Opens the journal for writing, or creates it, and cuts off a torn end. Complete lines in the torn end are first
    /// copied to a file beside the journal. A segment may be created that the manifest of an ended run does not name, so
    /// the manifest of a run that is continued is reopened before.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn begin(self) -> Result<OpenedJournal, RecordError> {
        let ReadJournal { folder, index, path, number, end, own_lines, unsealed, lines } = self;
        let mut file = open_to_write(&path)?;
        sync_folder(&folder.path_of(JOURNAL_FOLDER))?;
        let quarantined = if end.torn_lines > 0 { Some(quarantine(&path, &end)?) } else { None };
        file.cut(end.good_bytes).map_err(|source| RecordError::io("cut the torn end of", &path, source))?;
        let recorded = DurableCount::begin(folder.path(), folder.journal_id(), lines)?;
        let appender = Appender::new(file, end.good_bytes);
        let guard = FolderGuard::new(folder.path(), journal_file(&path, &appender), recorded.file());
        let header = Header::of(folder);
        let mut writer = JournalWriter {
            header: header.clone(),
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
        if end.good_bytes == 0 {
            writer.append([header])?;
            writer.lines_before = writer.lines;
        }
        let seed = ChecksumSeed::of_journal(folder.journal_id());
        writer.appender.begin_records(seed, own_lines.max(1) + 1);
        unsealed.into_iter().for_each(|path| writer.sealer.add(path));
        Ok(OpenedJournal { writer, index, dropped_bytes: end.torn_bytes, quarantined })
    }
}

impl JournalWriter {
    /// Reads the journal of a run to continue it. Nothing is changed.
    ///
    /// # Errors
    /// If the folder was opened for reading. If a line before the end is damaged or missing (the error names
    /// it), or the journal has fewer lines than the run recorded. If it belongs to another run or has a newer
    /// format, or the file system refuses.
    pub fn read(folder: &RunFolder) -> Result<ReadJournal<'_>, RecordError> {
        folder.check_writable()?;
        let recorded = durable_lines(folder)?;
        let mut builder = IndexBuilder::new(folder.journal_id());
        let mut paths = segment_paths(folder.path())?;
        // A sealed segment is not appended to.
        let last = paths.pop_if(|path| !is_sealed(path));
        let number = paths.len() as u64 + 1;
        let unsealed: Vec<PathBuf> = paths.iter().filter(|path| !is_sealed(path)).cloned().collect();
        builder.add_segments(paths)?;
        let (end, own_lines) = match &last {
            Some(path) => (builder.add_last_segment(path.clone())?, builder.last_lines),
            None => (ScanResult { good_bytes: 0, torn_bytes: 0, torn_lines: 0 }, 0),
        };
        durable_count::check(folder, recorded, builder.lines)?;
        let path = last.unwrap_or_else(|| folder.path_of(JOURNAL_FOLDER).join(segment_name(number)));
        let lines = builder.lines;
        Ok(ReadJournal { folder, index: builder.finish(), path, number, end, own_lines, unsealed, lines })
    }

    /// Reads the journal of a run, and begins to continue it ([`ReadJournal::begin`]).
    ///
    /// # Errors
    /// Same as for [`JournalWriter::read`] and [`ReadJournal::begin`].
    pub fn open(folder: &RunFolder) -> Result<OpenedJournal, RecordError> {
        JournalWriter::read(folder)?.begin()
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
        match create_segment(&path, &self.header) {
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
fn create_segment(path: &Path, header: &Header) -> Result<Appender<File>, RecordError> {
    drop(foreign_file::create_anew(path).map_err(|source| RecordError::io("create", path, source))?);
    let file = open_to_write(path)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    let mut appender = Appender::new(file, 0);
    appender.append([header]).map_err(|source| RecordError::io("write", path, source))?;
    appender.begin_records(ChecksumSeed::of_journal(header.journal_id), 2);
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
mod tests;
