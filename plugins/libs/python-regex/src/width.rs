//! The number of characters that a part of a pattern can match.

/// The fewest and the most characters that a part can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Width {
    pub(crate) const ZERO: Width = Width { least: 0, most: 0 };
    pub(crate) const ONE: Width = Width { least: 1, most: 1 };

    pub(crate) fn then(self, next: Width) -> Width {
        Width { least: self.least.saturating_add(next.least), most: self.most.saturating_add(next.most) }
    }

    pub(crate) fn or(self, other: Width) -> Width {
        Width { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}
