//! A repaired journal can be read and resumed, and has every record that was not damaged.

use super::*;
use crate::sample_record::tests::record;
use crate::{
    AnswerEntry, DamageKind, DamagedLine, JournalEntry, JournalWriter, RunIdentity, SampleRecord, Scores,
    ScoresEntry, journal_digests,
};
use DamageKind::{Checksum, Duplicate, Frame, FrameTable, OrphanedScores, Unterminated, Zeros};
use gage_core::{Outcome, RecordedForm};
use gage_recorded_messages::RecordedError as _;
use std::collections::BTreeMap;

const SEGMENT: &str = "journal/000001.jsonl";

/// Size of segments in tests with several; a record has about 500 bytes.
const SEGMENT_BYTES: u64 = 2_000;

/// Creates a run, and returns it with its writer.
fn begun(root: &Path, run_id: &str) -> (RunFolder, JournalWriter) {
    let folder = RunFolder::create(root, run_id).unwrap();
    Manifest::new(run_id, "0.1.0", RunIdentity::default()).write(&folder).unwrap();
    let writer = JournalWriter::open(&folder).unwrap().writer;
    (folder, writer)
}

/// Ends a run as complete.
fn end(folder: &RunFolder) {
    let mut manifest = Manifest::read(folder.path()).unwrap();
    manifest.files = journal_digests(folder).unwrap();
    manifest.finish(RunStatus::Complete);
    manifest.write(folder).unwrap();
}

fn records(count: u64) -> Vec<SampleRecord> {
    (0..count).map(|index| record("t", index, &format!("answer {index}"))).collect()
}

/// Creates a run with records in one segment. It was killed, or has ended.
fn short_run(root: &Path, run_id: &str, count: u64, is_ended: bool) -> PathBuf {
    let (folder, mut writer) = begun(root, run_id);
    records(count).iter().for_each(|record| writer.append_whole(std::slice::from_ref(record)).unwrap());
    drop(writer);
    if is_ended {
        end(&folder);
    }
    folder.path().to_owned()
}

/// Creates a run with records in several segments, of which all but the last are sealed.
fn long_run(root: &Path, count: u64, is_ended: bool) -> PathBuf {
    let (folder, mut writer) = begun(root, "run");
    writer.set_segment_bytes(SEGMENT_BYTES);
    records(count).iter().for_each(|record| writer.append_whole(std::slice::from_ref(record)).unwrap());
    writer.finish().unwrap();
    if is_ended {
        end(&folder);
    }
    folder.path().to_owned()
}

/// Reads the samples of a run. Each must be the recorded one.
fn samples(path: &Path) -> Vec<u64> {
    let folder = RunFolder::open_read(path).unwrap();
    let index = JournalIndex::read(&folder).unwrap();
    let read = index.records_in_order(&["t"]).map(|read| {
        let read = read.unwrap();
        assert_eq!(read, record("t", read.index, &format!("answer {}", read.index)));
        read.index
    });
    read.collect()
}

/// Resumes a run, and records the samples that it lacks.
fn resume(path: &Path, count: u64) {
    let present = samples(path);
    let folder = RunFolder::resume(path.parent().unwrap(), "run").unwrap();
    let mut writer = JournalWriter::open(&folder).unwrap().writer;
    let lacking: Vec<SampleRecord> =
        records(count).into_iter().filter(|record| !present.contains(&record.index)).collect();
    writer.append_whole(&lacking).unwrap();
    writer.finish().unwrap();
    assert_eq!(samples(path), (0..count).collect::<Vec<_>>());
}

/// The content of every file of a folder, by its path.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(contents(&path)),
            false => _ = files.insert(path.clone(), fs::read(&path).unwrap()),
        }
    }
    files
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

fn kinds(report: &RepairReport) -> Vec<DamageKind> {
    report.damaged_lines.iter().map(|line| line.kind).collect()
}

/// Checks that a second repair finds nothing and changes nothing.
fn check_intact(path: &Path, kept_lines: u64) {
    let before = contents(path);
    let report = JournalRepair::run(path).unwrap();
    assert_eq!(report, RepairReport::of_intact("run", kept_lines));
    assert_eq!(contents(path), before);
}

