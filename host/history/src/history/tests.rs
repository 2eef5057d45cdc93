use super::*;
use crate::test_runs::TestRun;
use crate::{BASELINES_FILE, BaselineState, RefreshReport};
use gage_recorded_messages::RecordedError as _;
use std::fs;

fn opened(root: &Path) -> History {
    let mut history = History::open(root).unwrap();
    history.refresh().unwrap();
    history
}

fn ids(history: &History) -> Vec<String> {
    history.runs().unwrap().into_iter().map(|run| run.run_id).collect()
}

#[test]
fn only_what_changed_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("b", 2, "11").write(root.path());
    TestRun::new("a", 1, "10").write(root.path());
    let mut history = History::open(root.path()).unwrap();
    assert_eq!(history.refresh().unwrap(), RefreshReport { read: 2, ..RefreshReport::default() });
    assert_eq!(history.refresh().unwrap(), RefreshReport::default());
    let runs = history.runs().unwrap();
    assert_eq!(ids(&history), ["a", "b"]);
    let run = &runs[0];
    assert_eq!(
        (run.suite.as_deref(), run.model.as_deref(), run.state()),
        (Some("words"), Some("one"), "complete")
    );
    assert_eq!((run.samples, run.coverage, run.figures.len()), (Some(2), Some(1.0), 1));
    let figure = &run.figures[0];
    assert_eq!((figure.value, figure.n, figure.stderr, figure.low), (Some(0.5), 2, Some(0.1), Some(0.2)));
    assert!(run.lock_digest.is_some() && run.bytes > 0 && !run.is_written);

    TestRun::new("a", 1, "00").write(root.path());
    fs::remove_dir_all(root.path().join("b")).unwrap();
    TestRun::new("c", 3, "11").write(root.path());
    assert_eq!(history.refresh().unwrap(), RefreshReport { read: 2, gone: 1, damaged: 0 });
    assert_eq!(ids(&history), ["a", "c"]);
    assert_eq!(history.run("a").unwrap().figures[0].value, Some(0.0));
    // Another process finds the index up to date.
    assert_eq!(History::open(root.path()).unwrap().refresh().unwrap(), RefreshReport::default());
}

#[test]
fn an_index_that_cannot_be_used_is_built_anew() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "10").write(root.path());
    drop(opened(root.path()));
    let file = root.path().join(INDEX_FILE);
    let whole = fs::read(&file).unwrap();
    let middle = whole.len() / 2;
    let mut torn = whole.clone();
    torn[100..middle].fill(0xa5);
    for (damaged, has_note) in [
        (b"no index".to_vec(), true),
        (torn, true),
        (whole[..middle].to_vec(), true),
        (Vec::new(), false),
        (whole, false),
    ] {
        fs::write(&file, &damaged).unwrap();
        let history = opened(root.path());
        assert_eq!(ids(&history), ["a"]);
        assert_eq!(!history.notes().is_empty(), has_note, "{:?}", history.notes());
        assert!(history.notes().iter().all(|note| note.contains("is rebuilt")), "{:?}", history.notes());
    }
    // Created by another program, and by another version of this one.
    for (application, version, has_note) in [(7, 1, true), (0x6761_6765, 0, false), (0x6761_6765, 99, false)]
    {
        let connection = Connection::open(&file).unwrap();
        connection.pragma_update(None, "application_id", application).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        connection.execute_batch("DROP TABLE runs; CREATE TABLE runs (of_later TEXT)").unwrap();
        drop(connection);
        let history = opened(root.path());
        assert_eq!(ids(&history), ["a"]);
        assert_eq!(!history.notes().is_empty(), has_note);
    }
    // A program of another version recreates its own tables meanwhile.
    let mut history = History::open(root.path()).unwrap();
    Connection::open(&file).unwrap().execute_batch("DROP TABLE runs").unwrap();
    history.refresh().unwrap();
    assert_eq!(ids(&history), ["a"]);
    assert!(history.notes()[0].contains("all runs were read again"), "{:?}", history.notes());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(ids(&opened(root.path())), ["a"], "an index that cannot be written lives in memory");
}

