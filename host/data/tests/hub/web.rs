//! Model files of servers that are not hubs.

use crate::hub_server::Fault;
use crate::support::{COMMIT, NAME, Setup, files_below};
use gage_core::Digest;
use gage_data::hub::{FetchedFile, HubError, HubProgress, HubTimings, NoProgress, UrlFetchOptions, WebModel};
use gage_recorded_messages::RecordedError as _;
use std::cell::Cell;
use std::time::Duration;

const FILE: &str = "tiny.gguf";

fn content(size: usize) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend((0..size).map(|place| (place * 7 % 251) as u8));
    bytes
}

fn setup(bytes: &[u8]) -> Setup {
    let setup = Setup::new();
    setup.server.large_file(NAME, FILE, bytes);
    setup
}

fn model(setup: &Setup, path: &str) -> WebModel {
    WebModel::read(&setup.server.address_of(NAME, COMMIT, path)).expect("an address")
}

fn fetch_with(
    setup: &Setup,
    wanted: Option<Digest>,
    offline: bool,
    progress: &dyn HubProgress,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<FetchedFile, HubError> {
    let timings = HubTimings { first_wait: Duration::from_micros(1), ..HubTimings::default() };
    let options = UrlFetchOptions { cache: setup.cache.path(), offline, timings, progress, is_cancelled };
    model(setup, FILE).fetch(wanted, options)
}

fn fetch(setup: &Setup, wanted: Option<Digest>, offline: bool) -> Result<FetchedFile, HubError> {
    fetch_with(setup, wanted, offline, &NoProgress, &|| false)
}

fn ranges(setup: &Setup) -> Vec<Option<String>> {
    setup.server.seen_of(FILE).iter().map(|seen| seen.headers.get("range").cloned()).collect()
}

#[test]
fn a_file_is_fetched_once_and_held_to_its_digest() {
    let bytes = content(100_000);
    let setup = setup(&bytes);
    let digest = Digest::of_bytes(&bytes);
    let offline = fetch(&setup, None, true).expect_err("nothing is there");
    assert!(matches!(offline, HubError::Offline { .. }), "{offline}");
    setup.server.fault(FILE, Fault::CutAfter(30_000));
    let file = fetch(&setup, None, false).expect("a file");
    assert_eq!((file.digest, file.bytes, file.was_there), (digest, bytes.len() as u64, false));
    assert_eq!(file.local.file_name().and_then(|name| name.to_str()), Some(FILE));
    assert_eq!(std::fs::read(&file.local).expect("a file"), bytes);
    assert_eq!(ranges(&setup), [None, Some("bytes=30000-".to_owned())], "the rest alone is asked for");
    assert!(!file.address.contains('?'), "a query may hold a secret: {}", file.address);

    for offline in [true, false] {
        let again = fetch(&setup, Some(digest), offline).expect("a file");
        assert_eq!((again.digest, again.was_there), (digest, true));
    }
    assert_eq!(setup.server.seen_of(FILE).len(), 2, "it is there");

    // A file changed in the cache is not used.
    std::fs::write(&file.local, content(5)).expect("written");
    assert!(fetch(&setup, None, true).is_err());
    let mended = fetch(&setup, None, false).expect("a file");
    assert_eq!((mended.digest, mended.was_there), (digest, false));
}

#[test]
fn another_file_than_the_one_that_is_wanted_is_deleted() {
    let setup = setup(&content(1000));
    let wanted = Digest::of_bytes(b"another");
    let refused = fetch(&setup, Some(wanted), false).expect_err("another digest").recorded("data");
    assert!(refused.contains(&wanted.to_string()) && refused.contains("was deleted"), "{refused}");
    let left = files_below(setup.cache.path());
    assert!(left.iter().all(|path| path.ends_with("lock")), "{left:?}");
    // The existing file stays when the server lacks the new one demanded.
    let first = fetch(&setup, None, false).expect("a file");
    fetch(&setup, Some(wanted), false).expect_err("another digest");
    assert_eq!(fetch(&setup, None, true).expect("a file").digest, first.digest);
}

#[test]
fn an_interrupted_fetch_is_gone_on_with_by_the_next() {
    struct Came(Cell<u64>);
    impl HubProgress for Came {
        fn file(&self, _path: &str, done: u64, _total: Option<u64>) {
            self.0.set(done);
        }
    }
    let bytes = content(4 << 20);
    let setup = setup(&bytes);
    let came = Came(Cell::new(0));
    let error = fetch_with(&setup, None, false, &came, &|| came.0.get() > 0).expect_err("cancelled");
    assert!(matches!(error, HubError::Cancelled), "{error}");
    let file = fetch(&setup, None, false).expect("a file");
    assert_eq!(file.digest, Digest::of_bytes(&bytes));
    assert_eq!(ranges(&setup), [None, Some(format!("bytes={}-", came.0.get()))]);
}

#[test]
fn servers_that_do_not_go_on_begin_anew() {
    let bytes = content(100_000);
    for fault in [Fault::IgnoreRange, Fault::OtherRange, Fault::Status(416, Vec::new())] {
        let setup = setup(&bytes);
        setup.server.fault(FILE, Fault::CutAfter(30_000));
        setup.server.fault(FILE, fault.clone());
        let file = fetch(&setup, None, false).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(file.digest, Digest::of_bytes(&bytes), "{fault:?}");
    }
}

#[test]
fn files_that_are_no_model_or_missing_are_refused() {
    let setup = setup(b"<html>log in first</html>");
    let page = fetch(&setup, None, false).expect_err("a page").recorded("data");
    assert!(page.contains("is not in the GGUF format"), "{page}");
    let timings = HubTimings { first_wait: Duration::from_micros(1), ..HubTimings::default() };
    let options = UrlFetchOptions {
        cache: setup.cache.path(),
        offline: false,
        timings,
        progress: &NoProgress,
        is_cancelled: &|| false,
    };
    let missing = model(&setup, "other.gguf").fetch(None, options).expect_err("nothing").recorded("data");
    assert!(missing.contains("no such file (404)") && !missing.contains("revision"), "{missing}");
}
