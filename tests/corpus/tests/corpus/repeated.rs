//! Many repetitions of the same failure: no resource may run out.

use crate::host::{CallEnd, host, metric, score};
use gage_core::Outcome;
use gage_test_corpus::{obedient, traps};
use serde_json::json;

#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the kernel says it");
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
    // Pages have at least this size on all systems.
    pages.expect("a number") * 4096
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> usize {
    0
}

#[test]
fn ten_thousand_traps_leak_nothing() {
    let host = host();
    let trapping = metric(&host, "trapping", &traps::unreachable(), json!({})).expect("loads");
    let trap = || {
        let ended = score(&trapping);
        assert!(matches!(ended, CallEnd::Item(Outcome::PluginError, _)), "{ended:?}");
    };
    // One-time allocations happen before memory is measured.
    (0..100).for_each(|_| trap());
    let before = resident_bytes();
    (0..10_000).for_each(|_| trap());
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "grew by {grown} bytes");
    let good = metric(&host, "obedient", &obedient(), json!({})).expect("loads");
    assert_eq!(score(&good), CallEnd::Score(1.0));
}

#[test]
fn traps_in_several_threads_leave_room_for_others() {
    let host = host();
    let trapping = metric(&host, "trapping", &traps::unreachable(), json!({})).expect("loads");
    let good = metric(&host, "obedient", &obedient(), json!({})).expect("loads");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..250 {
                    assert!(matches!(score(&trapping), CallEnd::Item(Outcome::PluginError, _)));
                    assert_eq!(score(&good), CallEnd::Score(1.0));
                }
            });
        }
    });
}
