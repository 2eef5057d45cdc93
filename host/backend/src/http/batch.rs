//! Requests to a model under test that are answered in bulk: written to a file in the batch format of their provider, and
//! answered from a file of its results.
//!
//! | provider | line of a request | line of a result |
//! | --- | --- | --- |
//! | `openai_http` | `custom_id`, `method`, `url`, `body` | `custom_id`, `response` with `status_code` and `body`, `error` |
//! | `anthropic_http` | `custom_id`, `params` | `custom_id`, `result` with `type` and `message` or `error` |

mod custom_id;
mod requests;
mod responses;
mod result_line;

use custom_id::CustomId;
use requests::RequestCollector;
use responses::ResponseFiles;
use std::path::{Path, PathBuf};

pub(super) use result_line::BatchResult;

/// Requests of a run that are answered in bulk.
pub struct HttpBatch {
    /// The backend of the model under test. Requests to other backends are not part of the batch.
    backend_id: String,
    mode: BatchMode,
}

enum BatchMode {
    Write(RequestCollector),
    Take(Box<ResponseFiles>),
}

/// What became of the requests of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchReport {
    /// Requests were written, and nothing was sent.
    Written {
        /// The file. It does not exist if there was no request.
        path: PathBuf,
        /// Number of requests.
        requests: u64,
        /// Length of the file in bytes.
        bytes: u64,
    },
    /// Results were taken.
    Taken(TakenResults),
}

/// Counts of the results of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenResults {
    /// Results that answered a request.
    pub taken: u64,
    /// Requests whose result is an error.
    pub failed: u64,
    /// The first error, with its `custom_id`.
    pub first_failure: Option<String>,
    /// Requests that differ from the one that the file has a result for.
    pub changed: u64,
    /// The `custom_id` of the first of them, as it would be now.
    pub first_changed: Option<String>,
    /// Requests without a result.
    pub missing: u64,
    /// Results that belong to no open request.
    pub unused: u64,
}

impl TakenResults {
    /// Returns the number of requests that stay open.
    pub fn open(&self) -> u64 {
        self.failed + self.changed + self.missing
    }
}

/// Error of a file of requests or results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The file cannot be read or written.
    #[error("{path}: {}", gage_core::system_message(source))]
    File {
        /// Path of the file.
        path: String,
        /// Cause.
        source: std::io::Error,
    },
    /// A line is no result.
    #[error("{path}, line {line}: {message}")]
    Line {
        /// Path of the file.
        path: String,
        /// Number of the line, from 1.
        line: u64,
        /// Description of the error.
        message: String,
    },
    /// The requests take too much memory.
    #[error("the requests take more than {} MiB; write them in parts, with a smaller --max-samples", .max_bytes >> 20)]
    TooLarge {
        /// Maximum length of all requests.
        max_bytes: usize,
    },
}

impl BatchError {
    fn file(path: &Path, source: std::io::Error) -> BatchError {
        BatchError::File { path: path.display().to_string(), source }
    }
}

/// The answer of a batch to a request.
pub(super) enum BatchAnswer {
    /// The result of the request.
    Result(BatchResult, String),
    /// The request stays open, for this reason.
    Open(&'static str),
}

/// A request to the server of a batch.
pub(super) struct BatchRequest<'c> {
    pub(super) backend_id: &'c str,
    pub(super) kind: gage_config::HttpKind,
    pub(super) place: Option<&'c crate::api::SamplePlace>,
    pub(super) path: &'c str,
    pub(super) body: &'c [u8],
}

impl HttpBatch {
    /// Collects the requests to a backend, to be written to a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(path: &Path, backend_id: &str) -> Result<HttpBatch, BatchError> {
        let mode = BatchMode::Write(RequestCollector::open(path)?);
        Ok(HttpBatch { backend_id: backend_id.to_owned(), mode })
    }

    /// Opens files of results that answer the requests to a backend. Reads them in full.
    ///
    /// # Errors
    /// If a file cannot be read, a line is no result, or two lines are the results of the same request.
    pub fn take(paths: &[PathBuf], backend_id: &str) -> Result<HttpBatch, BatchError> {
        let mode = BatchMode::Take(Box::new(ResponseFiles::open(paths)?));
        Ok(HttpBatch { backend_id: backend_id.to_owned(), mode })
    }

    /// Returns true if requests to the backend are answered in bulk.
    pub(crate) fn is_of(&self, backend_id: &str) -> bool {
        self.backend_id == backend_id
    }

    /// Returns true if requests are written to a file.
    pub(super) fn keeps_requests(&self) -> bool {
        matches!(self.mode, BatchMode::Write(_))
    }

    /// Answers a request from the results, or adds it to the file. `None` if the request is not part of the batch and must be sent.
    pub(super) async fn answer(&self, request: BatchRequest<'_>) -> Option<BatchAnswer> {
        let place = request.place.filter(|_| self.is_of(request.backend_id));
        match (&self.mode, place) {
            (BatchMode::Write(_), None) => {
                Some(BatchAnswer::Open("no request is sent while requests are written"))
            }
            (BatchMode::Write(collector), Some(place)) => {
                let id = CustomId::new(place, request.path, request.body);
                collector.add(place, &id, &request);
                Some(BatchAnswer::Open("the request is written, and waits for its batch"))
            }
            (BatchMode::Take(_), None) => None,
            (BatchMode::Take(files), Some(place)) => {
                let id = CustomId::new(place, request.path, request.body);
                Some(match files.find(&id).await {
                    Some(result) => BatchAnswer::Result(result, id.to_string()),
                    None => BatchAnswer::Open("the results have no answer to the request"),
                })
            }
        }
    }

    /// Notes that a result answered a request.
    pub(super) fn note_taken(&self) {
        if let BatchMode::Take(files) = &self.mode {
            files.note_taken();
        }
    }

    /// Notes that the result of a request is an error.
    pub(super) fn note_failed(&self, id: &str, message: &str) {
        if let BatchMode::Take(files) = &self.mode {
            files.note_failed(id, message);
        }
    }

    /// Writes the file of requests, and reports what became of all requests.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(&self) -> Result<BatchReport, BatchError> {
        match &self.mode {
            BatchMode::Write(collector) => collector.finish(),
            BatchMode::Take(files) => Ok(BatchReport::Taken(files.report())),
        }
    }
}