/// Damage to the lines of a segment with six records, and what it costs.
struct LineCase {
    name: &'static str,
    damage: fn(&mut Vec<Vec<u8>>),
    lost: &'static [u64],
    kinds: &'static [DamageKind],
    missing_lines: u64,
}

fn case(
    name: &'static str,
    damage: fn(&mut Vec<Vec<u8>>),
    lost: &'static [u64],
    kinds: &'static [DamageKind],
    missing_lines: u64,
) -> LineCase {
    LineCase { name, damage, lost, kinds, missing_lines }
}

/// Swaps the last bit of a byte. The number counts from the end if it is negative.
fn flip(line: &mut [u8], byte: isize) {
    let place = if byte < 0 { line.len() - byte.unsigned_abs() } else { byte.unsigned_abs() };
    line[place] ^= 1;
}

fn line_cases() -> Vec<LineCase> {
    vec![
        case("a bit of a record", |lines| flip(&mut lines[3], 40), &[2], &[Checksum], 0),
        case("a bit of a checksum", |lines| flip(&mut lines[1], 0), &[0], &[Checksum], 0),
        case("a bit of a number", |lines| flip(&mut lines[4], 17), &[3], &[Checksum], 0),
        case("a bit of a line end", |lines| flip(&mut lines[2], -1), &[1, 2], &[Checksum], 1),
        case("a bit of the last line end", |lines| flip(&mut lines[6], -1), &[5], &[Unterminated], 0),
        case("a bit of the header", |lines| flip(&mut lines[0], 20), &[], &[Checksum], 0),
        case("no header", |lines| drop(lines.remove(0)), &[], &[], 1),
        case("zeros in one line", |lines| lines[2][30..60].fill(0), &[1], &[Zeros], 0),
        case(
            "zeros across two lines",
            |lines| {
                lines[2][50..].fill(0);
                lines[3][..50].fill(0);
            },
            &[1, 2],
            &[Zeros],
            1,
        ),
        case("a line is gone", |lines| drop(lines.remove(3)), &[2], &[], 1),
        case("two lines are gone", |lines| drop(lines.drain(2..4)), &[1, 2], &[], 2),
        case("a line is cut", |lines| lines[3].truncate(60), &[2, 3], &[Checksum], 1),
        case("the last line is cut", |lines| lines[6].truncate(60), &[5], &[Unterminated], 0),
        case("the last line is gone", |lines| drop(lines.pop()), &[5], &[], 1),
        case("two lines have changed places", |lines| lines.swap(2, 4), &[], &[], 0),
        case(
            "a line is there twice",
            |lines| {
                let line = lines[2].clone();
                lines.insert(4, line);
            },
            &[],
            &[Duplicate],
            0,
        ),
        case("another text", |lines| lines.insert(2, b"text\n".to_vec()), &[], &[Checksum], 0),
        case(
            "every line",
            |lines| lines.iter_mut().for_each(|line| flip(line, 12)),
            &[0, 1, 2, 3, 4, 5],
            &[Checksum; 7],
            0,
        ),
    ]
}

#[test]
fn damaged_lines_are_set_aside_and_all_others_stay() {
    for (case, is_ended) in line_cases().iter().flat_map(|case| [(case, false), (case, true)]) {
        let name = format!("{}, {is_ended}", case.name);
        let root = tempfile::tempdir().unwrap();
        let path = short_run(root.path(), "run", 6, is_ended);
        let segment = path.join(SEGMENT);
        let mut lines: Vec<Vec<u8>> =
            fs::read(&segment).unwrap().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        assert_eq!(lines.len(), 7);
        (case.damage)(&mut lines);
        let damaged = lines.concat();
        fs::write(&segment, &damaged).unwrap();
        assert!(
            RunFolder::resume(root.path(), "run").and_then(|run| JournalWriter::open(&run)).is_err(),
            "{name}"
        );

        let report = JournalRepair::run(&path).unwrap();
        assert_eq!(kinds(&report), case.kinds, "{name}");
        let found = (report.is_damaged, report.missing_lines, report.kept_lines, report.is_count_lost);
        let kept_lines = 7 - case.lost.len() as u64;
        assert_eq!(found, (true, case.missing_lines, kept_lines, false), "{name}");
        let expected: Vec<u64> = (0..6).filter(|index| !case.lost.contains(index)).collect();
        assert_eq!(samples(&path), expected, "{name}");
        let manifest = Manifest::read(&path).unwrap();
        assert_eq!((manifest.status, manifest.files.len()), (RunStatus::Running, 0), "{name}");
        check_bytes(&path, "repair-1-000001", &report.damaged_lines, &damaged);
        let list = fs::read(path.join("journal/damaged/repair-1.json")).unwrap();
        assert_eq!(serde_json::from_slice::<RepairReport>(&list).unwrap(), report, "{name}");
        check_intact(&path, kept_lines);
        resume(&path, 6);
    }
}

