//! Undisturbed downloads.

use crate::support::{COMMIT, NAME, NEWER, Setup, files_below, rows, run};
use gage_core::Digest;
use gage_data::hub::{HubFile, HubFormat, HubProgress, HubSource, fetch};
use gage_recorded_messages::RecordedError as _;
use gage_secrets::SecretString;
use std::cell::RefCell;

#[test]
fn a_fresh_download_and_one_from_the_cache() {
    let setup = Setup::new();
    let (small, large) = (rows(1_000), rows(3 << 20));
    setup.server.file(NAME, "README.md", "# A dataset\n");
    setup.server.file(NAME, "data/train-00000-of-00002.jsonl", small.clone());
    setup.server.large_file(NAME, "data/train-00001-of-00002.jsonl", large.clone());
    setup.server.file(NAME, "notes.txt", "not wanted");

    let dataset = setup.fetch().expect("a dataset");
    let file = |path: &str, bytes: &[u8]| HubFile {
        path: path.to_owned(),
        local: setup.place(path),
        bytes: bytes.len() as u64,
        digest: Digest::of_bytes(bytes),
    };
    assert_eq!((dataset.commit.as_str(), dataset.revision.as_str()), (COMMIT, "main"));
    assert_eq!(dataset.format, HubFormat::Jsonl);
    let expected =
        [file("data/train-00000-of-00002.jsonl", &small), file("data/train-00001-of-00002.jsonl", &large)];
    assert_eq!(dataset.files, expected);
    assert_eq!(std::fs::read(&expected[1].local).expect("a file"), large);
    assert!(files_below(&setup.commit_folder().join("partial")).is_empty());

    // A branch may have moved, so only the revision is requested.
    let before = setup.server.seen().len();
    assert_eq!(setup.fetch().expect("a dataset"), dataset);
    let asked: Vec<String> = setup.server.seen().into_iter().skip(before).map(|seen| seen.target).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].starts_with("/api/datasets/owner/data/revision/main"), "{asked:?}");

    // A commit cannot move.
    let source = HubSource { revision: COMMIT.to_owned(), ..setup.source() };
    assert_eq!(run(&source).expect("a dataset").files, dataset.files);
    assert_eq!(setup.server.seen().len(), before + 1);
}

#[test]
fn a_branch_that_moves_is_followed() {
    let setup = Setup::with_large(b"{}\n");
    assert_eq!(setup.fetch().expect("a dataset").commit, COMMIT);
    setup.server.commit(NAME, "main", NEWER);
    setup.server.large_file(NAME, "train.jsonl", "{\"new\":1}\n");
    let dataset = setup.fetch().expect("a dataset");
    assert_eq!((dataset.commit.as_str(), dataset.files[0].bytes), (NEWER, 10));
    assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), b"{}\n");
}

#[test]
fn names_and_revisions_with_odd_characters() {
    let setup = Setup::new();
    setup.server.commit("squad", "refs/convert/parquet", COMMIT);
    let path = "my data/ü%20+#?/test 1.csv";
    let source =
        HubSource { name: "squad".to_owned(), revision: "refs/convert/parquet".to_owned(), ..setup.source() };
    // A question mark cannot be in a file name everywhere.
    setup.server.file("squad", path, "a\n1\n");
    assert!(run(&source).expect_err("a path").recorded("data").contains("'?'"));

    let setup = Setup::new();
    setup.server.commit("squad", "refs/convert/parquet", COMMIT);
    let source = HubSource { endpoint: setup.source().endpoint, cache: setup.source().cache, ..source };
    setup.server.large_file("squad", &path.replace('?', ""), "a\n1\n");
    assert_eq!(run(&source).expect("a dataset").files[0].bytes, 4);
}

#[test]
fn a_listing_of_several_pages() {
    let setup = Setup::new();
    setup.server.page(3);
    for number in 0..10 {
        setup.server.file(NAME, &format!("train_{number}.csv"), format!("a\n{number}\n"));
    }
    let dataset = setup.fetch().expect("a dataset");
    assert_eq!(dataset.files.len(), 10);
    let pages = setup.server.seen().iter().filter(|seen| seen.target.contains("/tree/")).count();
    assert_eq!(pages, 4);
}

#[test]
fn the_token_stays_with_the_hub() {
    let setup = Setup::with_large(&rows(10_000));
    setup.server.demand_token(NAME, "hf_secret");
    let error = setup.refused();
    assert!(error.contains("gated") && error.contains("HF_TOKEN"), "{error}");

    let source = HubSource { token: Some(SecretString::new("HF_TOKEN", " hf_secret\n")), ..setup.source() };
    assert!(!format!("{source:?}").contains("hf_secret"));
    run(&source).expect("a dataset");
    let seen = setup.server.seen();
    let large: Vec<_> = seen.iter().filter(|seen| seen.is_large).collect();
    assert_eq!(large.len(), 1);
    assert!(large.iter().all(|seen| !seen.headers.contains_key("authorization")));
    let with_token = seen.iter().filter(|seen| seen.headers.contains_key("authorization")).count();
    assert_eq!(with_token, 3);

    let source = HubSource { token: Some(SecretString::new("HF_TOKEN", "hf_other")), ..source };
    let source = HubSource { revision: NEWER.to_owned(), ..source };
    let error = run(&source).expect_err("another token").recorded("data");
    assert!(error.contains("gated") && !error.contains("hf_other"), "{error}");
}

#[test]
fn two_fetches_at_once_download_once() {
    let setup = Setup::with_large(&rows(2 << 20));
    let fetched: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| setup.fetch())).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread").expect("a dataset")).collect()
    });
    assert!(fetched.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(setup.server.seen_of("train.jsonl").len(), 1);
    let listings = setup.server.seen().iter().filter(|seen| seen.target.contains("/tree/")).count();
    assert_eq!(listings, 1);
}

#[test]
fn progress_is_told() {
    #[derive(Default)]
    struct RecordedProgress(RefCell<Vec<(u64, Option<u64>)>>);
    impl HubProgress for RecordedProgress {
        fn file(&self, path: &str, done: u64, total: Option<u64>) {
            assert_eq!(path, "train.jsonl");
            self.0.borrow_mut().push((done, total));
        }
    }
    let setup = Setup::with_large(&rows(1 << 20));
    let told = RecordedProgress::default();
    fetch(&setup.source(), &told, &|| false).expect("a dataset");
    let told = told.0.into_inner();
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(told.last(), Some(&(1 << 20, Some(1 << 20))));
}

#[test]
fn an_empty_file_is_a_file() {
    let setup = Setup::with_large(b"");
    let dataset = setup.fetch().expect("a dataset");
    assert_eq!((dataset.files[0].bytes, dataset.files[0].digest), (0, Digest::of_bytes(b"")));
}

#[cfg(unix)]
#[test]
fn the_cache_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let setup = Setup::with_large(b"{}\n");
    setup.fetch().expect("a dataset");
    for folder in
        [setup.commit_folder(), setup.commit_folder().join("files"), setup.cache.path().join("datasets")]
    {
        let mode = std::fs::metadata(&folder).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", folder.display());
    }
}

#[test]
fn fetching_from_asynchronous_code_is_an_error() {
    let setup = Setup::with_large(b"{}\n");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let error = runtime.block_on(async { setup.refused() });
    assert!(error.contains("asynchronous"), "{error}");
}
