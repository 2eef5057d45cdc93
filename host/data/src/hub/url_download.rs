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
use super::cache::{CommitFolder, write_whole};
use super::client::{Client, HubResponse, RequestError};
use super::download::{content_range, range_headers, strong_etag, text};
use super::error::shown;
use super::fetch::runtime;
use super::retry::{Attempts, RetryPolicy, RetryableError};
use super::source::{HubKind, HubProgress, HubTimings};
use gage_core::Digest;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, LAST_MODIFIED};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
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
    /// Its address, without what may be secret in it.
    pub address: String,
    /// Where it lies.
    pub local: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Its digest.
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

/// Of which file a part is, as the server told it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct UrlPart {
    /// A strong entity tag, or else the time of the last change: what `If-Range` takes.
    validator: Option<String>,
    total: Option<u64>,
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
        let kept = self.kept(&folder)?;
        match kept {
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
        let web = UrlClient { url: &self.url, wanted, folder, progress, retry };
        let fetched = runtime.block_on(web.run(self));
        runtime.shutdown_background();
        fetched
    }

    /// What lies in the cache, whole and as it was recorded.
    fn kept(&self, folder: &Path) -> Result<Option<FetchedFile>, HubError> {
        let Some(UrlRecord { address, name, bytes, digest }) = read_json(&folder.join("file.json")) else {
            return Ok(None);
        };
        let local = folder.join(&name);
        let Ok(file) = File::open(&local) else { return Ok(None) };
        let found = Digest::of_reader(file).map_err(HubError::cache("read", &local))?;
        if found != digest {
            tracing::warn!(
                "{} is damaged: its digest is {found}, not {digest}; it is fetched anew",
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
}

/// One download.
struct UrlClient<'a> {
    url: &'a Url,
    wanted: Option<Digest>,
    folder: PathBuf,
    progress: &'a dyn HubProgress,
    retry: RetryPolicy<'a>,
}

impl UrlClient<'_> {
    async fn run(&self, model: &WebModel) -> Result<FetchedFile, HubError> {
        let commit_folder = CommitFolder::at(self.folder.clone());
        let _lock = commit_folder.lock(self.retry).await?;
        // Another process may have fetched it meanwhile.
        if let Some(file) = model.kept(&self.folder)?
            && self.wanted.is_none_or(|wanted| wanted == file.digest)
        {
            return Ok(file);
        }
        let client = Client::new(self.url, None, self.retry)?;
        let mut partial = PartialFile::open(&self.folder)?;
        let mut attempts = Attempts::new(self.retry);
        let mut furthest = 0;
        loop {
            let ended = self.attempt(&client, &mut partial, model).await;
            let length = partial.length()?;
            if length > furthest {
                furthest = length;
                attempts.progress();
            }
            match ended {
                Ok(()) if partial.part.total.is_none_or(|total| total == length) => break,
                Ok(()) => {
                    let total = partial.part.total.unwrap_or_default();
                    let reason = format!("the content ended after {length} of {total} bytes");
                    attempts
                        .failed(RetryableError { url: shown(self.url), reason, retry_after: None })
                        .await?;
                }
                Err(RequestError::Passing(failure)) => attempts.failed(failure).await?,
                Err(RequestError::Final(error)) => return Err(self.plain(error)),
            }
        }
        let (bytes, digest) = match self.check(&mut partial.file, &partial.path) {
            Ok(checked) => checked,
            Err(error) => {
                // A wrong file must not be resumed.
                let _ = fs::remove_file(&partial.path).and_then(|()| fs::remove_file(&partial.about));
                return Err(error);
            }
        };
        let name = model.name();
        let local = self.folder.join(&name);
        partial
            .file
            .sync_all()
            .and_then(|()| fs::rename(&partial.path, &local))
            .map_err(HubError::cache("put in place", &local))?;
        let record = UrlRecord { address: shown(self.url), name, bytes, digest };
        write_json(&self.folder.join("file.json"), &record)?;
        let _ = fs::remove_file(&partial.about);
        Ok(FetchedFile { address: record.address, local, bytes, digest, was_there: false })
    }

    /// One request: from the first missing byte if the rest is known to belong to the same file, otherwise from the start.
    async fn attempt(
        &self,
        client: &Client<'_>,
        partial: &mut PartialFile,
        model: &WebModel,
    ) -> Result<(), RequestError> {
        let end = partial.file.seek(SeekFrom::End(0)).map_err(HubError::cache("read", &partial.path))?;
        // If a digest is wanted, it shows afterwards whether the parts belong together.
        let may_resume = partial.part.validator.is_some() || self.wanted.is_some();
        let from = if may_resume { end } else { 0 };
        let headers = range_headers(from, partial.part.validator.as_deref());
        let shown_url = shown(self.url);
        let asked =
            HubResponse { kind: HubKind::Model, name: &shown_url, revision: "", path: Some(&shown_url) };
        let mut response = client.get(self.url, &headers, asked).await?;
        let Some(is_resumed) = self.is_resumed(&response, from, partial)? else { return Ok(()) };
        if !is_resumed {
            partial.truncate()?;
        }
        let range = text(response.headers(), CONTENT_RANGE).and_then(content_range);
        let length = text(response.headers(), CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        let total = match is_resumed {
            true => range.and_then(|(_, total)| total).or(partial.part.total),
            false => length,
        };
        let now = UrlPart { validator: validator(&response), total };
        if partial.part != now {
            write_json(&partial.about, &now)?;
            partial.part = now;
        }
        let mut done = if is_resumed { from } else { 0 };
        let name = model.name();
        while let Some(chunk) = client.chunk(&mut response).await? {
            let bytes = chunk.as_ref();
            done += bytes.len() as u64;
            partial.file.write_all(bytes).map_err(HubError::cache("write", &partial.path))?;
            self.progress.file(&name, done, partial.part.total);
        }
        Ok(())
    }

    /// Whether a response continues the partial file from the byte `from` on. `None` if every byte is there already.
    fn is_resumed(
        &self,
        response: &Response,
        from: u64,
        partial: &mut PartialFile,
    ) -> Result<Option<bool>, RequestError> {
        let sent = text(response.headers(), CONTENT_RANGE);
        let total = partial.part.total;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let is_same =
                    |one: Option<&str>, other: Option<&str>| one.is_none() || other.is_none() || one == other;
                let is_right =
                    sent.and_then(content_range).is_some_and(|(first, of)| {
                        first == from && (total.is_none() || of.is_none() || of == total)
                    }) && is_same(partial.part.validator.as_deref(), validator(response).as_deref());
                match is_right {
                    true => Ok(Some(true)),
                    false => Err(partial.restart(self.url, "the server sends another range")?),
                }
            }
            StatusCode::RANGE_NOT_SATISFIABLE
                if from > 0 && sent == Some(format!("bytes */{from}").as_str()) && total == Some(from) =>
            {
                Ok(None)
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                Err(partial.restart(self.url, "the server has no such range")?)
            }
            _ => Ok(Some(false)),
        }
    }

    /// The size and the digest of a whole file, where it is what it should be.
    fn check(&self, file: &mut File, path: &Path) -> Result<(u64, Digest), HubError> {
        let bytes = file.metadata().map_err(HubError::cache("read", path))?.len();
        file.rewind().map_err(HubError::cache("read", path))?;
        let mut magic = Vec::new();
        (&*file).take(4).read_to_end(&mut magic).map_err(HubError::cache("read", path))?;
        if magic != b"GGUF" {
            let reason = "what came is not in the GGUF format: it does not begin with `GGUF`; perhaps it is a page that leads \
                          to the file";
            return Err(HubError::answer(self.url, reason));
        }
        file.rewind().map_err(HubError::cache("read", path))?;
        let digest = Digest::of_reader(&mut *file).map_err(HubError::cache("read", path))?;
        match self.wanted.filter(|wanted| *wanted != digest) {
            None => Ok((bytes, digest)),
            Some(wanted) => Err(HubError::answer(
                self.url,
                format!(
                    "what came has the digest {digest}, not {wanted}; it was deleted. The file there is another one, or was changed on the way"
                ),
            )),
        }
    }

    /// An error of a server that is no hub.
    fn plain(&self, error: HubError) -> HubError {
        match error {
            HubError::NotFound(_) | HubError::Revision(_) => {
                HubError::answer(self.url, "the server has no such file (404)")
            }
            HubError::Denied(_) => HubError::answer(
                self.url,
                "the server lets nobody have it without a key (401 or 403); no token is sent to a server that is no hub",
            ),
            other => other,
        }
    }
}

