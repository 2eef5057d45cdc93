//! Exit codes of the program, which are stable.

use gage_runner::ErrorCategory;

/// Outcome of a command. As an error, it ends a command whose message was already printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// Success.
    Done = 0,
    /// A bug, or a failure of the machine.
    Internal = 1,
    /// The configuration or the command line is wrong. `clap` uses the same number.
    Configuration = 2,
    /// Something differs from the lock or the record, an input changed during the run, the compared runs do not
    /// have the same definition, the SDK in a project is not that of this version, a suite does not use the newest
    /// plugins, a package differs from its digest, or the policy does not trust a plugin.
    LockMismatch = 3,
    /// Fewer samples were scored than the suite requires.
    Incomplete = 4,
    /// A server or a registry is away or busy: the run can be resumed, or the command repeated, when it is back.
    RetryLater = 5,
    /// A run is worse than its baseline.
    Regression = 10,
    /// There are too few samples to decide.
    Inconclusive = 11,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl ExitCode {
    /// Returns the worse of two codes: that of the end that needs the user sooner.
    pub(crate) fn worse(self, other: ExitCode) -> ExitCode {
        if other.severity() > self.severity() { other } else { self }
    }

    fn severity(self) -> u8 {
        match self {
            ExitCode::Done => 0,
            ExitCode::Inconclusive => 1,
            ExitCode::Regression => 2,
            ExitCode::Incomplete => 3,
            ExitCode::RetryLater => 4,
            ExitCode::LockMismatch => 5,
            ExitCode::Configuration => 6,
            ExitCode::Internal => 7,
            ExitCode::Interrupted => 8,
        }
    }
}

impl From<ErrorCategory> for ExitCode {
    fn from(category: ErrorCategory) -> ExitCode {
        match category {
            ErrorCategory::LockMismatch => ExitCode::LockMismatch,
            ErrorCategory::Incomplete => ExitCode::Incomplete,
            ErrorCategory::RetryLater => ExitCode::RetryLater,
            ErrorCategory::Internal => ExitCode::Internal,
            _ => ExitCode::Configuration,
        }
    }
}

impl std::fmt::Display for ExitCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the program ends with the exit code {}", *self as u8)
    }
}

impl std::error::Error for ExitCode {}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> std::process::ExitCode {
        std::process::ExitCode::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_of_two_codes_does_not_depend_on_their_order() {
        for (one, other, expected) in [
            (ExitCode::Done, ExitCode::Incomplete, ExitCode::Incomplete),
            (ExitCode::Incomplete, ExitCode::Configuration, ExitCode::Configuration),
            (ExitCode::RetryLater, ExitCode::Interrupted, ExitCode::Interrupted),
            (ExitCode::Done, ExitCode::Done, ExitCode::Done),
        ] {
            assert_eq!(one.worse(other), expected, "{one:?} {other:?}");
            assert_eq!(other.worse(one), expected, "{other:?} {one:?}");
        }
    }
}