/// Checks that the bytes that were set aside are those of the damaged file.
fn check_bytes(path: &Path, name: &str, lines: &[DamagedLine], damaged: &[u8]) {
    let moved = fs::read(path.join("journal/damaged").join(name)).unwrap_or_default();
    let part = |bytes: &[u8], start: u64, length: u64| {
        let start = usize::try_from(start).unwrap();
        bytes[start..start + usize::try_from(length).unwrap()].to_vec()
    };
    for line in lines {
        assert_eq!(
            part(&moved, line.position, line.bytes),
            part(damaged, line.offset, line.bytes),
            "{line:?}"
        );
    }
    assert_eq!(moved.len() as u64, lines.iter().map(|line| line.bytes).sum::<u64>());
}

#[test]
fn damaged_lines_name_their_places_and_samples() {
    let root = tempfile::tempdir().unwrap();
    let path = short_run(root.path(), "run", 6, false);
    let segment = path.join(SEGMENT);
    let mut bytes = fs::read(&segment).unwrap();
    let third = bytes.split_inclusive(|byte| *byte == b'\n').take(2).map(<[u8]>::len).sum::<usize>();
    bytes[third + 200] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let report = JournalRepair::run(&path).unwrap();
    let [line] = report.damaged_lines.as_slice() else { panic!("{report:?}") };
    assert_eq!((line.segment.as_str(), line.line, line.offset), ("000001.jsonl", 3, third as u64));
    let sample = line.sample.as_ref().unwrap();
    assert_eq!((sample.task_id.as_str(), sample.index, sample.sample_id.as_str()), ("t", 1, "s-1"));
}

#[test]
fn whole_lines_of_another_run_are_set_aside() {
    let root = tempfile::tempdir().unwrap();
    let path = short_run(root.path(), "run", 3, false);
    let other = fs::read(short_run(root.path(), "other", 3, false).join(SEGMENT)).unwrap();
    let own = fs::read(path.join(SEGMENT)).unwrap();
    let header = own.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let lines: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let own_header = DamageKind::Header;
    for (case, bytes, expected, kept) in [
        ("a record", [&own[..], lines[2]].concat(), vec![Checksum], vec![0, 1, 2]),
        ("its header in front", [lines[0], &own[header..]].concat(), vec![own_header], vec![0, 1, 2]),
        ("everything", other.clone(), vec![own_header, Checksum, Checksum, Checksum], vec![]),
    ] {
        fs::write(path.join(SEGMENT), bytes).unwrap();
        let report = JournalRepair::run(&path).unwrap();
        assert_eq!(kinds(&report), expected, "{case}");
        assert_eq!(samples(&path), kept, "{case}");
        check_intact(&path, kept.len() as u64 + 1);
    }
    // A newer program reads it.
    let text = String::from_utf8(own[9..header].to_vec()).unwrap().replace("version\":1", "version\":99");
    let newer = format!("{:08x} {text}", crc32fast::hash(text.trim_end().as_bytes()));
    fs::write(path.join(SEGMENT), [newer.as_bytes(), &own[header..]].concat()).unwrap();
    let error = JournalRepair::run(&path).unwrap_err();
    assert!(matches!(error, RecordError::NewerFormat { found: 99, .. }), "{error}");
}

