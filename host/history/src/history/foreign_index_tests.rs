//! Indexes that others have written, or may have written.

use super::*;
use crate::checksum::checksum;
use crate::test_runs::TestRun;
use crate::{FlipRate, RefreshReport};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;

fn opened(root: &Path) -> History {
    let mut history = History::open(root).unwrap();
    history.refresh().unwrap();
    history
}

/// A folder with the runs `a` and `b`, and their index.
fn indexed() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "1100").write(root.path());
    TestRun::new("b", 2, "1101").write(root.path());
    drop(opened(root.path()));
    root
}

#[test]
fn index_that_others_may_have_written_is_not_used() {
    type Change = fn(&Path);
    let cases: [(Change, &str); 6] = [
        (
            |index| fs::set_permissions(index, fs::Permissions::from_mode(0o666)).unwrap(),
            "other users can write to it",
        ),
        (|index| fs::hard_link(index, index.with_file_name("other")).unwrap(), "it has several names"),
        (
            |index| {
                fs::rename(index, index.with_file_name("other")).unwrap();
                symlink("other", index).unwrap();
            },
            "it is a symbolic link",
        ),
        (
            |index| {
                fs::remove_file(index).unwrap();
                symlink("nothing", index).unwrap();
            },
            "it is a symbolic link",
        ),
        // SQLite would wait for it.
        (
            |index| {
                let journal = index.with_file_name(format!("{INDEX_FILE}-journal"));
                assert!(Command::new("mkfifo").arg(journal).status().unwrap().success());
            },
            "it is a pipe",
        ),
        (
            |index| {
                fs::remove_file(index).unwrap();
                assert!(Command::new("mkfifo").arg(index).status().unwrap().success());
            },
            "it is a pipe",
        ),
    ];
    for (number, (change, expected)) in cases.into_iter().enumerate() {
        let root = indexed();
        change(&root.path().join(INDEX_FILE));
        let history = opened(root.path());
        assert_eq!(history.runs().unwrap().len(), 2, "{number}");
        let notes = history.notes();
        assert!(notes.len() == 1 && notes[0].contains(expected), "{number}: {notes:?}");
        assert!(!root.path().join("nothing").exists(), "{number}: a link was followed");
    }
}

#[test]
fn views_and_triggers_of_an_index_are_not_run() {
    for statement in [
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM unreadable; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (n INTEGER)",
        "DROP TABLE flips; CREATE VIEW flips AS SELECT '' AS base, '' AS new, '' AS counts, '' AS checksum",
        // Its version is another one, so that the tables would be created anew.
        "PRAGMA user_version = 0; DROP TABLE runs; CREATE VIEW runs AS SELECT 1",
    ] {
        let root = indexed();
        Connection::open(root.path().join(INDEX_FILE)).unwrap().execute_batch(statement).unwrap();
        let history = opened(root.path());
        assert_eq!(history.runs().unwrap().len(), 2, "{statement}");
        assert!(history.notes()[0].contains("is rebuilt"), "{statement}: {:?}", history.notes());
        let is_there = |name: &str| {
            let sql = "SELECT count(*) FROM sqlite_master WHERE name = ?1";
            history.index.read(|connection| connection.query_row(sql, [name], |row| row.get(0))).unwrap()
        };
        let found: [i64; 4] = ["t", "v", "more", "runs"].map(is_there);
        assert_eq!(found, [0, 0, 0, 1], "{statement}");
    }
}

/// An archive sets all times of a file but that of the last change of its inode.
#[test]
fn runs_of_an_archive_are_read_again() {
    let root = indexed();
    let manifest = root.path().join("a/manifest.json");
    let changed = || {
        let data = fs::metadata(&manifest).unwrap();
        (data.ctime(), data.ctime_nsec())
    };
    let before = changed();
    while changed() == before {
        fs::set_permissions(&manifest, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let mut history = History::open(root.path()).unwrap();
    assert_eq!(history.refresh().unwrap(), RefreshReport { read: 1, ..RefreshReport::default() });
}

#[test]
fn flips_of_an_archive_are_counted_again() {
    let root = indexed();
    let flips = |history: &History| -> Vec<u64> {
        let rates: Vec<FlipRate> = history.flip_rate("words").unwrap();
        rates.iter().map(|rate| rate.flips).collect()
    };
    assert_eq!(flips(&opened(root.path())), [1]);
    // Forged counts with a checksum that fits.
    let connection = Connection::open(root.path().join(INDEX_FILE)).unwrap();
    let [base, new, counts]: [String; 3] = connection
        .query_row("SELECT base, new, counts FROM flips", [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?])
        })
        .unwrap();
    let forged = counts.replace(",1]", ",4]");
    let sum = checksum([&base, &new, &forged].map(|column| Some(column.as_bytes())));
    connection.execute("UPDATE flips SET counts = ?1, checksum = ?2", [&forged, &sum]).unwrap();
    drop(connection);
    assert_eq!(flips(&opened(root.path())), [4], "the forgery is a good one");
    TestRun::new("a", 1, "1100").write(root.path());
    assert_eq!(flips(&opened(root.path())), [1]);
}

#[test]
fn run_that_cannot_be_read_leaves_the_others_listed() {
    type Change = fn(&Path);
    let cases: [(Change, &str); 5] = [
        (|run| replace_by_pipe(&run.join("manifest.json")), "manifest.json cannot be used: it is a pipe"),
        (|run| replace_by_pipe(&run.join("summary.json")), "summary.json cannot be used: it is a pipe"),
        (|run| replace_by_pipe(&run.join("gage.lock")), "gage.lock cannot be used: it is a pipe"),
        (
            |run| {
                fs::remove_file(run.join("summary.json")).unwrap();
                symlink("/dev/zero", run.join("summary.json")).unwrap();
            },
            "summary.json cannot be used: it is a symbolic link",
        ),
        (
            |run| fs::File::create(run.join("manifest.json")).unwrap().set_len(200 << 20).unwrap(),
            "manifest.json cannot be used: it has 200 MiB; at most 64 MiB are allowed for a manifest",
        ),
    ];
    for (change, expected) in cases {
        let root = indexed();
        change(&root.path().join("a"));
        let history = opened(root.path());
        let runs: Vec<String> = history.runs().unwrap().into_iter().map(|run| run.run_id).collect();
        assert_eq!(runs, ["b"], "{expected}");
        let unreadable = history.unreadable().unwrap();
        assert!(unreadable.len() == 1 && unreadable[0].reason.contains(expected), "{unreadable:?}");
    }
}

fn replace_by_pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
