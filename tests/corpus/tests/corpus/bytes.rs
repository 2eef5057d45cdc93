//! Files that are not, or no longer, components: each of them must be refused or work.

use crate::host::{CallEnd, host, metric, score};
use gage_test_corpus::{bytes, obedient};
use serde_json::json;

/// Loads each file as a metric and uses those that load; none may panic.
fn load<'a>(files: impl IntoIterator<Item = std::borrow::Cow<'a, [u8]>>) -> Vec<CallEnd> {
    let host = host();
    let ended = files
        .into_iter()
        .map(|file| metric(&host, "file", &file, json!({})).map_or_else(|ended| ended, |it| score(&it)))
        .collect();
    let good = metric(&host, "obedient", &obedient(), json!({})).expect("loads");
    assert_eq!(score(&good), CallEnd::Score(1.0));
    ended
}

#[test]
fn truncated_component_is_never_loaded() {
    let component = obedient();
    let files = bytes::truncations(&component).map(Into::into);
    for (length, ended) in load(files).into_iter().enumerate() {
        // A file cut between sections is whole if only custom sections are missing.
        let is_whole = ended == CallEnd::Score(1.0) && component[length] == 0;
        assert!(is_whole || matches!(ended, CallEnd::Load(_)), "{length} bytes: {ended:?}");
    }
}

#[test]
fn flipped_bits_do_not_break_the_host() {
    load(bytes::flips(&obedient(), 1).take(300).map(Into::into));
}

#[test]
fn random_bytes_with_a_magic_number_are_never_loaded() {
    for ended in load(bytes::noise(2).take(2_000).map(Into::into)) {
        assert!(matches!(ended, CallEnd::Load(_)), "{ended:?}");
    }
}

#[test]
fn generated_components_are_refused() {
    for ended in load(bytes::smith(3).take(200).map(Into::into)) {
        assert!(matches!(ended, CallEnd::Load(_)), "{ended:?}");
    }
}

#[test]
fn generated_components_inside_a_plugin_do_not_break_the_host() {
    load(bytes::grafted_smith(4).take(100).map(Into::into));
}