#[test]
fn journal_of_a_namesake_is_set_aside() {
    let (root, other_root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = short_run(root.path(), "run", 3, false);
    let other = short_run(other_root.path(), "run", 3, false);
    for name in [SEGMENT, "journal/recorded"] {
        fs::copy(other.join(name), path.join(name)).unwrap();
    }
    let error = RunFolder::resume(root.path(), "run").unwrap_err();
    assert!(matches!(error, RecordError::ForeignJournal { .. }), "{error}");
    let report = JournalRepair::run(&path).unwrap();
    assert_eq!(kinds(&report), [DamageKind::Header, Checksum, Checksum, Checksum]);
    assert!(report.is_count_lost && samples(&path).is_empty());
    check_intact(&path, 1);
    resume(&path, 3);
}

/// The records of a segment, which may be sealed.
fn records_of(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap();
    let lines = match path.extension().is_some_and(|extension| extension == "zst") {
        true => zstd::stream::decode_all(bytes.as_slice()).unwrap(),
        false => bytes,
    };
    let text = String::from_utf8(lines).unwrap();
    let records = text.lines().skip(1).map(|line| {
        let record: SampleRecord = serde_json::from_str(&line[9..]).unwrap();
        record.index
    });
    records.collect()
}

#[test]
fn damage_to_one_segment_costs_no_other() {
    type Damage = fn(&Path);
    let count = 20;
    let second = "journal/000002.jsonl.zst";
    let cases: [(&str, Damage, bool, &[DamageKind]); 5] = [
        (
            "a frame",
            |file| {
                rewrite(file, |bytes| {
                    let middle = bytes.len() / 2;
                    bytes[middle..middle + 8].fill(0);
                })
            },
            true,
            &[Frame],
        ),
        (
            "the table of frames",
            |file| {
                rewrite(file, |bytes| {
                    let last = bytes.len() - 1;
                    bytes[last] ^= 1;
                })
            },
            false,
            &[FrameTable],
        ),
        ("all bytes", |file| rewrite(file, |bytes| bytes.fill(0)), true, &[Frame]),
        ("no bytes", |file| rewrite(file, Vec::clear), true, &[Frame]),
        ("no file", |file| fs::remove_file(file).unwrap(), true, &[]),
    ];
    for ((case, damage, is_lost, expected), is_ended) in
        cases.into_iter().flat_map(|case| [(case, false), (case, true)])
    {
        let root = tempfile::tempdir().unwrap();
        let path = long_run(root.path(), count, is_ended);
        let file = path.join(second);
        let lost = if is_lost { records_of(&file) } else { Vec::new() };
        let lines = JournalIndex::read_lines(&RunFolder::open_read(&path).unwrap()).unwrap().1;
        damage(&file);
        let before = fs::read(&file).unwrap_or_default();

        let report = JournalRepair::run(&path).unwrap();
        assert_eq!(kinds(&report), expected, "{case}, {is_ended}");
        // The header of the segment is written again.
        let kept_lines = lines - lost.len() as u64;
        assert_eq!(report.kept_lines, kept_lines, "{case}, {is_ended}");
        let is_gone = before.is_empty() && expected.is_empty();
        let missing_segments: &[&str] = if is_gone { &["000002.jsonl"] } else { &[] };
        assert_eq!(report.missing_segments, missing_segments, "{case}, {is_ended}");
        assert_eq!(
            report.missing_lines,
            if is_lost { lost.len() as u64 + 1 } else { 0 },
            "{case}, {is_ended}"
        );
        assert!(!file.exists() && path.join("journal/000002.jsonl").is_file(), "{case}, {is_ended}");
        check_bytes(&path, "repair-1-000002", &report.damaged_lines, &before);
        let expected: Vec<u64> = (0..count).filter(|index| !lost.contains(index)).collect();
        assert_eq!(samples(&path), expected, "{case}, {is_ended}");
        check_intact(&path, kept_lines);
        resume(&path, count);
    }
}

/// Changes the bytes of a file.
fn rewrite(file: &Path, change: fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).unwrap();
    change(&mut bytes);
    fs::write(file, bytes).unwrap();
}

#[test]
fn first_line_of_the_last_segment_is_repaired() {
    let root = tempfile::tempdir().unwrap();
    let path = long_run(root.path(), 18, false);
    let segments = crate::journal::segment_paths(&path).unwrap();
    let last = segments.last().unwrap();
    rewrite(last, |bytes| bytes[15] ^= 1);
    let kept: Vec<u64> = (0..18).collect();
    let report = JournalRepair::run(&path).unwrap();
    assert_eq!((kinds(&report), report.missing_lines), (vec![Checksum], 0));
    assert_eq!(samples(&path), kept);
    check_intact(&path, 18 + segments.len() as u64);
}

