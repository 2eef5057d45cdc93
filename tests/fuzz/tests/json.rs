//! Fuzzes the readers and the writer of JSON.

use gage_fuzz::{config, sample_readers};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sample_readers_agree_with_serde_json(text in sample_readers::texts()) {
        let result = sample_readers::check(&text);
        prop_assert!(result.is_ok(), "{}: {text}", result.err().unwrap_or_default());
    }
}

/// Inputs that nothing accepts would compare nothing.
#[test]
fn many_generated_texts_are_samples() {
    let mut runner = TestRunner::deterministic();
    let (mut valid, mut refused) = (0, 0);
    for _ in 0..500 {
        let Ok(tree) = sample_readers::texts().new_tree(&mut runner) else { continue };
        let text = tree.current();
        match gage_core::Sample::from_text(&text) {
            Ok(_) => valid += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(valid > 100 && refused > 100, "{valid} valid, {refused} refused");
}
