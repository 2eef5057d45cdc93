//! A model file of any server, by its address, in the cache.
//!
//! ```text
//! <cache>/models/web/<SHA-256 of the address>/file.json    what was fetched: address, size and digest
//! <cache>/models/web/<SHA-256 of the address>/<name>       the file
//! <cache>/models/web/<SHA-256 of the address>/partial      what an interrupted download left, and beside it of which file
//! <cache>/models/web/<SHA-256 of the address>/lock         held by the one who downloads
//! ```
//!
//! Nobody says what the digest of such a file should be but the user. Where that is not said, the digest of what came is
//! recorded, and what lies in the cache is held to it.

use super::HubError;
use super::cache::{lock, read_json, write_json};
use super::client::{Client, RequestTarget, connect};
use super::error::shown;
use super::fetch::runtime;
use super::partial::PartialFile;
use super::retry::RetryPolicy;
use super::source::{HubKind, HubProgress, HubTimings};
use super::transfer::Transfer;
use gage_core::Digest;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use url::Url;

/// Longest name that a file keeps.
const MAX_NAME_BYTES: usize = 120;

/// The address of a file on a server that says nothing of digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebModel {
    url: Url,
}

/// How a file is fetched from its address.
#[derive(Clone, Copy)]
pub struct UrlFetchOptions<'a> {
    /// The cache of the hub, in which the file is kept.
    pub cache: &'a Path,
    /// Uses only what is in the cache.
    pub offline: bool,
    /// Time limits and retries.
    pub timings: HubTimings,
    /// Receives the bytes that have arrived.
    pub progress: &'a dyn HubProgress,
    /// Asked many times whether to stop.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// A file that was fetched.
#[derive(Clone, Debug)]
pub struct FetchedFile {
    /// The address, without what may be secret in it.
    pub address: String,
    /// Where it lies.
    pub local: PathBuf,
    /// The bytes.
    pub bytes: u64,
    /// The digest.
    pub digest: Digest,
    /// Whether it lay in the cache already.
    pub was_there: bool,
}

/// What is recorded of a file that was fetched.
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
    /// When it is none of `http` or `https`.
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

    /// Fetches the file into the cache, unless it is there. An interrupted download goes on where it was, where the server says
    /// that the file is still the same, or `wanted` will tell. No token is sent.
    ///
    /// Blocks; must not be called from asynchronous code.
    ///
    /// # Errors
    /// When the server cannot be reached or has no such file, when what comes is no GGUF file or has not the digest that is
    /// wanted, or when the cache cannot be written.
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
        // Another process may have fetched it meanwhile.
        if let Some(file) = self.cached(folder)?
            && wanted.is_none_or(|wanted| wanted == file.digest)
        {
            return Ok(file);
        }
        let (name, address) = (self.name(), shown(&self.url));
        let mut partial = PartialFile::open(folder, "partial", None)?;
        let transfer = Transfer {
            client: &Client::new(connect(retry.timings)?, &self.url, None, retry)?,
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

    /// What lies in the cache, whole and as it was recorded.
    fn cached(&self, folder: &Path) -> Result<Option<FetchedFile>, HubError> {
        let Some(UrlRecord { address, name, bytes, digest }) = read_json(&folder.join("file.json")) else {
            return Ok(None);
        };
        let local = folder.join(&name);
        let Ok(file) = File::open(&local) else { return Ok(None) };
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

    /// The name of the file: the last part of the address, of characters that are safe everywhere.
    fn name(&self) -> String {
        let last = self.url.path().rsplit('/').next().unwrap_or_default();
        let safe = |one: char| if one.is_ascii_alphanumeric() || "-_.".contains(one) { one } else { '_' };
        let name: String = last.trim_start_matches('.').chars().take(MAX_NAME_BYTES).map(safe).collect();
        match name.as_str() {
            "" | "lock" | "partial" | "partial.json" | "file.json" => "model.gguf".to_owned(),
            _ => name,
        }
    }

    /// The size and the digest of a whole file, where it is what it should be.
    fn check(&self, partial: &mut PartialFile, wanted: Option<Digest>) -> Result<(u64, Digest), HubError> {
        let bytes = partial.length();
        let PartialFile { file, path, .. } = partial;
        file.rewind().map_err(HubError::cache("read", path))?;
        let mut magic = Vec::new();
        (&*file).take(4).read_to_end(&mut magic).map_err(HubError::cache("read", path))?;
        if magic != b"GGUF" {
            let reason = "what came is not in the GGUF format: it does not begin with `GGUF`; perhaps it is a page that leads \
                          to the file";
            return Err(HubError::answer(&self.url, reason));
        }
        file.rewind().map_err(HubError::cache("read", path))?;
        let digest = Digest::of_reader(&mut *file).map_err(HubError::cache("read", path))?;
        match wanted.filter(|wanted| *wanted != digest) {
            None => Ok((bytes, digest)),
            Some(wanted) => Err(HubError::answer(
                &self.url,
                format!(
                    "what came has the digest {digest}, not {wanted}; it was deleted. The file there is another one, or was changed on the way"
                ),
            )),
        }
    }

    /// An error of a server that is no hub.
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
