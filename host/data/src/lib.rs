//! From a file to standard Samples: rows are streamed, converted by a preprocessor component,
//! validated, and rendered into the conversation that a model is sent.
//!
//! Memory does not grow with the number of rows, but for 16 bytes a row that keep ids apart
//! (and 8 where rows are shuffled). Imports `gage-core`, `gage-config` and `gage-plugin`;
//! knows nothing of models or runs. All calls block.

mod jsonl;
mod labels;
mod preprocess;
mod prompt;
mod row;
mod shuffle;

pub use jsonl::JsonlRows;
pub use preprocess::{Prepared, Preparer, Rejection};
pub use prompt::{PromptError, PromptRenderer};
pub use row::{DataError, Row, RowProblem, digests, open};
