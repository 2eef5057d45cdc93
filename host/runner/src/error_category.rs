//! Categories of errors, by who must act on them.

use gage_oci::OciErrorKind;

/// Category of an error, by who must act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCategory {
    /// The suite, the request or a referenced file is wrong.
    Configuration,
    /// The suite differs from its lock, a package from its digest, or the policy does not trust a plugin.
    LockMismatch,
    /// Shards or records of a run are missing.
    Incomplete,
    /// A registry cannot be reached, or cannot answer now. The same call may succeed later.
    RetryLater,
    /// The machine failed, or this library has a bug.
    Internal,
}

impl ErrorCategory {
    /// Returns the category of an error of a registry.
    pub fn of_registry(kind: OciErrorKind) -> ErrorCategory {
        match kind {
            OciErrorKind::Timeout | OciErrorKind::Unreachable | OciErrorKind::Unavailable => {
                ErrorCategory::RetryLater
            }
            OciErrorKind::Digest => ErrorCategory::LockMismatch,
            _ => ErrorCategory::Configuration,
        }
    }

    /// Returns the category of several failures together. They may pass only if each of them may pass.
    pub(crate) fn of_all(failures: &[ErrorCategory]) -> ErrorCategory {
        let worst = [ErrorCategory::Configuration, ErrorCategory::LockMismatch];
        let found = worst.into_iter().find(|category| failures.contains(category));
        found.unwrap_or(ErrorCategory::RetryLater)
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCategory::{Configuration, LockMismatch, RetryLater};
    use super::*;

    #[test]
    fn errors_of_registries_that_may_pass_are_retried() {
        for (kind, expected) in [
            (OciErrorKind::Timeout, RetryLater),
            (OciErrorKind::Unreachable, RetryLater),
            (OciErrorKind::Unavailable, RetryLater),
            (OciErrorKind::Digest, LockMismatch),
            (OciErrorKind::Unauthorized, Configuration),
            (OciErrorKind::NotFound, Configuration),
            (OciErrorKind::TooLarge, Configuration),
            (OciErrorKind::Refused, Configuration),
            (OciErrorKind::Invalid, Configuration),
        ] {
            assert_eq!(ErrorCategory::of_registry(kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn failures_may_pass_together_if_each_may_pass() {
        for (failures, expected) in [
            (&[RetryLater, RetryLater][..], RetryLater),
            (&[RetryLater, LockMismatch], LockMismatch),
            (&[LockMismatch, Configuration], Configuration),
            (&[Configuration, RetryLater], Configuration),
        ] {
            assert_eq!(ErrorCategory::of_all(failures), expected, "{failures:?}");
        }
    }
}
