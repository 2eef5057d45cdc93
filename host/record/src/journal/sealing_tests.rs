//! Sealed segments hold the same records, whatever was killed or damaged meanwhile.

use super::segment_names::{sealed_path, segment_name};
use super::segments::segment_paths;
use super::{DurableCount, JournalIndex, JournalTail, JournalWriter, TailRead, sealed};
use crate::format::JOURNAL_FOLDER;
use crate::sample_record::tests::record;
use crate::{Manifest, RecordError, RunFolder, RunIdentity, SampleRecord};
use gage_recorded_messages::RecordedError as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Size of segments in these tests; a record has about 500 bytes.
const SEGMENT_BYTES: u64 = 2_000;

struct Journal {
    root: tempfile::TempDir,
    folder: RunFolder,
}

impl Journal {
    fn new() -> Journal {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        Journal { root, folder }
    }

    /// A journal of many segments, of which all but the last are sealed.
    fn with_records(records: &[SampleRecord]) -> Journal {
        let journal = Journal::new();
        journal.append(records);
        journal
    }

    fn append(&self, records: &[SampleRecord]) {
        let mut writer = JournalWriter::open(&self.folder).unwrap().writer;
        writer.set_segment_bytes(SEGMENT_BYTES);
        records.chunks(2).for_each(|batch| writer.append_whole(batch).unwrap());
        writer.finish().unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path_of(JOURNAL_FOLDER).join(name)
    }

    fn read(&self) -> Result<Vec<SampleRecord>, RecordError> {
        JournalIndex::read(&self.folder)?.records_in_order(&["t"]).collect()
    }

    /// Names of the files in the journal's folder, apart from the durable count.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "recorded");
        names.sort();
        names
    }
}

fn records(count: u64) -> Vec<SampleRecord> {
    (0..count).map(|index| record("t", index, &format!("answer {index}"))).collect()
}

