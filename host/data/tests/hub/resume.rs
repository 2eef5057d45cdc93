//! Interrupted downloads.

use crate::hub_server::Fault;
use crate::support::{NAME, Setup, assert_parts, rows};
use gage_data::hub::{HubError, HubProgress, NoProgress, fetch};
use gage_recorded_messages::RecordedError as _;
use proptest::prelude::*;
use std::cell::Cell;

const SIZE: usize = 4 << 20;

/// Counts the received bytes.
#[derive(Default)]
struct Came(Cell<u64>);

impl HubProgress for Came {
    fn file(&self, _path: &str, done: u64, _total: Option<u64>) {
        self.0.set(done);
    }
}

/// Fetches until the first bytes arrive, and returns how many are kept.
fn cancelled(setup: &Setup) -> usize {
    let came = Came::default();
    let error = fetch(&setup.source(), &came, &|| came.0.get() > 0).expect_err("cancelled");
    assert_eq!(error.recorded("data"), HubError::Cancelled.to_string());
    assert!(!setup.place("train.jsonl").exists());
    let kept = std::fs::metadata(setup.partial().0).expect("a partial file").len();
    assert_eq!(kept, came.0.get());
    assert!(kept < SIZE as u64);
    usize::try_from(kept).expect("a size")
}

#[test]
fn a_cut_is_gone_on_from() {
    let bytes = rows(100_000);
    let setup = Setup::with_large(&bytes);
    setup.server.fault("train.jsonl", Fault::CutAfter(30_000));
    setup.fetch().expect("a dataset");
    let seen = setup.server.seen_of("train.jsonl");
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].headers["range"], "bytes=30000-");
    assert!(seen[1].headers["if-range"].starts_with('"'));
    assert_eq!(seen[1].sent, 70_000, "only the rest is sent");
    assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), bytes);
}

#[test]
fn progress_gives_new_attempts() {
    let setup = Setup::with_large(&rows(100_000));
    for _ in 0..12 {
        setup.server.fault("train.jsonl", Fault::CutAfter(5_000));
    }
    setup.fetch().expect("a dataset");
    assert_eq!(setup.server.seen_of("train.jsonl").len(), 13);
}

#[test]
fn a_server_that_always_begins_anew_is_given_up() {
    let setup = Setup::with_large(&rows(100_000));
    // Breaks off at the same place each time, and supports no ranges.
    setup.server.fault("train.jsonl", Fault::CutAfter(5_000));
    for _ in 0..10 {
        setup.server.fault("train.jsonl", Fault::OtherRange);
        setup.server.fault("train.jsonl", Fault::CutAfter(5_000));
    }
    assert_parts(&setup.refused(), &["5 attempts without progress"]);
}

#[test]
fn a_cancelled_download_is_resumed_by_the_next() {
    let bytes = rows(SIZE);
    let setup = Setup::with_large(&bytes);
    let kept = cancelled(&setup);
    setup.fetch().expect("a dataset");
    let seen = setup.server.seen_of("train.jsonl");
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].headers["range"], format!("bytes={kept}-"));
    assert_eq!(seen[1].sent, SIZE - kept);
    assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), bytes);
}

#[test]
fn servers_that_do_not_go_on_begin_anew() {
    let bytes = rows(SIZE);
    let status = Fault::Status(416, Vec::new());
    for (fault, requests) in [(Fault::IgnoreRange, 2), (status, 3), (Fault::OtherRange, 3)] {
        let setup = Setup::with_large(&bytes);
        cancelled(&setup);
        setup.server.fault("train.jsonl", fault);
        setup.fetch().expect("a dataset");
        let seen = setup.server.seen_of("train.jsonl");
        assert_eq!(seen.len(), requests);
        assert!(seen[1].headers.contains_key("range"));
        assert_eq!(seen[requests - 1].sent, SIZE);
        assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), bytes);
    }
}

#[test]
fn a_part_of_another_content_is_thrown_away() {
    let bytes = rows(SIZE);
    let setup = Setup::with_large(&bytes);
    cancelled(&setup);
    let about = setup.partial().1;
    let text = std::fs::read_to_string(&about).expect("a file");
    let digest = gage_core::Digest::of_bytes(&bytes).to_string();
    let other = text.replace(&digest, &gage_core::Digest::of_bytes(b"").to_string());
    assert_ne!(other, text);
    std::fs::write(&about, other).expect("a file");
    setup.fetch().expect("a dataset");
    let seen = setup.server.seen_of("train.jsonl");
    assert!(!seen[1].headers.contains_key("range"));
}

#[test]
fn a_part_that_was_changed_is_noticed() {
    let bytes = rows(SIZE);
    let setup = Setup::with_large(&bytes);
    let kept = cancelled(&setup);
    std::fs::write(setup.partial().0, vec![0; kept]).expect("a file");
    setup.fetch().expect("a dataset");
    let sent: Vec<usize> = setup.server.seen_of("train.jsonl").iter().skip(1).map(|seen| seen.sent).collect();
    assert_eq!(sent, [SIZE - kept, SIZE]);
    assert_eq!(std::fs::read(setup.place("train.jsonl")).expect("a file"), bytes);
}

#[test]
fn waits_are_cancelled_too() {
    let setup = Setup::with_large(b"{}\n");
    setup.server.fault("revision", Fault::Status(503, vec![("retry-after", "60".to_owned())]));
    let asked = || !setup.server.seen().is_empty();
    let error = fetch(&setup.source(), &NoProgress, &asked).expect_err("cancelled");
    assert!(matches!(error, HubError::Cancelled));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The file is right regardless of how often and where a download breaks off.
    #[test]
    fn breaks_anywhere_leave_the_right_bytes(
        size in 1_usize..5_000,
        is_large: bool,
        cuts in prop::collection::vec((0_usize..5_000, 0..4_u8), 0..4),
    ) {
        let (bytes, setup) = (rows(size), Setup::new());
        match is_large {
            true => setup.server.large_file(NAME, "train.jsonl", bytes.clone()),
            false => setup.server.file(NAME, "train.jsonl", bytes.clone()),
        }
        for (at, kind) in cuts {
            setup.server.fault("train.jsonl", match kind {
                0 => Fault::CutAfter(at),
                1 => Fault::EndAfter(at),
                2 => Fault::IgnoreRange,
                _ => Fault::Status(500, Vec::new()),
            });
        }
        let dataset = setup.fetch().expect("a dataset");
        prop_assert_eq!(std::fs::read(&dataset.files[0].local).expect("a file"), bytes);
    }
}
