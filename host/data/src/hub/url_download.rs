//! Cached model file from any server, by its address.
//!
//! ```text
//! <cache>/models/web/<SHA-256 of the address>/file.json    address, size and digest of the fetched file
//! <cache>/models/web/<SHA-256 of the address>/<name>       the file
//! <cache>/models/web/<SHA-256 of the address>/partial      remains of an interrupted download, with its metadata
//! <cache>/models/web/<SHA-256 of the address>/lock         held by the downloading process
//! ```
//!
//! Only the user can state the expected digest of such a file. Without it, the digest of the download is recorded,
//! and the cached file is checked against it.

use super::HubError;
use super::cache::{lock, read_json, write_json};
use super::client::{Client, RequestTarget, connect};
use super::error::shown;
use super::fetch::runtime;
use super::partial::PartialFile;
use super::retry::RetryPolicy;
use super::source::{HubKind, HubProgress, HubTimings};
use super::transfer::Transfer;
use gage_config::Permissions;
use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use url::Url;

/// Maximum length of a file name.
const MAX_NAME_BYTES: usize = 120;

/// Address of a file on a server that states no digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebModel {
    url: Url,
}

/// Options for fetching a file from its address.
#[derive(Clone, Copy)]
pub struct UrlFetchOptions<'a> {
    /// Cache of the hub, which stores the file.
    pub cache: &'a Path,
    /// True to use only the cache.
    pub offline: bool,
    /// Time limits and retries.
    pub timings: HubTimings,
    /// Receives the number of bytes downloaded.
    pub progress: &'a dyn HubProgress,
    /// Called many times to check for cancellation.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// A fetched file.
#[derive(Clone, Debug)]
pub struct FetchedFile {
    /// Address, without its possible secrets.
    pub address: String,
    /// Local path.
    pub local: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub digest: Digest,
    /// True if the file was already in the cache.
    pub was_there: bool,
}

/// Record of a fetched file.
#[derive(Debug, Serialize, Deserialize)]
struct UrlRecord {
    address: String,
    name: String,
    bytes: u64,
    digest: Digest,
}

impl WebModel {
    /// Reads an address.
    ///
    /// # Errors
    /// When it is neither `http` nor `https`.
    pub fn read(text: &str) -> Result<WebModel, String> {
        let url = Url::parse(text).map_err(|error| format!("`{text}` is not an address: {error}"))?;
        match url.scheme() {
            "http" | "https" if url.has_host() => {
                let mut url = url;
                url.set_fragment(None);
                Ok(WebModel { url })
            }
            other => Err(format!("`{text}` is not an address of `http` or `https`, but of `{other}`")),
        }
    }

    /// Fetches the file into the cache, unless it is there. An interrupted download is resumed if the server says
    /// that the file is unchanged, or if `wanted` can verify it. No token is sent.
    ///
    /// Blocks; must not be called from asynchronous code.
    ///
    /// # Errors
    /// When the server cannot be reached or has no such file, or when the cache cannot be written. Also when the
    /// download is not a GGUF file or lacks the wanted digest.
    #[tracing::instrument(name = "url_fetch", skip_all, fields(url = %shown(&self.url)))]
    pub fn fetch(
        &self,
        wanted: Option<Digest>,
        options: UrlFetchOptions<'_>,
    ) -> Result<FetchedFile, HubError> {
        let UrlFetchOptions { cache, offline, timings, progress, is_cancelled } = options;
        let retry = RetryPolicy { timings, cancelled: is_cancelled };
        let key = Digest::of_bytes(self.url.as_str().as_bytes()).hex();
        let folder = cache.join("models").join("web").join(key);
        match self.cached(&folder)? {
            Some(file) if wanted.is_none_or(|wanted| wanted == file.digest) => return Ok(file),
            _ if offline => {
                let missing = match wanted {
                    Some(wanted) => {
                        format!("{} with the digest {wanted} is not in the cache", shown(&self.url))
                    }
                    None => format!("{} is not in the cache", shown(&self.url)),
                };
                return Err(HubError::Offline { missing });
            }
            _ => {}
        }
        let runtime = runtime()?;
        let fetched = runtime.block_on(self.download(wanted, &folder, progress, retry));
        runtime.shutdown_background();
        fetched
    }