/// Any flipped bit of the index is either without effect, or found and reported.
#[test]
fn flipped_bits_change_no_figure() {
    let root = tempfile::tempdir().unwrap();
    for (minute, name) in (1..).zip(["a", "b", "c"]) {
        TestRun::new(name, minute, "10").write(root.path());
    }
    let listed = |history: &History| serde_json::to_string(&history.runs().unwrap()).unwrap();
    let expected = listed(&opened(root.path()));
    let file = root.path().join(INDEX_FILE);
    let whole = fs::read(&file).unwrap();
    let mut reported = 0;
    // Every bit in turn would take minutes.
    for place in (0..whole.len() * 8).step_by(331) {
        let mut damaged = whole.clone();
        damaged[place / 8] ^= 1 << (place % 8);
        fs::write(&file, &damaged).unwrap();
        let history = opened(root.path());
        assert_eq!(listed(&history), expected, "bit {place}: {:?}", history.notes());
        reported += usize::from(!history.notes().is_empty());
    }
    assert!(reported > 50, "{reported}");
}

#[test]
fn processes_that_look_at_once_see_the_same() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "10").write(root.path());
    let names: Vec<&'static str> = vec!["b", "c", "d", "e", "f", "g"];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let history = opened(root.path());
                    assert!(ids(&history).contains(&"a".to_owned()));
                    assert!(history.notes().is_empty(), "{:?}", history.notes());
                }
            });
        }
        for (minute, name) in (2..).zip(&names) {
            TestRun::new(name, minute, "11").write(root.path());
        }
    });
    assert_eq!(ids(&opened(root.path())), ["a", "b", "c", "d", "e", "f", "g"]);
}

#[test]
fn other_folders_get_no_index_and_unreadable_runs_are_listed() {
    let root = tempfile::tempdir().unwrap();
    assert!(opened(root.path()).runs().unwrap().is_empty());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    let error = History::open(&root.path().join("none")).err().unwrap().to_string();
    assert!(error.contains("failed to read the folder of runs") && error.contains("none"), "{error}");

    fs::create_dir(root.path().join("newer")).unwrap();
    fs::write(root.path().join("newer/manifest.json"), "{\"format_version\": 99}").unwrap();
    fs::create_dir(root.path().join(".gone.deleted")).unwrap();
    fs::write(root.path().join(".gone.deleted/manifest.json"), "{}").unwrap();
    let mut running = TestRun::new("killed", 1, "1");
    running.status = RunStatus::Running;
    running.write(root.path());
    fs::remove_file(root.path().join("killed/gage.lock")).unwrap();
    let history = opened(root.path());
    let unreadable = history.unreadable().unwrap();
    assert_eq!(unreadable.len(), 1);
    assert!(unreadable[0].reason.contains("use a newer gage-host"), "{unreadable:?}");
    let run = history.run("killed").unwrap();
    assert_eq!((run.state(), run.suite.as_deref()), ("killed", None));
    let error = history.run("kiled").unwrap_err().recorded("history");
    assert!(error.contains("did you mean 'killed'?"), "{error}");
}

#[test]
fn trends_say_where_the_suite_became_another() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "1100").write(root.path());
    TestRun { model: "two", ..TestRun::new("b", 2, "1110") }.write(root.path());
    TestRun { data: "b", ..TestRun::new("c", 3, "1111") }.write(root.path());
    TestRun { status: RunStatus::Interrupted, ..TestRun::new("d", 4, "1") }.write(root.path());
    TestRun { suite: "other", ..TestRun::new("e", 5, "1") }.write(root.path());
    let history = opened(root.path());
    let trends = history.trend("words", Some("exact_match")).unwrap();
    let points: Vec<(&str, Option<f64>, bool)> = trends[0]
        .points
        .iter()
        .map(|point| (point.run_id.as_str(), point.figure.value, point.is_redefined))
        .collect();
    assert_eq!(points, [("a", Some(0.5), false), ("b", Some(0.75), false), ("c", Some(1.0), true)]);
    assert_eq!(history.trend("words", None).unwrap(), trends);
    let suites = history.suites().unwrap();
    let names: Vec<(&str, u64)> = suites.iter().map(|suite| (suite.name.as_str(), suite.runs)).collect();
    assert_eq!(names, [("other", 1), ("words", 4)]);
    let error = history.trend("word", None).unwrap_err().recorded("history");
    assert!(error.contains("did you mean 'words'?") && error.contains("other, words"), "{error}");
    let error = history.trend("words", Some("exactmatch")).unwrap_err().recorded("history");
    assert!(error.contains("did you mean 'exact_match'?"), "{error}");
}

