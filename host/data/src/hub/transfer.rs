//! Transfer of one file, resuming after the bytes of an earlier attempt.

use super::client::{Client, RequestError, RequestTarget};
use super::error::{HubError, shown};
use super::partial::PartialFile;
use super::retry::{Attempts, RetryableError};
use super::source::HubProgress;
use reqwest::StatusCode;
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};
use url::Url;

/// Transfer of one file.
pub(super) struct Transfer<'a> {
    pub(super) client: &'a Client<'a>,
    pub(super) url: &'a Url,
    pub(super) asked: RequestTarget<'a>,
    /// Commit of the hub that the file must belong to.
    pub(super) commit: Option<&'a str>,
    /// True if the digest of the content is known, which shows whether parts belong together.
    pub(super) has_digest: bool,
    /// File name for progress reports.
    pub(super) name: &'a str,
    pub(super) progress: &'a dyn HubProgress,
}

impl Transfer<'_> {
    /// Downloads the missing bytes. Returns how the content differs from the expected one, if its size reveals that.
    pub(super) async fn complete(&self, partial: &mut PartialFile) -> Result<Option<String>, HubError> {
        let mut attempts = Attempts::new(self.client.retry());
        let mut furthest = partial.length();
        loop {
            let is_whole = partial.total() == Some(partial.length());
            let end = if is_whole { Ok(None) } else { self.attempt(partial).await };
            // Bytes that were present before are no progress: a server that restarts each time must not be retried
            // forever.
            if partial.length() > furthest {
                furthest = partial.length();
                attempts.progress();
            }
            match (end, partial.total()) {
                (Ok(None), Some(total)) if partial.length() != total => {
                    let reason = format!("the content ended after {} of {total} bytes", partial.length());
                    attempts.failed(self.failure(reason)).await?;
                }
                (Ok(end), _) => return Ok(end),
                (Err(RequestError::Passing(failure)), _) => attempts.failed(failure).await?,
                (Err(RequestError::Final(error)), _) => return Err(error),
            }
        }
    }

    fn failure(&self, reason: impl Into<String>) -> RetryableError {
        RetryableError { url: shown(self.url), reason: reason.into(), retry_after: None }
    }

    /// Sends one request, starting at the first missing byte.
    async fn attempt(&self, partial: &mut PartialFile) -> Result<Option<String>, RequestError> {
        if !self.has_digest && partial.validator().is_none() {
            partial.restart()?;
        }
        let headers = range_headers(partial.length(), partial.validator());
        let mut response = self.client.get(self.url, &headers, self.asked).await?;
        let headers = response.headers();
        self.check_commit(response.url(), headers)?;
        let validator = strong_etag(headers).or_else(|| text(headers, LAST_MODIFIED)).map(str::to_owned);
        let mut total = partial.total();
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let range = text(headers, CONTENT_RANGE).and_then(content_range);
                let (first, of) = range.map_or((None, None), |(first, of)| (Some(first), of));
                let is_same_file = self.has_digest
                    || validator.is_none()
                    || partial.validator().is_none_or(|known| Some(known) == validator.as_deref());
                let is_next =
                    first == Some(partial.length()) && (of.is_none() || total.is_none() || of == total);
                if !is_next || !is_same_file {
                    partial.restart()?;
                    let reason = "the server sent a different range than requested";
                    return Err(RequestError::Passing(self.failure(reason)));
                }
                total = total.or(of);
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                partial.restart()?;
                return Err(RequestError::Passing(self.failure("the server has no such range")));
            }
            _ => {
                partial.restart()?;
                let length = text(headers, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
                total = partial.total().or(length);
                if let Some(length) = length.filter(|length| total != Some(*length)) {
                    return Ok(Some(format!("{length} bytes")));
                }
            }
        }
        partial.set_origin(total, validator)?;
        while let Some(chunk) = self.client.chunk(&mut response).await? {
            if !partial.append(chunk.as_ref())? {
                return Ok(Some("more bytes".to_owned()));
            }
            self.progress.file(self.name, partial.length(), total);
        }
        Ok(None)
    }

    /// Rejects a file of another commit.
    fn check_commit(&self, url: &Url, headers: &HeaderMap) -> Result<(), HubError> {
        let sent = text(headers, HeaderName::from_static("x-repo-commit"));
        match (self.commit, sent) {
            (Some(commit), Some(sent)) if commit != sent => {
                let sent = gage_core::printable_line(sent);
                Err(HubError::answer(url, format!("the server answers for commit {sent}, not for {commit}")))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the headers that request the bytes from a position on, provided the file is unchanged.
fn range_headers(from: u64, validator: Option<&str>) -> HeaderMap {
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

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn strong_etag(headers: &HeaderMap) -> Option<&str> {
    text(headers, ETAG).filter(|etag| etag.starts_with('"') && etag.len() <= 256)
}

/// Returns the first byte and the total of `bytes 5-9/10`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let first = range.split_once('-')?.0.trim().parse().ok()?;
    match total.trim() {
        "*" => Some((first, None)),
        total => Some((first, Some(total.parse().ok()?))),
    }
}
