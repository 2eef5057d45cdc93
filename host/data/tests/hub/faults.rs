//! Servers that fail, lie or refuse.

use crate::hub_server::Fault;
use crate::support::{COMMIT, NAME, NEWER, Setup, assert_parts, files_below, rows, run};
use gage_config::{AllowedResources, Permissions};
use gage_data::hub::{HubError, HubSource};

fn status(status: u16) -> Fault {
    Fault::Status(status, Vec::new())
}

#[test]
fn failures_that_pass_are_waited_for() {
    let bytes = rows(50_000);
    let setup = Setup::with_large(&bytes);
    setup.server.fault("revision", status(503));
    setup.server.fault("tree", Fault::Status(429, vec![("retry-after", "0".to_owned())]));
    for code in [500, 502, 408, 429] {
        setup.server.fault("train.jsonl", Fault::Status(code, vec![("retry-after", "0".to_owned())]));
    }
    setup.fetch().expect("a dataset");
    assert_eq!(setup.server.seen_of("train.jsonl").len(), 5);
}

#[test]
fn failures_that_stay_are_an_error() {
    let setup = Setup::with_large(b"{}\n");
    for _ in 0..5 {
        setup.server.fault("train.jsonl", status(500));
    }
    assert_parts(&setup.refused(), &["/train.jsonl: ", "500", "5 attempts"]);
    setup.fetch().expect("a dataset");
}

#[test]
fn a_server_that_wants_an_hour_is_not_waited_for() {
    let setup = Setup::with_large(b"{}\n");
    for target in ["revision", "train.jsonl"] {
        let later = vec![("retry-after", "3600".to_owned())];
        setup.server.fault(target, Fault::Status(429, later));
        let error = setup.refused();
        assert_parts(&error, &["the server answers 429", "wait 3600 s", "the limit of 60 s", "try again"]);
    }
    assert_eq!(setup.server.seen_of("train.jsonl").len(), 1);
    setup.fetch().expect("a dataset");
}

#[test]
fn errors_hold_no_query() {
    let setup = Setup::with_large(b"{}\n");
    for _ in 0..5 {
        setup.server.fault("train.jsonl", status(503));
    }
    assert!(!setup.refused().contains("secret"));
    setup.server.fault("train.jsonl", status(400));
    let error = setup.refused();
    assert_parts(&error, &["400"]);
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn an_address_that_has_expired_is_asked_for_anew() {
    let setup = Setup::with_large(b"{}\n");
    setup.server.fault("train.jsonl", status(403));
    setup.fetch().expect("a dataset");
    let redirects = setup.server.seen().iter().filter(|seen| seen.target.contains("/resolve/")).count();
    assert_eq!(redirects, 2);
}

#[test]
fn unknown_names_are_reported() {
    let setup = Setup::with_large(b"{}\n");
    let error = run(&HubSource { name: "owner/dta".to_owned(), ..setup.source() }).expect_err("unknown");
    assert!(matches!(error, HubError::Denied(_)));
    assert_parts(&error.to_string(), &["'owner/dta' does not exist", "HF_TOKEN"]);
    for revision in ["v2", NEWER] {
        let error = run(&HubSource { revision: revision.to_owned(), ..setup.source() }).expect_err("unknown");
        assert_parts(&error.to_string(), &[&format!("no revision '{revision}'")]);
    }
    setup.server.fault("train.jsonl", status(404));
    assert_parts(&setup.refused(), &["no file 'train.jsonl'"]);
}

#[test]
fn wrong_bytes_are_fetched_once_more() {
    let setup = Setup::with_large(&rows(10_000));
    setup.server.fault("train.jsonl", Fault::WrongBytes);
    setup.fetch().expect("a dataset");
    assert_eq!(setup.server.seen_of("train.jsonl").len(), 2);
}

#[test]
fn bytes_that_stay_wrong_are_an_error() {
    let (small, large) = (Setup::new(), Setup::with_large(&rows(10_000)));
    small.server.file(NAME, "train.jsonl", rows(100));
    for (setup, kind) in [(small, "git:"), (large, "sha256:")] {
        setup.server.fault("train.jsonl", Fault::WrongBytes);
        setup.server.fault("train.jsonl", Fault::WrongBytes);
        let error = setup.refused();
        assert_parts(&error, &["'train.jsonl' of 'owner/data'", "downloaded twice"]);
        assert_eq!(error.matches(kind).count(), 2, "{error}");
        let files = files_below(&setup.commit_folder());
        assert!(
            files.iter().all(|path| path.ends_with("lock") || path.ends_with("dataset.json")),
            "{files:?}"
        );
        setup.fetch().expect("a dataset");
    }
}

#[test]
fn half_a_file_that_looks_whole_is_completed() {
    let bytes = rows(100_000);
    let setup = Setup::with_large(&bytes);
    setup.server.fault("train.jsonl", Fault::EndAfter(50_000));
    setup.fetch().expect("a dataset");
    let sent: Vec<usize> = setup.server.seen_of("train.jsonl").iter().map(|seen| seen.sent).collect();
    assert_eq!(sent, [50_000, 50_000]);
    assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), bytes);
}

#[test]
fn a_card_that_is_changed_on_the_way_is_not_used() {
    let setup = Setup::with_large(b"{}\n");
    setup.server.file(NAME, "README.md", "---\nconfigs: []\n---\n");
    setup.server.fault("README.md", Fault::WrongBytes);
    assert_parts(&setup.refused(), &["card differs from what the hub says"]);
}

#[test]
fn redirects_end() {
    let setup = Setup::with_large(b"{}\n");
    let own = format!("{}/api/datasets/owner/data/revision/main", setup.server.endpoint());
    for _ in 0..11 {
        setup.server.fault("revision", Fault::Status(302, vec![("location", own.clone())]));
    }
    assert_parts(&setup.refused(), &["more than 10 redirects"]);
    assert_eq!(setup.server.seen().len(), 11);
    // An old name leads to the new one.
    let target = "/api/datasets/owner/data/revision/main".to_owned();
    setup.server.fault("revision", Fault::Status(307, vec![("location", target)]));
    setup.fetch().expect("a dataset");
}

#[test]
fn unusable_cache_folder_is_an_error() {
    let setup = Setup::with_large(b"{\"row\":1}\n");
    let cache = setup.cache.path().join("file");
    std::fs::write(&cache, "").expect("written");
    let error = run(&HubSource { cache, ..setup.source() }).expect_err("no folder").to_string();
    assert_parts(&error, &["cache of the hub: cannot"]);
}

#[test]
fn hosts_of_redirects_need_a_permission_too() {
    let setup = Setup::with_large(b"{}\n");
    let fetch = |addresses: &[&str]| {
        let host = |address: &&str| {
            let host = address.trim_start_matches("http://").split('/').next().expect("a host");
            host.parse().expect("a host")
        };
        let net = addresses.iter().map(host).collect();
        let permissions = Permissions::restricted(AllowedResources { net, ..AllowedResources::default() });
        run(&HubSource { permissions, ..setup.source() })
    };
    let (hub, large) = (setup.server.endpoint(), setup.server.address_of(NAME, COMMIT, "train.jsonl"));
    assert!(matches!(fetch(&[]), Err(HubError::Refused(_))));
    assert!(setup.server.seen().is_empty());
    assert!(matches!(fetch(&[&hub]), Err(HubError::Refused(_))));
    assert!(setup.server.seen_of("train.jsonl").is_empty());
    fetch(&[&hub, &large]).expect("a dataset");
}
