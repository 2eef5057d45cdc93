//! Datasets, from files to standard Samples. Rows are located, fetched and streamed, preprocessor components convert
//! them, hooks add text and media, and each Sample is validated.
//!
//! ```text
//! locate ─▶ rows: files, examples, filter, shuffle, limit ─▶ stream: preparation on several threads ─▶ Samples
//! ```
//!
//! Memory does not grow with the number of rows, except by 16 bytes per row for unique IDs, and another 24 if rows
//! are shuffled. Rows that examples are picked from are held in memory. The crate imports `gage-core`, `gage-config`,
//! `gage-plugin`, `gage-record` (for the identity of a dataset), `gage-secrets` (for the hub's token) and
//! `gage-template`; it is independent of models and runs. All calls block.

mod answers;
mod checked_file;
mod digests;
mod examples;
mod filter;
pub mod hub;
mod id_dedup;
mod labels;
mod loader;
mod locate;
mod media;
mod missing_fields;
mod object_text;
mod preparation;
mod private_folder;
mod python_random;
mod rejection;
mod report;
mod row;
mod row_builder;
mod row_fields;
mod rows;
mod shuffle;
mod source;
mod stream;

pub use answers::{AnswerKey, AnswersError, AnswersFile, GivenAnswer};
pub use hub::{HubError, HubProgress, NoProgress};
pub use id_dedup::IdDeduplicator;
pub use locate::{LocateError, LocateOptions, LocatedFiles, check, few_shot_digest, locate, open_located};
pub use media::{MediaError, MediaErrorKind, MediaSource, MediaStore, ReplyMedia, data_url_of};
pub use missing_fields::{MissingField, OtherTypes};
pub use preparation::{HasMedia, Preparation, PreparedSample, SampleProjection, ValidSample};
pub use rejection::{Rejection, RejectionStage};
pub use report::{
    Count, Distribution, Offender, Reason, ReferenceProblem, Statistics, StatisticsReport, TokenCounter,
    Validation, ValidationReport,
};
pub use row::{DataError, Row, RowPosition, RowProblem};
pub use rows::Rows;
pub use stream::{StreamReport, stream, stream_kept};