#[test]
fn flips_are_counted_between_equal_runs_alone() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "1100").write(root.path());
    TestRun { model: "two", ..TestRun::new("x", 2, "0000") }.write(root.path());
    TestRun::new("b", 3, "110e").write(root.path());
    TestRun { status: RunStatus::Interrupted, ..TestRun::new("c", 4, "0011") }.write(root.path());
    TestRun::new("d", 5, "0101").write(root.path());
    let history = opened(root.path());
    // Runs a and b share three scores, all equal; b and d share three, one of them different.
    for _ in 0..2 {
        let rates = history.flip_rate("words").unwrap();
        assert_eq!(rates.len(), 1);
        let rate = &rates[0];
        assert_eq!((rate.model.as_deref(), rate.pairs, rate.compared, rate.flips), (Some("one"), 2, 6, 1));
        assert!((rate.rate - 1.0 / 6.0).abs() < 1e-15);
        // The second time, the counts come from the index.
        for run in ["a", "b"] {
            fs::write(root.path().join(run).join("samples.jsonl"), "no sample").unwrap();
        }
    }
    // Scores between 0 and 1 do not flip.
    let other = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "12").write(other.path());
    TestRun::new("b", 2, "11").write(other.path());
    assert_eq!(opened(other.path()).flip_rate("words").unwrap(), []);
}

#[test]
fn a_baseline_is_kept_apart_from_the_index() {
    let root = tempfile::tempdir().unwrap();
    for (minute, name) in [(1, "a"), (2, "b")] {
        TestRun::new(name, minute, "1100").write(root.path());
    }
    let mut history = opened(root.path());
    let (a, b) = (history.run("a").unwrap(), history.run("b").unwrap());
    let without_suite = HistoryRun { suite: None, ..b.clone() };
    let error = history.baseline_for(&without_suite).unwrap_err().recorded("history");
    assert!(error.contains("run 'b' does not name its suite"), "{error}");
    let error = history.baseline_for(&b).unwrap_err().recorded("history");
    assert!(error.contains("has no baseline") && error.contains("runs baseline RUN"), "{error}");
    assert_eq!(history.choose_baseline(&a).unwrap().state, BaselineState::There);
    assert_eq!(history.baseline_for(&b).unwrap(), a);
    assert!(matches!(history.baseline_for(&a), Err(HistoryError::IsBaseline { .. })));
    drop(history);
    fs::remove_file(root.path().join(INDEX_FILE)).unwrap();
    let mut history = opened(root.path());
    assert_eq!(history.baseline("words").unwrap().map(|baseline| baseline.run_id), Some("a".to_owned()));
    assert_eq!(
        history.suites().unwrap()[0].baseline.as_ref().map(|baseline| baseline.state),
        Some(BaselineState::There)
    );

    TestRun::new("a", 1, "1111").write(root.path());
    history.refresh().unwrap();
    let error = history.baseline_for(&b).unwrap_err().recorded("history");
    assert!(error.contains("has other samples than when it was chosen"), "{error}");
    fs::remove_dir_all(root.path().join("a")).unwrap();
    history.refresh().unwrap();
    let error = history.baseline_for(&b).unwrap_err().recorded("history");
    assert!(error.contains("run 'a', is gone"), "{error}");
    assert!(history.remove_baseline("words").unwrap() && !history.remove_baseline("words").unwrap());
    assert_eq!(history.baseline("words").unwrap(), None);

    TestRun { status: RunStatus::Interrupted, ..TestRun::new("c", 3, "1") }.write(root.path());
    history.refresh().unwrap();
    let run = history.run("c").unwrap();
    let error = history.choose_baseline(&run).unwrap_err().recorded("history");
    assert!(error.contains("run 'c' is interrupted and not finished"), "{error}");
    for (text, part) in [("{", "EOF"), ("{\"format_version\": 2, \"baselines\": []}", "format version 2")] {
        fs::write(root.path().join(BASELINES_FILE), text).unwrap();
        let error = history.choose_baseline(&b).unwrap_err().recorded("history");
        assert!(error.contains(part) && error.contains(BASELINES_FILE), "{error}");
        assert_eq!(
            fs::read_to_string(root.path().join(BASELINES_FILE)).unwrap(),
            text,
            "it was not overwritten"
        );
    }
}

