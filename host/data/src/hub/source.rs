//! Request to a hub and its result.

use gage_config::Permissions;
use gage_core::Digest;
use gage_secrets::SecretString;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// Kind of a hub repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubKind {
    /// Rows.
    #[default]
    Dataset,
    /// Model files.
    Model,
}

impl HubKind {
    /// Returns the name that messages use.
    pub(super) fn noun(self) -> &'static str {
        match self {
            HubKind::Dataset => "dataset",
            HubKind::Model => "model",
        }
    }

    /// Returns the place where its token is configured.
    pub(super) fn token(self) -> &'static str {
        match self {
            HubKind::Dataset => "`token: ${HF_TOKEN}` in a suite",
            HubKind::Model => "the variable `HF_TOKEN`",
        }
    }

    /// Returns the name in its URLs and of its folder in the cache.
    pub(super) fn folder(self) -> &'static str {
        match self {
            HubKind::Dataset => "datasets",
            HubKind::Model => "models",
        }
    }

    /// Returns the name of its files.
    pub(super) fn holds(self) -> &'static str {
        match self {
            HubKind::Dataset => "data",
            HubKind::Model => "model",
        }
    }

    /// Returns a description of the readable files.
    pub(super) fn readable(self) -> &'static str {
        match self {
            HubKind::Dataset => {
                ".jsonl, .ndjson, .json, .csv, .tsv (each also as .gz or .zst) and .parquet can be read"
            }
            HubKind::Model => "only .gguf can be read",
        }
    }

    /// Returns the format implied by a file name, if such a repository is fetched for it.
    pub(super) fn format(self, path: &str) -> Option<HubFormat> {
        HubFormat::of_path(path).filter(|format| (*format == HubFormat::Gguf) == (self == HubKind::Model))
    }
}

/// A dataset or a model on the hub, and the part of it to fetch.
#[derive(Clone, Debug)]
pub struct HubSource {
    /// Kind of the repository.
    pub kind: HubKind,
    /// `owner/name`, or `name` alone.
    pub name: String,
    /// A branch, a tag or a commit; usually `main`.
    pub revision: String,
    /// Subset; required if the dataset has several and no default.
    pub subset: Option<String>,
    /// Split; required if there are several.
    pub split: Option<String>,
    /// Patterns of paths in the repository. If any are given, subset and split are ignored.
    pub data_files: Vec<String>,
    /// Base URL of the hub; usually `https://huggingface.co`.
    pub endpoint: Url,
    /// Sent only to the endpoint.
    pub token: Option<SecretString>,
    /// True if the network may not be used.
    pub offline: bool,
    /// Folder of the cache; created if missing.
    pub cache: PathBuf,
    /// Time limits and retries.
    pub timings: HubTimings,
    /// The hosts that may be connected to, those of redirects included.
    pub permissions: Permissions,
}

/// Time limits and retries of requests to a server.
#[derive(Clone, Copy, Debug)]
pub struct HubTimings {
    /// Time limit for a connection; default 10 s.
    pub connect: Duration,
    /// Time limit for the next bytes; default 60 s.
    pub read: Duration,
    /// Maximum requests for the same thing without a byte gained; default 5.
    pub attempts: u32,
    /// Wait before the second request; doubles for each further one. Default 0.5 s.
    pub first_wait: Duration,
    /// Longest wait. A server that asks for a longer one is not retried. Default 60 s.
    pub longest_wait: Duration,
}

impl Default for HubTimings {
    fn default() -> HubTimings {
        HubTimings {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(60),
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// Checked files of one subset and split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubDataset {
    /// Name, as requested.
    pub name: String,
    /// Revision, as requested.
    pub revision: String,
    /// Commit that the revision resolved to: 40 hexadecimal digits.
    pub commit: String,
    /// Files in the order of the patterns that chose them; those of one pattern by path.
    pub files: Vec<HubFile>,
    /// Common format of the files.
    pub format: HubFormat,
}

/// One file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// Path in the repository.
    pub path: String,
    /// Local path.
    pub local: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub digest: Digest,
}

/// Readable file formats. All but Parquet and GGUF may be compressed with gzip or zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HubFormat {
    /// One JSON object per line.
    Jsonl,
    /// One JSON document.
    Json,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// A model for llama.cpp.
    Gguf,
}

impl HubFormat {
    /// Returns the format implied by a file name.
    pub(crate) fn of_path(path: &str) -> Option<HubFormat> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let (plain, is_compressed) = match [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending))
        {
            Some(plain) => (plain, true),
            None => (name.as_str(), false),
        };
        match plain.rsplit_once('.')?.1 {
            "jsonl" | "ndjson" => Some(HubFormat::Jsonl),
            "json" => Some(HubFormat::Json),
            "csv" => Some(HubFormat::Csv),
            "tsv" => Some(HubFormat::Tsv),
            "parquet" if !is_compressed => Some(HubFormat::Parquet),
            "gguf" if !is_compressed => Some(HubFormat::Gguf),
            _ => None,
        }
    }

    /// Returns the name of the loader that reads it.
    pub fn name(self) -> &'static str {
        match self {
            HubFormat::Jsonl => "jsonl",
            HubFormat::Json => "json",
            HubFormat::Csv => "csv",
            HubFormat::Tsv => "tsv",
            HubFormat::Parquet => "parquet",
            HubFormat::Gguf => "gguf",
        }
    }
}

/// Receives the progress of a download.
pub trait HubProgress {
    /// Reports that `done` bytes of the file at `path` are on disk, of `total` if known.
    fn file(&self, path: &str, done: u64, total: Option<u64>);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl HubProgress for NoProgress {
    fn file(&self, _path: &str, _done: u64, _total: Option<u64>) {}
}
