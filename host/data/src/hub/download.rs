//! Downloads one file: goes on where an earlier attempt ended, and lets no wrong byte through.

use super::cache::CommitFolder;
use super::client::{HubResponse, RequestError};
use super::error::{HubError, shown};
use super::listing::HubEntry;
use super::partial::PartialDownload;
use super::repository::Repository;
use super::retry::{Attempts, RetryableError};
use super::source::HubProgress;
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, RANGE,
};
use reqwest::{Response, StatusCode};

/// How often a file is downloaded whole before its content counts as wrong.
const MAX_DIGEST_MISMATCHES: u32 = 2;

/// The download of one file.
pub(super) struct Download<'a> {
    pub(super) repository: Repository<'a>,
    pub(super) folder: &'a CommitFolder,
    pub(super) commit: &'a str,
    pub(super) entry: &'a HubEntry,
    pub(super) progress: &'a dyn HubProgress,
}

/// How an attempt ended that no failure ended.
enum DownloadEnd {
    /// The content ended, or every byte is there.
    Over,
    /// The content is another one.
    Wrong(String),
}

impl Download<'_> {
    /// Downloads the file and puts it in its place.
    #[tracing::instrument(name = "hub_download", skip_all, fields(path = self.entry.path))]
    pub(super) async fn run(&self) -> Result<(), HubError> {
        let client = self.repository.client;
        let mut partial = PartialDownload::open(self.folder, self.entry, client.retry())?;
        let mut attempts = Attempts::new(client.retry());
        let mut furthest = partial.length();
        let mut wrong = 0;
        loop {
            let end = match partial.is_whole() {
                true => Ok(DownloadEnd::Over),
                false => self.attempt(&mut partial).await,
            };
            // Bytes that were there before are no progress: a server that begins anew each time
            // must not be asked for ever.
            if partial.length() > furthest {
                furthest = partial.length();
                attempts.progress();
            }
            let found = match end {
                Ok(DownloadEnd::Over) if partial.is_whole() => match partial.wrong()? {
                    None => return partial.finish(&self.folder.file(&self.entry.path)?),
                    Some(found) => found.to_string(),
                },
                Ok(DownloadEnd::Over) => {
                    let reason =
                        format!("the content ended after {} of {} bytes", partial.length(), self.entry.bytes);
                    attempts.failed(self.failure(reason)?).await?;
                    continue;
                }
                Ok(DownloadEnd::Wrong(found)) => found,
                Err(RequestError::Passing(failure)) => {
                    attempts.failed(failure).await?;
                    continue;
                }
                Err(RequestError::Final(error)) => return Err(error),
            };
            wrong += 1;
            if wrong >= MAX_DIGEST_MISMATCHES {
                partial.discard()?;
                return Err(HubError::Content {
                    name: self.repository.asked.name.to_owned(),
                    path: gage_core::printable_line(&self.entry.path).into_owned(),
                    expected: format!("{} and {} bytes", self.entry.oid, self.entry.bytes),
                    found,
                });
            }
            tracing::warn!(
                "'{}' is not what the hub says: expected {}, found {found}; it is downloaded anew",
                gage_core::printable_line(&self.entry.path),
                self.entry.oid
            );
            partial.restart()?;
            furthest = 0;
        }
    }

    fn failure(&self, reason: String) -> Result<RetryableError, HubError> {
        let url = self.repository.file(self.commit, &self.entry.path)?;
        Ok(RetryableError { url: shown(&url), reason, retry_after: None })
    }

    /// One request, from the first byte that is missing.
    async fn attempt(&self, partial: &mut PartialDownload<'_>) -> Result<DownloadEnd, RequestError> {
        let client = self.repository.client;
        let url = self.repository.file(self.commit, &self.entry.path)?;
        let asked = HubResponse { path: Some(&self.entry.path), ..self.repository.asked };
        let mut response = client.get(&url, &range_headers(partial.length(), partial.etag()), asked).await?;
        self.check_commit(&response)?;
        if let Some(end) = begin(&response, partial, self.entry)? {
            return Ok(end);
        }
        partial.set_etag(strong_etag(response.headers()))?;
        while let Some(chunk) = client.chunk(&mut response).await? {
            if !partial.append(chunk.as_ref())? {
                return Ok(DownloadEnd::Wrong("more bytes".to_owned()));
            }
            self.progress.file(&self.entry.path, partial.length(), Some(self.entry.bytes));
        }
        Ok(DownloadEnd::Over)
    }

    /// The hub may not answer with the file of another commit.
    fn check_commit(&self, response: &Response) -> Result<(), HubError> {
        match text(response.headers(), HeaderName::from_static("x-repo-commit")) {
            Some(commit) if commit != self.commit => {
                let commit = gage_core::printable_line(commit);
                let reason = format!("the server answers for commit {commit}, not for {}", self.commit);
                Err(HubError::answer(response.url(), reason))
            }
            _ => Ok(()),
        }
    }
}

/// Prepares what is there for what follows; says so when nothing will.
fn begin(
    response: &Response,
    partial: &mut PartialDownload<'_>,
    entry: &HubEntry,
) -> Result<Option<DownloadEnd>, RequestError> {
    let headers = response.headers();
    let again = |reason: &str| {
        RequestError::Passing(RetryableError {
            url: shown(response.url()),
            reason: reason.to_owned(),
            retry_after: None,
        })
    };
    match response.status() {
        StatusCode::PARTIAL_CONTENT => {
            let range = text(headers, CONTENT_RANGE).and_then(content_range);
            match range {
                Some((first, total))
                    if first == partial.length() && total.is_none_or(|total| total == entry.bytes) =>
                {
                    Ok(None)
                }
                _ => {
                    partial.restart()?;
                    Err(again("the server sends another range than the one that it was asked for"))
                }
            }
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            partial.restart()?;
            Err(again("the server has no such range"))
        }
        _ => {
            partial.restart()?;
            let length = text(headers, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
            match length {
                Some(length) if length != entry.bytes => {
                    Ok(Some(DownloadEnd::Wrong(format!("{length} bytes"))))
                }
                _ => Ok(None),
            }
        }
    }
}

/// The headers that ask for the bytes from a place on, as long as the file is still the same: `validator` is its strong entity
/// tag, or the time of its last change.
pub(super) fn range_headers(from: u64, validator: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if from > 0
        && let Ok(range) = HeaderValue::from_str(&format!("bytes={from}-"))
    {
        headers.insert(RANGE, range);
        if let Some(validator) = validator.and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(IF_RANGE, validator);
        }
    }
    headers
}

pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

pub(super) fn strong_etag(headers: &HeaderMap) -> Option<&str> {
    text(headers, ETAG).filter(|etag| etag.starts_with('"') && etag.len() <= 256)
}

/// The first byte and the total of `bytes 5-9/10`.
pub(super) fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let first = range.split_once('-')?.0.trim().parse().ok()?;
    match total.trim() {
        "*" => Some((first, None)),
        total => Some((first, Some(total.parse().ok()?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_content() {
        let cases = [
            ("bytes 5-9/10", Some((5, Some(10)))),
            ("bytes 0-0/*", Some((0, None))),
            ("bytes */10", None),
            ("bytes 5-9", None),
            ("items 5-9/10", None),
            ("bytes -9/10", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(content_range(text), expected, "{text}");
        }
    }
}
