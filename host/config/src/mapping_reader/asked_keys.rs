//! Record of the keys that readers request, so that a test can compare them with the schema of a suite.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Keys by the path of their mapping, with list items written as `[]`.
pub(crate) type AskedKeys = BTreeMap<String, BTreeSet<&'static str>>;

thread_local! {
    static ASKED: RefCell<AskedKeys> = RefCell::default();
}

/// Adds a key to the record of this thread.
pub(crate) fn record(path: &str, key: &'static str) {
    let mut general = String::new();
    let mut is_index = false;
    for character in path.chars() {
        is_index = (is_index || character == '[') && character != ']';
        if !is_index || character == '[' {
            general.push(character);
        }
    }
    ASKED.with_borrow_mut(|asked| asked.entry(general).or_default().insert(key));
}

/// Takes the record of this thread.
pub(crate) fn take() -> AskedKeys {
    ASKED.take()
}