#[test]
fn lost_durable_count_is_written_again() {
    for (case, bytes) in [("gone", None), ("damaged", Some(vec![b'7'; 5_000])), ("empty", Some(Vec::new()))] {
        for (is_ended, lacks_last) in [(false, false), (true, false), (false, true)] {
            let root = tempfile::tempdir().unwrap();
            let path = short_run(root.path(), "run", 4, is_ended);
            let recorded = path.join("journal/recorded");
            match &bytes {
                Some(bytes) => fs::write(&recorded, bytes).unwrap(),
                None => fs::remove_file(&recorded).unwrap(),
            }
            if lacks_last {
                rewrite(&path.join(SEGMENT), |bytes| {
                    let end = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
                    bytes.truncate(end + 1);
                });
            }
            let report = JournalRepair::run(&path).unwrap();
            assert!(report.is_count_lost && report.damaged_lines.is_empty(), "{case}: {report:?}");
            let kept_lines = if lacks_last { 4 } else { 5 };
            assert_eq!((report.kept_lines, report.missing_lines), (kept_lines, 0), "{case}");
            check_intact(&path, kept_lines);
            resume(&path, 4);
        }
    }
}

/// The line of an answer that awaits scores.
fn answer(record: &SampleRecord) -> JournalEntry<'_> {
    JournalEntry::Answer(AnswerEntry {
        task_id: &record.task_id,
        index: record.index,
        sample_id: &record.sample_id,
        row_digest: &record.row_digest,
        outcome: record.outcome,
        awaits_scores: true,
        awaits_judges: false,
        sample: RecordedForm((&record.sample).into()),
        support_output: None,
        model_output: record.model_output.as_ref().unwrap().into(),
        judge_output: None,
        timing: record.timing,
    })
}

fn scores(record: &SampleRecord, scored_together: u32) -> ScoresEntry {
    ScoresEntry {
        task_id: record.task_id.as_str().into(),
        index: record.index,
        sample_id: record.sample_id.as_str().into(),
        row_digest: record.row_digest.as_str().into(),
        outcome: Outcome::Scored,
        scores: Scores { scored_together, ..Scores::default() },
    }
}

/// Returns the state of a sample: none, or whether it has its scores.
fn has_scores(index: &JournalIndex, sample: u64) -> Option<bool> {
    index.get("t", sample).map(|sample| sample.is_finished())
}

#[test]
fn scores_are_kept_only_with_the_answer_that_they_belong_to() {
    let (first, second, again) = (record("t", 0, "a"), record("t", 1, "b"), record("t", 0, "c"));
    let (first_scores, second_scores, scores_again) =
        (scores(&first, 1), scores(&second, 2), scores(&again, 3));
    let two = || {
        let scores = [&first_scores, &second_scores].map(JournalEntry::Scores);
        [answer(&first), answer(&second)].into_iter().chain(scores).collect::<Vec<_>>()
    };
    let asked_again = || {
        let (one, other) = (JournalEntry::Scores(&first_scores), JournalEntry::Scores(&scores_again));
        vec![answer(&first), one, answer(&again), other]
    };
    for (case, entries, line, expected, states) in [
        ("the first answer", two(), 1, vec![Checksum, OrphanedScores], [None, Some(true)]),
        ("the second answer", two(), 2, vec![Checksum, OrphanedScores, OrphanedScores], [Some(false), None]),
        // The line could have been another answer to the second question.
        ("the first scores", two(), 3, vec![Checksum, OrphanedScores], [Some(false), Some(false)]),
        ("the last scores", two(), 4, vec![Checksum], [Some(true), Some(false)]),
        ("the second answer of one", asked_again(), 3, vec![Checksum, OrphanedScores], [Some(true), None]),
    ] {
        let root = tempfile::tempdir().unwrap();
        let (folder, mut writer) = begun(root.path(), "run");
        writer.append_batch(&entries).unwrap();
        drop((writer, folder));
        let path = root.path().join("run");
        let bytes = fs::read(path.join(SEGMENT)).unwrap();
        let mut lines: Vec<Vec<u8>> =
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        flip(&mut lines[line], -30);
        fs::write(path.join(SEGMENT), lines.concat()).unwrap();

        let report = JournalRepair::run(&path).unwrap();
        assert_eq!(kinds(&report), expected, "{case}");
        let index = JournalIndex::read(&RunFolder::open_read(&path).unwrap()).unwrap();
        assert_eq!([has_scores(&index, 0), has_scores(&index, 1)], states, "{case}");
        if let Some(found) = index.get("t", 0).filter(|found| found.is_finished()) {
            assert_eq!(found.scored_together, 1, "{case}");
            let answer = index.record("t", 0).unwrap().unwrap().model_output.unwrap();
            assert_eq!(answer["answer"], "a", "{case}");
        }
        check_intact(&path, 5 - expected.len() as u64);
    }
}

