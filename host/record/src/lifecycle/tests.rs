use super::*;
use crate::{JournalWriter, MergedShard, RunIdentity};
use gage_recorded_messages::RecordedError as _;

fn begin(root: &Path, run_id: &str) -> RunFolder {
    let folder = RunFolder::create(root, run_id).unwrap();
    Manifest::new(run_id, "0.1.0", RunIdentity::default()).write(&folder).unwrap();
    folder
}

#[test]
fn answers_that_were_scored_again_are_no_run_to_go_on_with() {
    let root = tempfile::tempdir().unwrap();
    let folder = begin(root.path(), "again");
    let mut manifest = Manifest::read(folder.path()).unwrap();
    manifest.parent_run = Some("first".to_owned());
    manifest.write(&folder).unwrap();
    drop(folder);
    let error = RunFolder::resume(root.path(), "again").unwrap_err().recorded("run_folders");
    assert!(error.contains("answers of the run 'first', scored again"), "{error}");
    let folder = begin(root.path(), "judged");
    manifest = Manifest { run_id: "judged".to_owned(), is_rejudged: true, ..manifest };
    manifest.write(&folder).unwrap();
    JournalWriter::open(&folder).unwrap();
    drop(folder);
    RunFolder::resume(root.path(), "judged").unwrap();
}

/// A folder without a manifest could be taken for a run that lost it.
#[test]
fn only_a_run_that_never_started_is_deleted() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    RunFolder::create(root.path(), "run").unwrap().delete_unstarted();
    assert!(!path.exists());
    begin(root.path(), "run").delete_unstarted();
    assert!(RunFolder::has_manifest(&path));
}

#[test]
fn merging_replaces_only_what_was_merged() {
    let root = tempfile::tempdir().unwrap();
    let create = || RunFolder::create_merged(root.path(), "run");
    assert!(create().is_err(), "there is no folder");
    let shard = root.path().join("run/shards/01-of-02");
    fs::create_dir_all(&shard).unwrap();
    let folder = create().unwrap();
    let mut manifest = Manifest::new("run", "0.1.0", RunIdentity::default());
    manifest.shards = vec![MergedShard { number: 1, ..MergedShard::default() }];
    manifest.write(&folder).unwrap();
    JournalWriter::open(&folder).unwrap();
    let segment = folder.path_of("journal/000001.jsonl");
    let written = fs::read(&segment).unwrap();
    assert!(matches!(create(), Err(RecordError::Locked { .. })));
    drop(folder);
    let error = RunFolder::resume(root.path(), "run").unwrap_err().recorded("run_folders");
    assert!(error.contains("it was merged from shards"), "{error}");
    let folder = create().unwrap();
    assert!(!segment.exists() && RunFolder::has_manifest(folder.path()) && shard.exists());
    // A process that is killed here leaves a manifest and a journal that belong together.
    assert_eq!(Manifest::read(folder.path()).unwrap().journal_id, folder.journal_id());
    JournalWriter::open(&folder).unwrap();
    assert_eq!(fs::read(&segment).unwrap(), written, "merging again changes no byte");
    Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
    drop(folder);
    assert!(matches!(create(), Err(RecordError::RunExists { .. })), "another run is in the folder");
}

#[test]
fn only_an_unfinished_scoring_is_begun_again() {
    let root = tempfile::tempdir().unwrap();
    let write = |status, parent_run: Option<&str>, is_rejudged| {
        let _ = fs::remove_dir_all(root.path().join("again"));
        let folder = begin(root.path(), "again");
        let mut manifest = Manifest::read(folder.path()).unwrap();
        manifest = Manifest { parent_run: parent_run.map(str::to_owned), is_rejudged, status, ..manifest };
        manifest.write(&folder).unwrap();
        JournalWriter::open(&folder).unwrap();
        fs::write(folder.path_of("samples.jsonl"), "").unwrap();
    };
    for (status, parent_run, is_rejudged, is_begun) in [
        (RunStatus::Running, Some("first"), false, true),
        (RunStatus::Interrupted, Some("first"), false, true),
        (RunStatus::Complete, Some("first"), false, false),
        (RunStatus::Incomplete, Some("first"), false, false),
        // Judges were paid for.
        (RunStatus::Running, Some("first"), true, false),
        (RunStatus::Running, Some("other"), false, false),
        // Its answers were paid for.
        (RunStatus::Running, None, false, false),
    ] {
        write(status, parent_run, is_rejudged);
        let segment = root.path().join("again/journal/000001.jsonl");
        match RunFolder::create_scoring(root.path(), "again", "first") {
            Ok(folder) => {
                assert!(folder.writer_lock.is_some() && !segment.exists());
                assert_eq!(Manifest::read(folder.path()).unwrap().journal_id, folder.journal_id());
            }
            Err(error) => {
                assert!(matches!(error, RecordError::RunExists { .. }), "{error}");
                assert!(segment.exists());
            }
        }
        let was_begun = !segment.exists();
        assert_eq!(was_begun, is_begun, "{status:?} {parent_run:?} {is_rejudged}");
    }
    write(RunStatus::Running, Some("first"), false);
    let error = RunFolder::resume(root.path(), "again").unwrap_err().recorded("run_folders");
    assert!(error.contains("`gage-host score first --run-id again`"), "{error}");
}