    async fn download(
        &self,
        wanted: Option<Digest>,
        folder: &Path,
        progress: &dyn HubProgress,
        retry: RetryPolicy<'_>,
    ) -> Result<FetchedFile, HubError> {
        let _lock = lock(folder, retry).await?;
        // Another process may have fetched it in the meantime.
        if let Some(file) = self.cached(folder)?
            && wanted.is_none_or(|wanted| wanted == file.digest)
        {
            return Ok(file);
        }
        let (name, address) = (self.name(), shown(&self.url));
        let mut partial = PartialFile::open(folder, "partial", None)?;
        // The user named the address, not a suite.
        let permissions = Permissions::default();
        let transfer = Transfer {
            client: &Client::new(connect(retry.timings)?, &self.url, None, &permissions, retry)?,
            url: &self.url,
            asked: RequestTarget { kind: HubKind::Model, name: &address, revision: "", path: Some(&address) },
            commit: None,
            has_digest: wanted.is_some(),
            name: &name,
            progress,
        };
        transfer.complete(&mut partial).await.map_err(|error| self.without_hub(error))?;
        let (bytes, digest) = match self.check(&mut partial, wanted) {
            Ok(checked) => checked,
            Err(error) => {
                // A wrong file must not be resumed.
                let _ = partial.discard();
                return Err(error);
            }
        };
        let local = folder.join(&name);
        partial.finish(&local)?;
        let record = UrlRecord { address, name, bytes, digest };
        write_json(&folder.join("file.json"), &record)?;
        Ok(FetchedFile { address: record.address, local, bytes, digest, was_there: false })
    }

    /// Returns the cached file, if it is whole and matches its record.
    fn cached(&self, folder: &Path) -> Result<Option<FetchedFile>, HubError> {
        let Some(UrlRecord { address, name, bytes, digest }) = read_json(&folder.join("file.json")) else {
            return Ok(None);
        };
        let local = folder.join(&name);
        let Ok(file) = foreign_file::open_named(&local, FileLimit::NONE) else { return Ok(None) };
        let found = Digest::of_reader(file).map_err(HubError::cache("read", &local))?;
        if found != digest {
            tracing::warn!(
                "{} is damaged: its digest is {found}, not {digest}; it is fetched again",
                local.display()
            );
            return Ok(None);
        }
        Ok(Some(FetchedFile { address, local, bytes, digest, was_there: true }))
    }

    /// Returns the file name: the last part of the address, in characters that are safe on every system.
    fn name(&self) -> String {
        let last = self.url.path().rsplit('/').next().unwrap_or_default();
        let safe = |one: char| if one.is_ascii_alphanumeric() || "-_.".contains(one) { one } else { '_' };
        let name: String = last.trim_start_matches('.').chars().take(MAX_NAME_BYTES).map(safe).collect();
        match name.as_str() {
            "" | "lock" | "partial" | "partial.json" | "file.json" => "model.gguf".to_owned(),
            _ => name,
        }
    }

    /// Returns the size and the digest of a whole file if it is the expected one.
    fn check(&self, partial: &mut PartialFile, wanted: Option<Digest>) -> Result<(u64, Digest), HubError> {
        let bytes = partial.length();
        let PartialFile { file, path, .. } = partial;
        file.rewind().map_err(HubError::cache("read", path))?;
        let mut magic = Vec::new();
        (&*file).take(4).read_to_end(&mut magic).map_err(HubError::cache("read", path))?;
        if magic != b"GGUF" {
            let reason = "the download is not in the GGUF format: it does not begin with `GGUF`; it may be a \
                page that leads to the file";
            return Err(HubError::answer(&self.url, reason));
        }
        file.rewind().map_err(HubError::cache("read", path))?;
        let digest = Digest::of_reader(&mut *file).map_err(HubError::cache("read", path))?;
        match wanted.filter(|wanted| *wanted != digest) {
            None => Ok((bytes, digest)),
            Some(wanted) => Err(HubError::answer(
                &self.url,
                format!(
                    "the download has the digest {digest}, not {wanted}, and was deleted; the server has \
                     another file, or it was changed in transit"
                ),
            )),
        }
    }

    /// Rephrases an error for a server that is not a hub.
    fn without_hub(&self, error: HubError) -> HubError {
        match error {
            HubError::NotFound(_) | HubError::Revision(_) => {
                HubError::answer(&self.url, "the server has no such file (404)")
            }
            HubError::Denied(_) => HubError::answer(
                &self.url,
                "the server requires a key (401 or 403); tokens are sent only to hubs",
            ),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_name_files() {
        for (text, name) in [
            ("http://127.0.0.1:8000/x/tiny.gguf", "tiny.gguf"),
            ("https://example.org/a%20b/c%2Fd.gguf?key=1#part", "c_2Fd.gguf"),
            ("https://example.org/", "model.gguf"),
            ("https://example.org/x/lock", "model.gguf"),
            ("https://example.org/..hidden", "hidden"),
        ] {
            assert_eq!(WebModel::read(text).map(|model| model.name()).as_deref(), Ok(name), "{text}");
        }
        for text in ["ftp://example.org/a.gguf", "a.gguf", "http://", "file:///tmp/a.gguf"] {
            assert!(WebModel::read(text).is_err(), "{text}");
        }
    }
}
