//! Errors of reading a log.

use std::io;
use thiserror::Error;

/// Reason why a log of Inspect cannot be converted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InspectLogError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),

    /// The archive is damaged.
    #[error("the archive is damaged: {0}")]
    Archive(#[from] zip::result::ZipError),

    /// A member of the archive is packed in a way that is not supported.
    #[error(
        "`{member}` is packed in a way that is not supported; expected zstd, deflate or no compression, without a password"
    )]
    Compression {
        /// Name of the member.
        member: String,
    },

    /// A part is larger than the limit.
    #[error("`{part}` has more than {} MiB", .max_bytes >> 20)]
    TooLarge {
        /// Name of the part.
        part: String,
        /// The limit in bytes.
        max_bytes: u64,
    },

    /// A part is not JSON of the expected form.
    #[error("`{part}` cannot be read: {source}")]
    Json {
        /// Name of the part.
        part: String,
        /// The cause.
        source: serde_json::Error,
    },

    /// The file is not a log of Inspect.
    #[error("this is not a log of Inspect; expected a file .eval, or .json with `version` and `eval`")]
    NotALog,

    /// The log has no samples.
    #[error("the log has no samples; run the evaluation without `--no-log-samples`")]
    NoSamples,

    /// No sample has an answer or a score.
    #[error(
        "all {samples} samples ended with an error in Inspect; there is nothing to compare. Run them again with `inspect eval-retry`"
    )]
    OnlyErrors {
        /// Number of the samples.
        samples: usize,
    },

    /// A sample has no id.
    #[error("a sample of the log has no `id`")]
    NoId,

    /// The log has a sample twice.
    #[error("the log has the sample `{id}` twice in epoch {epoch}; a sample may occur once in an epoch")]
    SameSample {
        /// The id of the sample.
        id: String,
        /// The epoch.
        epoch: u64,
    },
}
