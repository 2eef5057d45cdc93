//! The request to a hub and its result.

use gage_core::Digest;
use gage_secrets::SecretString;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// What a repository of the hub holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubKind {
    /// Rows.
    #[default]
    Dataset,
    /// Model files.
    Model,
}

impl HubKind {
    /// What messages call it.
    pub(super) fn noun(self) -> &'static str {
        match self {
            HubKind::Dataset => "dataset",
            HubKind::Model => "model",
        }
    }

    /// Where its token is said.
    pub(super) fn token(self) -> &'static str {
        match self {
            HubKind::Dataset => "`token: ${HF_TOKEN}` in a suite",
            HubKind::Model => "the variable `HF_TOKEN`",
        }
    }

    /// What its addresses and its folder in the cache are called.
    pub(super) fn folder(self) -> &'static str {
        match self {
            HubKind::Dataset => "datasets",
            HubKind::Model => "models",
        }
    }

    /// What its files are called.
    pub(super) fn holds(self) -> &'static str {
        match self {
            HubKind::Dataset => "data",
            HubKind::Model => "model",
        }
    }

    /// Returns which files of it can be read.
    pub(super) fn readable(self) -> &'static str {
        match self {
            HubKind::Dataset => {
                ".jsonl, .ndjson, .json, .csv, .tsv (each also as .gz or .zst) and .parquet can be read"
            }
            HubKind::Model => "only .gguf can be read",
        }
    }

    /// The format that a file name tells, of those that such a repository is fetched for.
    pub(super) fn format(self, path: &str) -> Option<HubFormat> {
        HubFormat::of_path(path).filter(|format| (*format == HubFormat::Gguf) == (self == HubKind::Model))
    }
}

/// A dataset or a model on the hub, and which part of it is wanted.
#[derive(Clone, Debug)]
pub struct HubSource {
    /// What it is.
    pub kind: HubKind,
    /// `owner/name`, or `name` alone.
    pub name: String,
    /// A branch, a tag or a commit; usually `main`.
    pub revision: String,
    /// The subset; needed where the dataset has several and none is its default.
    pub subset: Option<String>,
    /// The split; needed where there are several.
    pub split: Option<String>,
    /// Patterns of paths in the repository. Where there are any, subset and split say nothing.
    pub data_files: Vec<String>,
    /// Where the hub is; usually `https://huggingface.co`.
    pub endpoint: Url,
    /// Sent to the endpoint, and to no other host.
    pub token: Option<SecretString>,
    /// Whether the network may not be used.
    pub offline: bool,
    /// The folder of the cache; made where it does not exist.
    pub cache: PathBuf,
    /// How long to wait.
    pub timings: HubTimings,
}

/// How long to wait for a server, and how often to ask again.
#[derive(Clone, Copy, Debug)]
pub struct HubTimings {
    /// For a connection; default 10 s.
    pub connect: Duration,
    /// For the next bytes; default 60 s.
    pub read: Duration,
    /// Most requests for the same thing without a byte gained; default 5.
    pub attempts: u32,
    /// The wait before the second request; each further one is twice as long. Default 0.5 s.
    pub first_wait: Duration,
    /// The longest wait; a server that asks for a longer one is not asked again. Default 60 s.
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

/// The files of one subset and split, all of them checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubDataset {
    /// The name, as asked.
    pub name: String,
    /// The revision, as asked.
    pub revision: String,
    /// The commit that the revision stood for: 40 hexadecimal digits.
    pub commit: String,
    /// The files: in the order of the patterns that chose them, those of one pattern by path.
    pub files: Vec<HubFile>,
    /// What all of them are.
    pub format: HubFormat,
}

/// One file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// The path in the repository.
    pub path: String,
    /// Where it lies.
    pub local: PathBuf,
    /// The size.
    pub bytes: u64,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// The kinds of files that can be read. All but Parquet and GGUF may be compressed with gzip or zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HubFormat {
    /// One JSON object a line.
    Jsonl,
    /// One JSON document.
    Json,
    /// Values separated by commas.
    Csv,
    /// Values separated by tabs.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// A model for llama.cpp.
    Gguf,
}

impl HubFormat {
    /// The format that a file name tells.
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

    /// The name of the loader that reads it.
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

/// Is told how far a download is.
pub trait HubProgress {
    /// `done` bytes of the file at `path` are on the disk, of `total` where that is known.
    fn file(&self, path: &str, done: u64, total: Option<u64>);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl HubProgress for NoProgress {
    fn file(&self, _path: &str, _done: u64, _total: Option<u64>) {}
}
