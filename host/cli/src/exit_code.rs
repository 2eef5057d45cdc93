//! Exit codes: what the program tells the shell. The numbers are stable.

/// How a command ended. As an error: how a command ends whose message was printed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// Done.
    Done = 0,
    /// A bug, or a failure of the machine.
    Internal = 1,
    /// The configuration or the command line is wrong. `clap` uses the same number.
    Configuration = 2,
    /// Something is another than what was locked or recorded, or the runs that are compared are not of the
    /// same thing.
    LockMismatch = 3,
    /// Fewer samples were scored than the suite asks for.
    Incomplete = 4,
    /// A run is worse than its baseline.
    Regression = 10,
    /// There are too few samples to tell whether it is.
    Inconclusive = 11,
    /// Stopped by a signal.
    Interrupted = 130,
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