#[test]
fn ended_run_resumes_only_with_its_own_journal_and_manifest() {
    let root = tempfile::tempdir().unwrap();
    let folder = begin(root.path(), "one");
    let journal = folder.path_of("journal/000001.jsonl");
    JournalWriter::open(&folder).unwrap();
    let whole = fs::read(&journal).unwrap();
    let mut manifest = Manifest::read(folder.path()).unwrap();
    let digest = folder.digest_of("journal/000001.jsonl").unwrap().unwrap();
    manifest.files.insert("journal/000001.jsonl".to_owned(), digest);
    manifest.finish(RunStatus::Complete);
    manifest.write(&folder).unwrap();
    drop(folder);
    let length = whole.len();
    let had = format!("and had {length} when the run ended");
    for (bytes, part) in [
        (Some(&whole[..length / 2]), had.as_str()),
        (Some(&[]), had.as_str()),
        (Some(&[&whole[..], b"\0\0\n"].concat()[..]), had.as_str()),
        (Some(&whole.to_ascii_uppercase()[..]), "line 1: "),
        (None, "is gone"),
    ] {
        match bytes {
            Some(bytes) => fs::write(&journal, bytes).unwrap(),
            None => fs::remove_file(&journal).unwrap(),
        }
        let error = RunFolder::resume(root.path(), "one").unwrap_err().recorded("run_folders");
        assert!(error.contains("000001.jsonl") && error.contains(part), "{error}");
    }
    fs::write(&journal, &whole).unwrap();
    let foreign = root.path().join("one/journal/000002.jsonl");
    fs::write(&foreign, whole).unwrap();
    let error = RunFolder::resume(root.path(), "one").unwrap_err().recorded("run_folders");
    assert!(error.contains("000002.jsonl") && error.contains("has not written it"), "{error}");
    fs::remove_file(foreign).unwrap();
    RunFolder::resume(root.path(), "one").unwrap();
    let path = root.path().join("one/manifest.json");
    let edited = fs::read_to_string(&path).unwrap().replace("0.1.0", "0.1.1");
    fs::write(&path, edited).unwrap();
    let error = RunFolder::resume(root.path(), "one").unwrap_err().recorded("run_folders");
    assert!(error.contains("it was edited"), "{error}");
}

#[test]
fn a_run_has_one_writer_and_its_id_is_taken() {
    let root = tempfile::tempdir().unwrap();
    let writer = begin(root.path(), "one");
    let error = RunFolder::resume(root.path(), "one").unwrap_err();
    assert!(matches!(&error, RecordError::Locked { path } if path == writer.path()), "{error}");
    assert!(error.to_string().contains(&writer.path().display().to_string()), "{error}");

    drop(writer);
    let error = RunFolder::create(root.path(), "one").unwrap_err().recorded("run_folders");
    assert!(error.contains("--resume") && error.contains("--run-id"), "{error}");
    assert_eq!(RunFolder::resume(root.path(), "one").unwrap().run_id(), "one");
}

#[test]
fn an_id_that_leaves_the_root_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for run_id in ["../x", "a/b", "", ".hidden"] {
        let error = RunFolder::create(root.path(), run_id).unwrap_err().recorded("run_folders");
        assert!(error.starts_with("run id '"), "{error}");
        assert!(matches!(RunFolder::resume(root.path(), run_id), Err(RecordError::InvalidRunId(_))));
    }
}

#[test]
fn only_a_folder_in_which_nothing_was_begun_is_taken_over() {
    let root = tempfile::tempdir().unwrap();
    // Killed between the journal and the manifest.
    let first = RunFolder::create(root.path(), "killed").unwrap().journal_id();
    let folder = begin(root.path(), "killed");
    assert_ne!(folder.journal_id(), first);
    JournalWriter::open(&folder).unwrap();

    fs::create_dir(root.path().join("mine")).unwrap();
    fs::write(root.path().join("mine/notes.txt"), "keep").unwrap();
    assert!(matches!(RunFolder::create(root.path(), "mine"), Err(RecordError::RunExists { .. })));
    assert_eq!(fs::read_dir(root.path().join("mine")).unwrap().count(), 1);
}

#[test]
fn what_is_not_there_cannot_be_resumed_or_read() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(RunFolder::resume(root.path(), "none"), Err(RecordError::RunMissing { .. })));
    assert!(matches!(RunFolder::open_read(root.path()), Err(RecordError::NotARunFolder { .. })));
}

#[test]
fn a_run_that_is_written_is_not_deleted() {
    let root = tempfile::tempdir().unwrap();
    let writer = begin(root.path(), "one");
    let path = writer.path().to_owned();
    assert!(RunFolder::is_being_written(&path));
    assert!(matches!(RunFolder::delete(&path), Err(RecordError::Locked { .. })));
    drop(writer);
    assert!(!RunFolder::is_being_written(&path));
    RunFolder::delete(&path).unwrap();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    assert!(matches!(RunFolder::delete(root.path()), Err(RecordError::NotARunFolder { .. })));
}

#[test]
fn those_who_look_keep_nobody_from_going_on() {
    let root = tempfile::tempdir().unwrap();
    let path = begin(root.path(), "one").path().to_owned();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..2_000 {
                RunFolder::is_being_written(&path);
            }
        });
        (0..200).for_each(|_| drop(RunFolder::resume(root.path(), "one").unwrap()));
    });
}

#[test]
fn a_reader_does_not_write() {
    let root = tempfile::tempdir().unwrap();
    let writer = begin(root.path(), "one");
    let reader = RunFolder::open_read(writer.path()).unwrap();
    let error = reader.write_atomically("a", b"").unwrap_err().recorded("run_folders");
    assert!(error.ends_with("was opened for reading only"), "{error}");
}

#[test]
fn a_renamed_folder_is_not_resumed_as_another_run() {
    let root = tempfile::tempdir().unwrap();
    drop(begin(root.path(), "one"));
    fs::rename(root.path().join("one"), root.path().join("two")).unwrap();
    let error = RunFolder::resume(root.path(), "two").unwrap_err().recorded("run_folders");
    assert!(error.contains("run 'one'"), "{error}");
}
