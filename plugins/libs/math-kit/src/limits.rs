//! Limits on the work for one pair of answers.

use std::cell::Cell;

/// Maximum length of an answer that is read as mathematics, in bytes. Longer answers are equal only as texts.
pub const MAX_ANSWER_BYTES: usize = 10_000;

/// Maximum depth of brackets, fractions, powers and signs in each other.
pub const MAX_DEPTH: usize = 48;

/// Maximum number of members of a list, a set, a matrix row or a matrix column.
pub const MAX_MEMBERS: usize = 200;

/// Maximum size of an exact integer, in bits: about 2,400 digits.
pub const MAX_INTEGER_BITS: usize = 8_192;

/// Maximum argument of an exact factorial.
pub const MAX_FACTORIAL: usize = 1_000;

/// Maximum size of a determinant.
pub const MAX_DETERMINANT: usize = 4;

/// Maximum number of steps for one pair of answers. A step is about 2,500 instructions of WebAssembly.
pub const MAX_STEPS: u64 = 100_000;

/// Maximum number of steps for a number in a report.
const MAX_DISPLAY_STEPS: u64 = 2_000;

/// Counts the steps that remain for a pair of answers.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
}

impl Budget {
    /// Creates a budget of [`MAX_STEPS`] steps.
    pub fn new() -> Budget {
        Budget { left: Cell::new(MAX_STEPS) }
    }

    /// Creates a budget for the exact value that a report shows.
    pub fn for_display() -> Budget {
        Budget { left: Cell::new(MAX_DISPLAY_STEPS) }
    }

    /// Takes steps from the budget. `None` if too few are left; none are left from then on.
    pub fn spend(&self, steps: u64) -> Option<()> {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    /// Returns whether all steps are spent.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Returns the number of steps taken so far.
    pub fn spent(&self) -> u64 {
        MAX_STEPS - self.left.get()
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new()
    }
}
