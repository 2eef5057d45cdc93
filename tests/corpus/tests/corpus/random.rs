//! Random bytes: as components, and as results of `score`.

use crate::host::{CallEnd, configured, host, load, metric, score};
use gage_plugin::{MetricComponent, PluginHost};
use gage_test_corpus::random::{echo, good_result};
use gage_test_corpus::{bytes, obedient};
use proptest::prelude::*;
use serde_json::json;
use std::sync::{Arc, LazyLock};

static HOST: LazyLock<PluginHost> = LazyLock::new(host);

static ECHO: LazyLock<Arc<MetricComponent>> = LazyLock::new(|| load(&HOST, "echo", &echo()).expect("loads"));

fn returned(bytes: &[u8]) -> CallEnd {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    score(&configured(&ECHO, json!({ "hex": hex })).expect("any parameters will do"))
}

#[test]
fn echo_component_returns_its_input() {
    assert_eq!(returned(&good_result()), CallEnd::Score(0.5));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_never_loaded(mut file in proptest::collection::vec(any::<u8>(), 0..512), is_marked: bool) {
        if is_marked {
            file.splice(..0, bytes::MAGIC);
        }
        let ended = metric(&HOST, "file", &file, json!({}));
        prop_assert!(matches!(ended, Err(CallEnd::Load(_))));
    }

    #[test]
    fn random_changes_of_a_component_do_not_break_the_host(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut file = obedient();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = metric(&HOST, "file", &file, json!({})).map(|metric| score(&metric));
    }

    #[test]
    fn random_results_do_not_break_the_host(result in proptest::collection::vec(any::<u8>(), 0..256)) {
        let ended = returned(&result);
        prop_assert!(matches!(ended, CallEnd::Item(..) | CallEnd::Score(_)));
    }

    #[test]
    fn random_changes_of_a_result_do_not_break_the_host(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut result = good_result();
        for (at, byte) in changes {
            let at = at.index(result.len());
            result[at] = byte;
        }
        let ended = returned(&result);
        match ended {
            CallEnd::Score(number) => prop_assert!(number.is_nan() || number.is_finite()),
            CallEnd::Item(..) => {}
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
