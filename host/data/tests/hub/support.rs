//! Shared parts of the tests.

use crate::hub_server::HubServer;
use gage_config::Permissions;
use gage_data::hub::{HubDataset, HubError, HubKind, HubSource, HubTimings, NoProgress, fetch};
use gage_recorded_messages::RecordedError as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub const NAME: &str = "owner/data";
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
pub const NEWER: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// A hub with one dataset that has no files, and an empty cache.
pub struct Setup {
    pub server: HubServer,
    pub cache: TempDir,
}

impl Setup {
    pub fn new() -> Setup {
        gage_recorded_messages::record_warnings("data");
        let server = HubServer::start();
        server.commit(NAME, "main", COMMIT);
        Setup { server, cache: tempfile::tempdir().expect("a folder") }
    }

    /// Creates a setup with a large file `train.jsonl`.
    pub fn with_large(bytes: &[u8]) -> Setup {
        let setup = Setup::new();
        setup.server.large_file(NAME, "train.jsonl", bytes);
        setup
    }

    pub fn source(&self) -> HubSource {
        let timings = HubTimings { first_wait: Duration::from_micros(1), ..HubTimings::default() };
        HubSource {
            kind: HubKind::Dataset,
            name: NAME.to_owned(),
            revision: "main".to_owned(),
            subset: None,
            split: None,
            data_files: Vec::new(),
            endpoint: self.server.endpoint().parse().expect("a URL"),
            token: None,
            offline: false,
            cache: self.cache.path().to_owned(),
            timings,
            permissions: Permissions::default(),
        }
    }

    pub fn fetch(&self) -> Result<HubDataset, HubError> {
        run(&self.source())
    }

    pub fn offline(&self) -> Result<HubDataset, HubError> {
        run(&HubSource { offline: true, ..self.source() })
    }

    /// Returns the error of a fetch, as text.
    pub fn refused(&self) -> String {
        self.fetch().expect_err("it fails").recorded("data")
    }

    /// Returns the folder of a hub's datasets.
    pub fn hub_folder(&self, endpoint: &str) -> PathBuf {
        let hub = endpoint.trim_end_matches('/').replace("http://", "").replace(':', "_");
        self.cache.path().join("datasets").join(hub)
    }

    pub fn commit_folder(&self) -> PathBuf {
        self.hub_folder(&self.server.endpoint()).join("owner--data").join(COMMIT)
    }

    /// Returns the path of a complete file.
    pub fn place(&self, path: &str) -> PathBuf {
        self.commit_folder().join("files").join(path)
    }

    /// Returns the one partial file, and the file next to it that describes it.
    pub fn partial(&self) -> (PathBuf, PathBuf) {
        let all = files_below(&self.commit_folder().join("partial"));
        let find = |is_about: bool| {
            let mut found = all.iter().filter(|path| path.extension().is_some() == is_about);
            found.next().expect("a partial file").clone()
        };
        (find(false), find(true))
    }
}

pub fn run(source: &HubSource) -> Result<HubDataset, HubError> {
    fetch(source, &NoProgress, &|| false)
}

/// Generates enough rows for many chunks.
pub fn rows(bytes: usize) -> Vec<u8> {
    (0..).flat_map(|row: u64| format!("{{\"row\":{row}}}\n").into_bytes()).take(bytes).collect()
}

/// Returns all plain files below a folder, in no order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Fails the test unless an error has all of some parts.
pub fn assert_parts(text: &str, parts: &[&str]) {
    text.recorded("data");
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}