/// A run with answers and scores in several segments, and with damage of several kinds.
fn badly_damaged_run(root: &Path) -> PathBuf {
    let (folder, mut writer) = begun(root, "run");
    writer.set_segment_bytes(SEGMENT_BYTES);
    let records = records(60);
    for (number, record) in records.iter().enumerate() {
        writer.append_batch([answer(record)]).unwrap();
        // The scores follow in the next segment.
        if let Some(earlier) = number.checked_sub(5).and_then(|earlier| records.get(earlier)) {
            writer.append_batch([JournalEntry::Scores(&scores(earlier, 1))]).unwrap();
        }
    }
    writer.finish().unwrap();
    end(&folder);
    let path = folder.path().to_owned();
    let segments = crate::journal::segment_paths(&path).unwrap();
    assert!(segments.len() > 6, "{segments:?}");
    rewrite(&segments[1], |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 8].fill(0);
    });
    fs::remove_file(&segments[3]).unwrap();
    let last = segments.last().unwrap();
    rewrite(last, |bytes| bytes.truncate(bytes.len() - 20));
    rewrite(last, |bytes| bytes[15] ^= 1);
    path
}

#[test]
fn repair_killed_after_any_step_is_continued() {
    let root = tempfile::tempdir().unwrap();
    let damaged = badly_damaged_run(&root.path().join("damaged"));
    let relative = |path: &Path| {
        let files = contents(path).into_iter();
        files
            .map(|(file, bytes)| (file.strip_prefix(path).unwrap().to_owned(), bytes))
            .collect::<BTreeMap<_, _>>()
    };
    let whole = root.path().join("whole/run");
    copy(&damaged, &whole);
    let plan = |path: &Path| {
        let (folder, manifest) = RunFolder::open_for_repair(path).unwrap();
        JournalRepair::plan(folder, manifest).unwrap()
    };
    let steps = plan(&whole).steps.len();
    assert_eq!(contents(&whole).len(), contents(&damaged).len(), "a plan writes nothing");
    let report = JournalRepair::run(&whole).unwrap();
    assert!(kinds(&report).contains(&OrphanedScores) && report.missing_lines > 0, "{report:?}");
    let expected = relative(&whole);
    for taken in 0..=steps {
        let path = root.path().join(format!("killed-{taken}/run"));
        copy(&damaged, &path);
        let mut repair = plan(&path);
        for _ in 0..taken {
            assert!(repair.take_step().unwrap());
        }
        drop(repair);
        // It is refused until it is whole.
        let opened =
            RunFolder::resume(path.parent().unwrap(), "run").and_then(|run| JournalIndex::read(&run));
        assert_eq!(opened.is_ok(), taken + 1 >= steps, "{taken} of {steps}");
        let continued = JournalRepair::run(&path).unwrap();
        if continued.is_damaged {
            assert_eq!(continued, report, "{taken} of {steps}");
        }
        assert_eq!(continued.is_damaged, taken + 1 < steps, "{taken} of {steps}");
        assert!(relative(&path) == expected, "{taken} of {steps}");
    }
}

