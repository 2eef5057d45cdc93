//! Panics of libraries that become errors. A panic hook can leave them out, because they tell the user nothing.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Calls a library that panics on some damaged inputs. `None` if it panics: whatever the call was changing may then be
/// incomplete, and must not be used again.
pub fn without_panic<R>(call: impl FnOnce() -> R) -> Option<R> {
    let outer = IS_CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    IS_CAUGHT.set(outer);
    result.ok()
}

/// Returns whether [`without_panic`] catches the panics of this thread.
pub fn panic_is_caught() -> bool {
    IS_CAUGHT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_know_which_panics_are_caught() {
        let nested = || (without_panic::<()>(|| std::panic::resume_unwind(Box::new(1))), panic_is_caught());
        assert_eq!(without_panic(nested), Some((None, true)));
        assert!(!panic_is_caught());
    }
}
