//! Properties that hold after any damage to the bytes.

use super::line::ChecksumSeed;
use super::scan::scan;
use super::{DurableCount, Header, JournalIndex, JournalWriter};
use crate::format::JOURNAL_FOLDER;
use crate::sample_record::tests::record;
use crate::{Manifest, RecordError, RunFolder, RunIdentity, SampleRecord};
use gage_recorded_messages::RecordedError as _;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

struct Journal {
    _root: tempfile::TempDir,
    folder: RunFolder,
}

impl Journal {
    fn new(records: &[SampleRecord]) -> Journal {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        JournalWriter::open(&folder).unwrap().writer.append_whole(records).unwrap();
        Journal { _root: root, folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path_of(JOURNAL_FOLDER).join(super::segment_names::segment_name(1))
    }

    fn read(&self) -> Result<Vec<SampleRecord>, RecordError> {
        JournalIndex::read(&self.folder)?.records_in_order(&["t"]).collect()
    }
}

fn records(answers: &[String]) -> Vec<SampleRecord> {
    (0..).zip(answers).map(|(index, answer)| record("t", index, answer)).collect()
}

/// The records of an in-memory journal.
fn records_of(bytes: &[u8]) -> Result<Vec<SampleRecord>, RecordError> {
    let (mut records, mut seed) = (Vec::new(), ChecksumSeed::NONE);
    scan(Path::new("j"), bytes, ChecksumSeed::NONE, |line| {
        match line.number {
            1 => {
                let header: Header = serde_json::from_slice(line.json).unwrap();
                seed = ChecksumSeed::of_journal(header.journal_id);
            }
            _ => records.push(serde_json::from_slice(line.json).unwrap()),
        }
        Ok(seed)
    })?;
    Ok(records)
}

/// Returns the number of records that end within a prefix of a given length.
fn ends(bytes: &[u8]) -> impl Fn(usize) -> usize {
    move |length: usize| bytes[..length].iter().filter(|byte| **byte == b'\n').count().saturating_sub(1)
}

fn answers() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any::<String>(), 1..5)
}

#[test]
fn cut_at_every_byte_a_journal_keeps_what_is_whole() {
    let records = records(&["a".to_owned(), "é\n\"".to_owned(), "c".repeat(50)]);
    let bytes = fs::read(Journal::new(&records).path()).unwrap();
    let whole = ends(&bytes);
    for length in 0..=bytes.len() {
        assert_eq!(records_of(&bytes[..length]).unwrap(), records[..whole(length)], "cut at {length}");
    }
}

#[test]
fn with_any_byte_flipped_a_journal_holds_no_wrong_record() {
    let records = records(&["a".to_owned(), "b".to_owned(), "c".to_owned()]);
    let bytes = fs::read(Journal::new(&records).path()).unwrap();
    for position in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << bit;
            if let Ok(found) = records_of(&flipped) {
                assert!(found.len() < records.len(), "byte {position}, bit {bit}");
                assert_eq!(found, records[..found.len()], "byte {position}, bit {bit}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn a_journal_goes_on_after_it_was_cut_anywhere(answers in answers(), at in any::<prop::sample::Index>()) {
        let records = records(&answers);
        let journal = Journal::new(&records);
        let mut bytes = fs::read(journal.path()).unwrap();
        let length = at.index(bytes.len() + 1);
        let kept = ends(&bytes)(length);
        bytes.truncate(length);
        fs::write(journal.path(), &bytes).unwrap();
        // Missing recorded lines are reported, but after a power loss the recorded count may be too small.
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if (lines as usize) <= records.len() {
            let error = JournalWriter::open(&journal.folder).unwrap_err().recorded("run_folders");
            prop_assert!(error.contains(&format!("it has {lines} whole lines")), "{}", error);
        }
        DurableCount::begin(journal.folder.path(), journal.folder.journal_id(), lines).unwrap();

        let mut opened = JournalWriter::open(&journal.folder).unwrap();
        prop_assert_eq!(opened.index.len(), kept);
        let good = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        prop_assert_eq!(opened.dropped_bytes, (length - good) as u64);

        let next = record("t", 99, "next");
        opened.writer.append_whole(std::slice::from_ref(&next)).unwrap();
        let mut expected = records[..kept].to_vec();
        expected.push(next);
        prop_assert_eq!(journal.read().unwrap(), expected);
    }

    #[test]
    fn bytes_that_were_changed_are_never_another_record(
        answers in answers(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let records = records(&answers);
        let journal = Journal::new(&records);
        let mut bytes = fs::read(journal.path()).unwrap();
        for (at, byte) in changes {
            let position = at.index(bytes.len());
            bytes[position] = byte;
        }
        fs::write(journal.path(), &bytes).unwrap();
        if let Ok(found) = journal.read() {
            prop_assert_eq!(&found, &records[..found.len()]);
        }
    }
}
