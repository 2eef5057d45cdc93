use super::*;
use crate::sample_record::tests::record;
use crate::{JournalId, Manifest, RunIdentity};
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
fn another_journal_or_one_of_a_newer_program_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = begin(root.path());
    let path = folder.path_of("journal/000001.jsonl");
    let (own, other) = (folder.journal_id(), JournalId::default());
    let header = |format: &str, format_version: u32, journal_id: JournalId| {
        let mut line = Vec::new();
        let value = json!({
            "format": format, "format_version": format_version, "run_id": "run", "journal_id": journal_id,
        });
        crate::journal::line::encode(&value, None, Default::default(), &mut line).unwrap();
        line
    };
    let cases = [
        (
            header("gage-journal", 1, other),
            format!("000001.jsonl belongs to another journal: it has the journal id {other}, and"),
        ),
        (header("gage-journal", 1, other), format!("the manifest of the run names {own}; restore")),
        (header("gage-journal", 99, own), "use a newer gage-host".to_owned()),
        (header("other", 1, own), "line 1: the format is 'other'".to_owned()),
    ];
    for (line, part) in cases {
        fs::write(&path, line).unwrap();
        let error = JournalWriter::open(&folder).unwrap_err().recorded("run_folders");
        assert!(error.contains(&part), "{error}");
    }
}

/// A run with the same id, as shard 1 of 2 of each run has it.
#[test]
fn the_journal_of_a_namesake_is_refused() {
    let (root, other_root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (folder, other) = (begin(root.path()), begin(other_root.path()));
    for folder in [&folder, &other] {
        let mut writer = JournalWriter::open(folder).unwrap().writer;
        writer.append_whole(&[record("t", 0, "a")]).unwrap();
    }
    let ids = format!(
        "it has the journal id {}, and the manifest of the run names {}",
        other.journal_id(),
        folder.journal_id()
    );
    for name in ["000001.jsonl", "recorded"] {
        let (own, foreign) = (folder.path_of("journal").join(name), other.path_of("journal").join(name));
        let before = fs::read(&own).unwrap();
        fs::copy(foreign, &own).unwrap();
        let refused = JournalWriter::open(&folder).unwrap_err().recorded("run_folders");
        assert!(refused.contains(name) && refused.contains(&ids), "{refused}");
        let read = JournalIndex::read(&folder).unwrap_err().recorded("run_folders");
        assert_eq!(read, refused);
        fs::write(&own, before).unwrap();
    }
    assert_eq!(JournalWriter::open(&folder).unwrap().index.len(), 1);
}

#[test]
fn a_journal_that_was_only_read_is_unchanged() {
    let root = tempfile::tempdir().unwrap();
    let folder = begin(root.path());
    let files = || {
        let mut files: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(folder.path_of("journal"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = files();
    assert_eq!(JournalWriter::read(&folder).unwrap().index().len(), 0);
    assert_eq!(files(), before);
    let mut writer = JournalWriter::open(&folder).unwrap().writer;
    writer.set_segment_bytes(1);
    writer.append_whole(&[record("t", 0, "a")]).unwrap();
    writer.finish().unwrap();
    let path = folder.path_of("journal/000002.jsonl");
    // A killed process may have left part of a line. Without it, the last segment is sealed.
    fs::write(&path, [&fs::read(&path).unwrap()[..], b"1234"].concat()).unwrap();
    for removed in [None, Some(path)] {
        removed.iter().for_each(|path| fs::remove_file(path).unwrap());
        DurableCount::begin(folder.path(), folder.journal_id(), 2).unwrap();
        let before = files();
        assert_eq!(JournalWriter::read(&folder).unwrap().index().len(), 1);
        assert_eq!(files(), before);
    }
    let opened = JournalWriter::read(&folder).unwrap().begin().unwrap();
    assert_eq!((opened.index.len(), files().len()), (1, 3));
}

#[test]
fn a_record_of_another_journal_is_damage() {
    let root = tempfile::tempdir().unwrap();
    let folder = begin(root.path());
    JournalWriter::open(&folder).unwrap().writer.append_whole(&[record("t", 0, "a")]).unwrap();
    let path = folder.path_of("journal/000001.jsonl");
    let own = fs::read(&path).unwrap();
    let mut strayed = Vec::new();
    crate::journal::line::encode(
        &record("t", 1, "b"),
        Some(2),
        ChecksumSeed::of_journal(JournalId::default()),
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
