//! The only writer of a journal.

use super::appender::{Appender, Store as _};
use super::index::{IndexBuilder, JournalIndex};
use super::line::ChecksumSeed;
use super::scan::ScanResult;
use super::{DurableCount, Header, JournalEntry, durable_count, durable_lines, segment_name, segment_paths};
use crate::atomic_file::sync_folder;
use crate::format::{JOURNAL_FOLDER, SET_ASIDE_BEGIN};
use crate::{RecordError, RunFolder};
use serde::Serialize;
use std::borrow::Borrow;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Appends records to the journal of a run.
#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    appender: Appender<File>,
    recorded: DurableCount,
    /// Number of lines in all files.
    lines: u64,
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
        let path = paths.pop().unwrap_or_else(|| folder.path_of(JOURNAL_FOLDER).join(segment_name(1)));
        for path in paths {
            builder.add_segment(path, false)?;
        }
        let mut file = open_to_write(&path)?;
        sync_folder(&folder.path_of(JOURNAL_FOLDER))?;
        let end = builder.add_segment(path.clone(), true)?;
        durable_count::check(folder, recorded, builder.lines)?;
        let quarantined = if end.torn_lines > 0 { Some(quarantine(&path, &end)?) } else { None };
        file.cut(end.good_bytes).map_err(|source| RecordError::io("cut the torn end of", &path, source))?;
        let (good_bytes, own_lines) = (end.good_bytes, builder.last_lines);
        let lines = builder.lines;
        let recorded = DurableCount::begin(folder.path(), folder.run_id(), lines)?;
        let appender = Appender::new(file, good_bytes);
        let mut writer = JournalWriter { path, appender, recorded, lines };
        if good_bytes == 0 {
            writer.append([Header::new(folder.run_id())])?;
        }
        writer.appender.begin_records(ChecksumSeed::of_run(folder.run_id()), own_lines.max(1) + 1);
        Ok(OpenedJournal { writer, index: builder.index, dropped_bytes: end.torn_bytes, quarantined })
    }

    /// Appends entries. On success, they survive a power loss. On failure, none of them is in the journal,
    /// and the next call starts where this one did.
    ///
    /// # Errors
    /// If the disk is full or fails, or a record is larger than 4 GiB or nested deeper than 120 levels.
    pub fn append_batch<'e, E: Borrow<JournalEntry<'e>> + Serialize>(
        &mut self,
        entries: impl IntoIterator<Item = E>,
    ) -> Result<(), RecordError> {
        self.append(entries)
    }

    fn append<T: Serialize>(&mut self, values: impl IntoIterator<Item = T>) -> Result<(), RecordError> {
        let appended = self.appender.append(values);
        self.lines += appended.map_err(|source| RecordError::Append { path: self.path.clone(), source })?;
        self.recorded.store(self.lines);
        Ok(())
    }
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

fn open_to_write(path: &Path) -> Result<File, RecordError> {
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    options.open(path).map_err(|source| RecordError::io("open", path, source))
}

#[cfg(test)]
impl JournalWriter {
    /// Appends whole records.
    pub(crate) fn append_whole(&mut self, records: &[crate::SampleRecord]) -> Result<(), RecordError> {
        self.append(records)
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
            assert!(error.contains(&format!("line {line}: the checksum does not fit")), "{error}");
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