/// A file whose download is under way, and what is known about its content.
struct PartialFile {
    file: File,
    path: PathBuf,
    part: UrlPart,
    /// The file that holds `part`.
    about: PathBuf,
}

impl PartialFile {
    /// Opens what an earlier download left in a folder; an empty file if there is nothing.
    fn open(folder: &Path) -> Result<PartialFile, HubError> {
        let (path, about) = (folder.join("partial"), folder.join("partial.json"));
        let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let file = opened.map_err(HubError::cache("open", &path))?;
        Ok(PartialFile { file, path, part: read_json(&about).unwrap_or_default(), about })
    }

    fn length(&self) -> Result<u64, HubError> {
        Ok(self.file.metadata().map_err(HubError::cache("read", &self.path))?.len())
    }

    fn truncate(&mut self) -> Result<(), HubError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(HubError::cache("empty", &self.path))
    }

    /// Discards the content, so that the next attempt starts from the first byte.
    fn restart(&mut self, url: &Url, reason: &str) -> Result<RequestError, HubError> {
        self.truncate()?;
        self.part = UrlPart::default();
        write_json(&self.about, &self.part)?;
        Ok(RequestError::Passing(RetryableError {
            url: shown(url),
            reason: reason.to_owned(),
            retry_after: None,
        }))
    }
}

/// What tells whether the file is still the same.
fn validator(response: &Response) -> Option<String> {
    let headers = response.headers();
    strong_etag(headers).or_else(|| text(headers, LAST_MODIFIED)).map(str::to_owned)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), HubError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| HubError::cache("write", path)(std::io::Error::from(error)))?;
    write_whole(path, &bytes)
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