/// Seals a segment and keeps the unsealed file, as a process does that is killed before it removes that file.
fn seal_and_keep(path: &Path) {
    let content = fs::read(path).unwrap();
    sealed::seal(path).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn full_segments_are_sealed_and_read_in_any_order() {
    let records = records(40);
    let mut written = records.clone();
    // Far from the order in which they are read.
    written.sort_by_key(|record| record.index * 23 % 40);
    let journal = Journal::with_records(&written);
    let names = journal.names();
    assert!(names.len() > 5, "{names:?}");
    let (last, sealed) = names.split_last().unwrap();
    assert!(sealed.iter().all(|name| name.ends_with(".jsonl.zst")) && last.ends_with(".jsonl"), "{names:?}");
    assert_eq!(journal.read().unwrap(), records);
}

#[test]
fn other_tools_read_the_lines_of_a_sealed_segment() {
    let journal = Journal::with_records(&records(8));
    let path = journal.path(&segment_name(1));
    let sealed = fs::read(sealed_path(&path)).unwrap();
    let lines = zstd::stream::decode_all(sealed.as_slice()).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert!(lines.contains(r#""format":"gage-journal""#) && lines.contains("answer 1"), "{lines}");
    fs::remove_file(sealed_path(&path)).unwrap();
    fs::write(&path, lines).unwrap();
    assert_eq!(journal.read().unwrap(), records(8));
}

#[test]
fn lines_may_be_longer_than_a_frame() {
    let long: Vec<SampleRecord> = (0..6)
        .map(|index| {
            // Text that hardly compresses.
            let words = (0..30_000_u64)
                .map(|word| format!("{:x} ", (word + index).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            record("t", index, &words.collect::<String>())
        })
        .collect();
    let journal = Journal::new();
    let mut writer = JournalWriter::open(&journal.folder).unwrap().writer;
    writer.append_whole(&long).unwrap();
    writer.finish().unwrap();
    assert_eq!(journal.names(), ["000001.jsonl.zst"]);
    assert_eq!(journal.read().unwrap(), long);
}

#[test]
fn resume_of_a_sealed_journal_begins_a_segment() {
    let journal = Journal::with_records(&records(3));
    let before = journal.names();
    // The end of a run seals its last segment if that is long.
    sealed::seal(&journal.path(before.last().unwrap())).unwrap();
    // Its header is no entry.
    assert!(!JournalWriter::open(&journal.folder).unwrap().writer.has_grown());
    journal.append(&records(5)[3..]);
    assert_eq!(journal.names().len(), before.len() + 1);
    assert_eq!(journal.read().unwrap(), records(5));
}

#[test]
fn interrupted_sealing_is_done_again() {
    let journal = Journal::with_records(&records(20));
    let expected = journal.names();
    let first = journal.path(&segment_name(1));
    let sealed = fs::read(sealed_path(&first)).unwrap();
    let lines = zstd::stream::decode_all(sealed.as_slice()).unwrap();
    for (case, has_temporary, has_sealed) in [
        ("before the rename", true, false),
        ("before the removal", false, true),
        ("at the begin", false, false),
    ] {
        fs::write(&first, &lines).unwrap();
        fs::remove_file(sealed_path(&first)).unwrap();
        let half = &sealed[..sealed.len() / 2];
        if has_temporary {
            fs::write(journal.path(".000001.jsonl.zst.tmp"), half).unwrap();
        }
        if has_sealed {
            fs::write(sealed_path(&first), &sealed).unwrap();
        }
        assert_eq!(journal.read().unwrap(), records(20), "{case}");
        journal.append(&[]);
        assert_eq!(journal.names(), expected, "{case}");
        assert_eq!(journal.read().unwrap(), records(20), "{case}");
    }
}

/// A run that is killed while its end seals the last segment appends to that segment when it is resumed.
#[test]
fn last_segment_in_both_forms_is_appended_to() {
    let journal = Journal::with_records(&records(2));
    let path = journal.path(&segment_name(1));
    seal_and_keep(&path);
    assert_eq!(journal.read().unwrap(), records(2));
    journal.append(&records(3)[2..]);
    assert_eq!(journal.names(), ["000001.jsonl"]);
    assert_eq!(journal.read().unwrap(), records(3));
}

#[test]
fn changed_byte_in_a_sealed_segment_never_makes_another_record() {
    let records = records(12);
    let journal = Journal::with_records(&records);
    let path = sealed_path(&journal.path(&segment_name(2)));
    let whole = fs::read(&path).unwrap();
    for position in 0..whole.len() {
        let mut changed = whole.clone();
        changed[position] ^= 1 << (position % 8);
        fs::write(&path, &changed).unwrap();
        if let Ok(found) = journal.read() {
            assert_eq!(found, records, "byte {position}");
        }
        fs::write(&path, &whole[..position]).unwrap();
        let error = journal.read().unwrap_err().recorded("run_folders");
        assert!(error.contains("000002.jsonl.zst") && error.contains("restore it from a copy"), "{error}");
    }
}

#[test]
fn a_missing_sealed_segment_is_named() {
    let journal = Journal::with_records(&records(12));
    fs::remove_file(sealed_path(&journal.path(&segment_name(2)))).unwrap();
    let error = journal.read().unwrap_err().recorded("run_folders");
    assert!(error.contains("000002.jsonl or 000002.jsonl.zst, which comes before it, is gone"), "{error}");
}

#[test]
fn a_follower_continues_in_a_segment_that_was_sealed() {
    let journal = Journal::new();
    let mut writer = JournalWriter::open(&journal.folder).unwrap().writer;
    writer.set_segment_bytes(SEGMENT_BYTES);
    let mut tail = JournalTail::new(journal.folder.path(), journal.folder.journal_id());
    let mut seen = Vec::new();
    for record in records(30) {
        writer.append_whole(&[record]).unwrap();
        assert_eq!(tail.read_new(|entry| seen.push(entry.index)).unwrap(), TailRead::Added(1));
    }
    drop(writer);
    assert_eq!(tail.read_new(|entry| seen.push(entry.index)).unwrap(), TailRead::Added(0));
    let mut late = Vec::new();
    JournalTail::new(journal.folder.path(), journal.folder.journal_id())
        .read_new(|entry| late.push(entry.index))
        .unwrap();
    assert_eq!((&seen, &late), (&(0..30).collect(), &seen));
}

/// The position of a follower counts lines, not compressed bytes.
#[test]
fn a_follower_reads_the_rest_of_a_sealed_segment() {
    let journal = Journal::with_records(&records(2));
    let mut tail = JournalTail::new(journal.folder.path(), journal.folder.journal_id());
    tail.read_new(|_| ()).unwrap();
    let mut writer = JournalWriter::open(&journal.folder).unwrap().writer;
    writer.append_whole(&records(4)[2..]).unwrap();
    drop(writer);
    sealed::seal(&journal.path(&segment_name(1))).unwrap();
    let mut seen = Vec::new();
    assert_eq!(tail.read_new(|entry| seen.push(entry.index)).unwrap(), TailRead::Added(2));
    assert_eq!(seen, [2, 3]);
}

#[test]
fn a_segment_that_cannot_be_sealed_is_kept() {
    let journal = Journal::with_records(&[]);
    let mut writer = JournalWriter::open(&journal.folder).unwrap().writer;
    writer.set_segment_bytes(SEGMENT_BYTES);
    // The place of the temporary file is taken.
    fs::create_dir(journal.path(".000001.jsonl.zst.tmp")).unwrap();
    records(12).chunks(2).for_each(|batch| writer.append_whole(batch).unwrap());
    let error = writer.finish().unwrap_err().recorded("run_folders");
    assert!(error.contains("failed to create"), "{error}");
    assert!(journal.path(&segment_name(1)).is_file());
    assert_eq!(journal.read().unwrap(), records(12));
    assert_eq!(
        segment_paths(journal.root.path().join("run").as_path()).unwrap()[0],
        journal.path(&segment_name(1))
    );
}

#[test]
fn lines_of_all_segments_are_counted() {
    let journal = Journal::with_records(&records(20));
    let segments = segment_paths(journal.folder.path()).unwrap().len() as u64;
    DurableCount::begin(journal.folder.path(), journal.folder.journal_id(), 20 + segments).unwrap();
    assert_eq!(journal.read().unwrap().len(), 20);
    DurableCount::begin(journal.folder.path(), journal.folder.journal_id(), 21 + segments).unwrap();
    let error = journal.read().unwrap_err().recorded("run_folders");
    assert!(error.contains(&format!("it has {} whole lines", 20 + segments)), "{error}");
}

/// Enough samples to be read on several threads.
#[test]
fn many_records_are_read_in_order() {
    let records = records(3_000);
    let mut written = records.clone();
    written.sort_by_key(|record| record.index * 7 % 3_000);
    let journal = Journal::new();
    let mut writer = JournalWriter::open(&journal.folder).unwrap().writer;
    writer.set_segment_bytes(200_000);
    written.chunks(100).for_each(|batch| writer.append_whole(batch).unwrap());
    writer.finish().unwrap();
    assert_eq!(journal.read().unwrap(), records);
    let index = JournalIndex::read(&journal.folder).unwrap();
    let rest: Vec<SampleRecord> = index.records_in_order_after(&["t"], 2_990).map(Result::unwrap).collect();
    assert_eq!(rest, records[2_990..]);

    let path = sealed_path(&journal.path(&segment_name(3)));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = index.records_in_order(&["t"]).find_map(Result::err).unwrap().recorded("run_folders");
    assert!(error.contains("000003.jsonl.zst cannot be used: the frame at byte"), "{error}");
}