#[test]
fn new_damage_after_an_interrupted_repair_loses_no_bytes() {
    let root = tempfile::tempdir().unwrap();
    let path = short_run(root.path(), "run", 6, false);
    let damage = |bytes: &mut Vec<u8>| {
        let end = bytes.len() - 30;
        bytes[end] ^= 1;
    };
    rewrite(&path.join(SEGMENT), damage);
    let (folder, manifest) = RunFolder::open_for_repair(&path).unwrap();
    let mut repair = JournalRepair::plan(folder, manifest).unwrap();
    while !matches!(repair.steps.front(), Some(RepairStep::WriteCount)) {
        repair.take_step().unwrap();
    }
    drop(repair);
    let first = fs::read(path.join("journal/damaged/repair-1-000001")).unwrap();
    rewrite(&path.join(SEGMENT), damage);
    let report = JournalRepair::run(&path).unwrap();
    assert_eq!((kinds(&report), report.missing_lines), (vec![Checksum], 0));
    assert_eq!(samples(&path), [0, 1, 2, 3]);
    assert_eq!(fs::read(path.join("journal/damaged/repair-1-000001")).unwrap(), first);
    for name in ["repair-1.json", "repair-2.json", "repair-2-000001"] {
        assert!(path.join("journal/damaged").join(name).is_file(), "{name}");
    }
    check_intact(&path, 5);
}

#[test]
fn run_that_is_not_damaged_is_not_changed() {
    let root = tempfile::tempdir().unwrap();
    for (run_id, is_ended) in [("killed", false), ("ended", true)] {
        let path = short_run(root.path(), run_id, 3, is_ended);
        if !is_ended {
            // A torn end is cut off when the run is resumed.
            rewrite(&path.join(SEGMENT), |bytes| bytes.extend_from_slice(b"0123abcd {\"li"));
        }
        let before = contents(&path);
        let report = JournalRepair::run(&path).unwrap();
        assert_eq!(report, RepairReport::of_intact(run_id, 4));
        assert_eq!(contents(&path), before, "{run_id}");
    }
}

/// The lines of a file are good, but its bytes are not those that the run had written.
#[test]
fn an_ended_run_with_another_file_is_reopened() {
    let root = tempfile::tempdir().unwrap();
    let path = short_run(root.path(), "run", 3, false);
    let folder = RunFolder::resume(root.path(), "run").unwrap();
    end(&folder);
    JournalWriter::open(&folder).unwrap().writer.append_whole(&[record("t", 3, "answer 3")]).unwrap();
    drop(folder);
    let report = JournalRepair::run(&path).unwrap();
    assert_eq!(report.changed_files, [SEGMENT]);
    assert_eq!((report.kept_lines, report.damaged_lines.len()), (5, 0));
    assert_eq!(samples(&path), [0, 1, 2, 3]);
    check_intact(&path, 5);
}

#[test]
fn what_cannot_be_repaired_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = short_run(root.path(), "run", 3, true);
    let refused = |part: &str| {
        let before = contents(&path);
        let error = JournalRepair::run(&path).unwrap_err().recorded("run_folders");
        assert!(error.contains(part), "{error}");
        assert_eq!(contents(&path), before);
    };
    let writer = RunFolder::resume(root.path(), "run").unwrap();
    refused("another process is writing to");
    drop(writer);
    let foreign = path.join("journal/notes.jsonl");
    fs::write(&foreign, "notes").unwrap();
    refused("notes.jsonl cannot be used: the run has not written it; move it away");
    fs::remove_file(foreign).unwrap();
    rewrite(&path.join(SEGMENT), |bytes| bytes[100] ^= 1);
    let (folder, mut manifest) = RunFolder::open_for_repair(&path).unwrap();
    manifest.parent_run = Some("first".to_owned());
    manifest.write(&folder).unwrap();
    drop(folder);
    refused("it holds answers of the run 'first', scored again");
    rewrite(&path.join(MANIFEST_FILE), |bytes| {
        let place = bytes.windows(5).position(|part| part == b"0.1.0").unwrap();
        bytes[place] = b'1';
    });
    refused("it was edited: the digest at its end does not match");
    let error = JournalRepair::run(root.path()).unwrap_err();
    assert!(matches!(error, RecordError::NotARunFolder { .. }), "{error}");
}

#[test]
fn file_of_another_journal_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = short_run(root.path(), "run", 3, false);
    for name in ["notes.jsonl", "000000.jsonl", "999999.jsonl"] {
        let foreign = path.join("journal").join(name);
        fs::write(&foreign, "notes").unwrap();
        let error = JournalRepair::run(&path).unwrap_err().recorded("run_folders");
        assert!(error.contains(name) && error.contains("it is not a part of this journal"), "{error}");
        fs::remove_file(foreign).unwrap();
    }
    assert_eq!(samples(&path), [0, 1, 2]);
}