#[test]
fn choices_made_at_once_are_all_kept() {
    let root = tempfile::tempdir().unwrap();
    let suites = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
    for suite in suites {
        TestRun { suite, ..TestRun::new(suite, 1, "1") }.write(root.path());
    }
    drop(opened(root.path()));
    std::thread::scope(|scope| {
        for suite in suites {
            let root = root.path();
            scope.spawn(move || {
                let mut history = opened(root);
                let run = history.run(suite).unwrap();
                history.choose_baseline(&run).unwrap();
            });
        }
    });
    assert_eq!(opened(root.path()).baselines().unwrap().len(), suites.len());
}

/// Copies a run folder.
fn copy(root: &Path, from: &str, to: &str) {
    fs::create_dir(root.join(to)).unwrap();
    for entry in fs::read_dir(root.join(from)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, root.join(to).join(path.file_name().unwrap())).unwrap();
        }
    }
}

#[test]
fn copies_are_told_apart_by_their_folders() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "10").write(root.path());
    TestRun::new("b", 2, "11").write(root.path());
    copy(root.path(), "a", "a-copy");
    let history = opened(root.path());
    let labels: Vec<String> = history.runs().unwrap().iter().map(HistoryRun::label).collect();
    assert_eq!(labels, ["a", "a-copy (a)", "b"]);
    assert_eq!(history.run("a").unwrap().folder_name(), "a");
    let points = &history.trend("words", None).unwrap()[0].points;
    let folders: Vec<(&str, &str)> = points.iter().map(|point| (&*point.folder, &*point.label)).collect();
    assert_eq!(folders, [("a", "a"), ("a-copy", "a-copy (a)"), ("b", "b")]);
    // A copy is not an independent run with equal results.
    let rates = history.flip_rate("words").unwrap();
    assert_eq!((rates[0].pairs, rates[0].compared, rates[0].flips), (1, 2, 1));

    fs::rename(root.path().join("a"), root.path().join("moved")).unwrap();
    let history = opened(root.path());
    let error = history.run("a").unwrap_err().recorded("history");
    assert_eq!(error, "several folders hold a run with the id 'a': a-copy, moved; name the folder");
}

#[test]
fn a_baseline_is_found_in_a_moved_folder_only() {
    let root = tempfile::tempdir().unwrap();
    TestRun::new("a", 1, "10").write(root.path());
    TestRun::new("b", 2, "11").write(root.path());
    let mut history = opened(root.path());
    let chosen = history.run("a").unwrap();
    history.choose_baseline(&chosen).unwrap();
    let found = |root: &Path| {
        let history = opened(root);
        let baseline = history.baseline("words").unwrap().unwrap();
        let of_b = history.baseline_for(&history.run("b").unwrap());
        let measured = of_b.map(|run| run.folder_name().to_owned()).ok();
        (baseline.state, baseline.folder_name().to_owned(), measured)
    };
    let is = |folder: &str| (BaselineState::There, folder.to_owned(), Some(folder.to_owned()));
    // A copy next to it changes nothing.
    copy(root.path(), "a", "copy");
    assert_eq!(found(root.path()), is("a"));
    // Its folder is gone, and one other folder has the run.
    fs::remove_dir_all(root.path().join("a")).unwrap();
    assert_eq!(found(root.path()), is("copy"));
    // With two copies, the choice is ambiguous.
    copy(root.path(), "copy", "other-copy");
    assert_eq!(found(root.path()), (BaselineState::Gone, "a".to_owned(), None));
    let history = opened(root.path());
    let error = history.baseline_for(&history.run("b").unwrap()).unwrap_err().recorded("history");
    let part = "; copies of it are in copy, other-copy, and the choice is ambiguous; choose another with";
    assert!(error.contains(part), "{error}");
    fs::remove_dir_all(root.path().join("other-copy")).unwrap();
    // Another run in the chosen run's folder is not the baseline.
    copy(root.path(), "b", "a");
    assert_eq!(found(root.path()), is("copy"));
    // Neither is a run with the same id but other samples.
    fs::remove_dir_all(root.path().join("a")).unwrap();
    fs::remove_dir_all(root.path().join("copy")).unwrap();
    TestRun::new("a", 9, "01").write(root.path());
    fs::rename(root.path().join("a"), root.path().join("again")).unwrap();
    assert_eq!(found(root.path()), (BaselineState::Gone, "a".to_owned(), None));
}
