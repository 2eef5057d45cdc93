//! Datasets and model files that change during a run: no figure is written under the digest of other content.

use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, suite};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Rows of some kilobytes each, so that most of the file is unread at the first request.
fn padded_rows(count: usize, answer: &str) -> String {
    let padding = "x".repeat(4_000);
    let row = |number| {
        format!(
            "{{\"id\":\"q{number}\",\"question\":\"question {number}\",\"answer\":\"{answer}\",\"padding\":\"{padding}\"}}\n"
        )
    };
    (0..count).map(row).collect()
}

/// Runs a suite whose dataset is changed at the first request, and then resumes the run.
fn run_with_change(
    change: impl Fn(&Path) + Send + Sync + 'static,
) -> (Workspace, CommandOutput, CommandOutput) {
    let place: Arc<OnceLock<PathBuf>> = Arc::default();
    let (seen, done) = (Arc::clone(&place), OnceLock::new());
    let server = Server::start(move |_| {
        done.get_or_init(|| change(seen.get().expect("the dataset is written before the run")));
        completion("old")
    });
    let workspace = Workspace::new();
    let path = workspace.write("rows.jsonl", padded_rows(1_000, "old"));
    place.set(path).expect("set once");
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let run = ["run", "suite.yaml", "--run-id", "r", "--concurrency", "1"];
    let ended = workspace.run(&run);
    let resumed = workspace.run(&[&run[..], &["--resume"]].concat());
    (workspace, ended, resumed)
}

#[test]
fn overwritten_dataset_ends_the_run_without_figures() {
    let (workspace, ended, resumed) = run_with_change(|path| {
        fs::write(path, padded_rows(1_000, "new")).expect("written in place");
    });
    let ended = ended.expect_code(3);
    for expected in
        ["rows.jsonl", "changed while the run was reading it: its digest is sha256:", "restore it"]
    {
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    }
    assert!(!workspace.path("runs/r/summary.json").exists());
    resumed.expect_code(2);
}

#[test]
fn shortened_dataset_ends_the_run_without_figures() {
    let (workspace, ended, _) = run_with_change(|path| {
        fs::write(path, padded_rows(900, "old")).expect("written in place");
    });
    let ended = ended.expect_code(3);
    assert!(ended.stderr.contains("changed while the run was reading it"), "{}", ended.stderr);
    assert!(!workspace.path("runs/r/summary.json").exists());
}

/// The run has the first file open, and reads it to its end.
#[test]
fn replaced_dataset_does_not_disturb_a_run() {
    let (workspace, ended, resumed) = run_with_change(|path| {
        let other = path.with_extension("new");
        fs::write(&other, padded_rows(1_000, "new")).expect("written");
        fs::rename(other, path).expect("replaced");
    });
    ended.expect_code(0);
    assert_eq!(workspace.samples("r").len(), 1_000);
    // The path now leads to another dataset.
    resumed.expect_code(2);
}

#[test]
fn rewriting_the_same_content_does_not_disturb_a_run() {
    let (_workspace, ended, resumed) = run_with_change(|path| {
        let content = fs::read(path).expect("read");
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, &content))
            .expect("written in place");
    });
    ended.expect_code(0);
    resumed.expect_code(0);
}
