//! Offline use of fetched datasets.

use crate::support::{COMMIT, NAME, Setup, assert_parts, rows, run};
use gage_data::hub::{HubFile, HubSource};
use gage_recorded_messages::RecordedError as _;
use std::fs::{File, FileTimes};

/// A source whose hub cannot be reached.
fn unreachable(setup: &Setup) -> HubSource {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let endpoint = format!("http://{address}").parse().expect("a URL");
    HubSource { endpoint, ..setup.source() }
}

#[test]
fn a_complete_cache_is_used_without_asking() {
    let setup = Setup::with_large(&rows(10_000));
    let online = setup.fetch().expect("a dataset");
    let requests = setup.server.seen().len();
    assert_eq!(setup.offline().expect("a dataset"), online);
    assert_eq!(setup.server.seen().len(), requests);
}

#[test]
fn missing_files_are_named() {
    let setup = Setup::with_large(&rows(10_000));
    let refused = || setup.offline().expect_err("something is missing").recorded("data");
    assert_parts(
        &refused(),
        &["revision 'main' of dataset 'owner/data' is not in the cache", "fetch it once"],
    );
    setup.fetch().expect("a dataset");
    std::fs::remove_file(setup.place("train.jsonl")).expect("removed");
    assert_parts(&refused(), &["'train.jsonl'", "not in the cache"]);
    setup.fetch().expect("a dataset");
    std::fs::remove_file(setup.commit_folder().join("dataset.json")).expect("removed");
    assert_parts(&refused(), &[COMMIT, "not in the cache"]);
    // The file itself is still there, and is checked instead of downloaded.
    let before = setup.server.seen_of("train.jsonl").len();
    setup.fetch().expect("a dataset");
    assert_eq!(setup.server.seen_of("train.jsonl").len(), before);
}

#[test]
fn damaged_files_are_not_used() {
    let bytes = rows(10_000);
    let changed: Vec<u8> = bytes.iter().map(|byte| byte ^ 1).collect();
    for damage in [&bytes[..5_000], &changed] {
        let setup = Setup::with_large(&bytes);
        setup.fetch().expect("a dataset");
        std::fs::write(setup.place("train.jsonl"), damage).expect("a file");
        // A time other than the recorded one, regardless of the clock.
        let times = FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        let file = File::options().write(true).open(setup.place("train.jsonl")).expect("a file");
        file.set_times(times).expect("times");
        let error = setup.offline().expect_err("damaged").recorded("data");
        assert_parts(&error, &["'train.jsonl'", "damaged", "expected", "found"]);
        setup.fetch().expect("a dataset");
        assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), bytes);
        setup.offline().expect("a dataset");
    }
}

#[test]
fn a_touched_file_is_checked_and_used() {
    let setup = Setup::with_large(&rows(10_000));
    let online = setup.fetch().expect("a dataset");
    let file = File::options().write(true).open(setup.place("train.jsonl")).expect("a file");
    file.set_times(FileTimes::new().set_modified(std::time::UNIX_EPOCH)).expect("times");
    assert_eq!(setup.offline().expect("a dataset"), online);
}

#[test]
fn a_hub_that_cannot_be_reached() {
    let setup = Setup::with_large(&rows(10_000));
    let source = unreachable(&setup);
    let error = run(&source).expect_err("unreachable").recorded("data");
    assert_parts(&error, &["/api/datasets/owner/data/revision/main: ", "5 attempts"]);
    assert!(!error.contains("offline"), "{error}");
    let online = setup.fetch().expect("a dataset");
    // The fetched files are moved to where they would be had they come from that hub.
    std::fs::rename(setup.hub_folder(&setup.server.endpoint()), setup.hub_folder(source.endpoint.as_str()))
        .expect("moved");
    assert_parts(&run(&source).expect_err("unreachable").recorded("data"), &["offline mode"]);
    // A commit needs no request.
    let source = HubSource { revision: COMMIT.to_owned(), ..source };
    let digests = |files: &[HubFile]| files.iter().map(|file| file.digest).collect::<Vec<_>>();
    assert_eq!(digests(&run(&source).expect("a dataset").files), digests(&online.files));
}

#[test]
fn another_split_of_a_cached_commit_is_missing_offline() {
    let setup = Setup::new();
    setup.server.file(NAME, "train.csv", "a\n1\n");
    setup.server.file(NAME, "test.csv", "a\n2\n");
    let of = |split: &str| HubSource { split: Some(split.to_owned()), ..setup.source() };
    run(&of("train")).expect("a dataset");
    let offline = |split: &str| run(&HubSource { offline: true, ..of(split) });
    assert!(offline("train").is_ok());
    assert_parts(
        &offline("test").expect_err("missing").recorded("data"),
        &["'test.csv'", "not in the cache"],
    );
    assert_parts(
        &offline("dev").expect_err("missing").recorded("data"),
        &["no split 'dev'", "'test', 'train'"],
    );
    // Both are stored side by side.
    run(&of("test")).expect("a dataset");
    assert!(offline("train").is_ok() && offline("test").is_ok());
}
