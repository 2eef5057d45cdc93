//! Lists the tags of a repository.

use crate::connection::Request;
use crate::target::{Target, shown};
use crate::{OciClient, OciError, OciErrorKind};
use gage_core::OciReference;
use gage_packages::holds_signatures;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;
use url::Url;

/// Maximum number of tags of a repository.
pub const MAX_TAGS: usize = 10_000;

/// Maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// Number of tags of a page that is asked for.
const TAGS_PER_PAGE: usize = 1_000;

/// Maximum size of a page: each tag of it has up to 128 characters, and some servers ignore the number that
/// is asked for.
const MAX_PAGE_BYTES: usize = 4 << 20;

#[derive(Deserialize)]
struct TagList {
    tags: Option<Vec<String>>,
}

impl OciClient {
    /// Lists the tags of the repository of a reference, in the registry's order. Tags that hold signatures
    /// are left out, and those that are not valid.
    ///
    /// # Errors
    /// If the registry does not have the repository, or does not let it be read, or it has more than
    /// [`MAX_TAGS`] tags, or their list has too many pages.
    pub async fn tags(&self, reference: &OciReference) -> Result<Vec<String>, OciError> {
        let target = Target::pull(reference)?;
        let too_many = |reason: String| {
            target.error(OciErrorKind::TooLarge, reason).with_help("name the version that you want")
        };
        let mut url = target.url(&format!("tags/list?n={TAGS_PER_PAGE}"))?;
        let mut tags = Vec::new();
        for _ in 0..MAX_PAGES {
            let request = Request::get(url);
            let response = self.connection.send(&target, &request, &[StatusCode::OK]).await?;
            let next = next_page(&target, response.url(), response.headers())?;
            let body = self.connection.read(&target, response, MAX_PAGE_BYTES, "list of tags").await?;
            let page: TagList = serde_json::from_slice(&body).map_err(|error| {
                let reason = format!("the list of tags cannot be read: {error}");
                target.error(OciErrorKind::Invalid, gage_core::shown_name(&reason))
            })?;
            tags.extend(page.tags.unwrap_or_default());
            if tags.len() > MAX_TAGS {
                return Err(too_many(format!("the repository has more than {MAX_TAGS} tags")));
            }
            match next {
                Some(next) => url = next,
                None => {
                    tags.retain(|tag| OciReference::is_tag(tag) && !holds_signatures(tag));
                    return Ok(tags);
                }
            }
        }
        Err(too_many(format!("the list of tags has more than {MAX_PAGES} pages")))
    }
}

/// Returns the address of the next page of a list, from the header `Link`. It must be that of the same
/// registry.
pub(crate) fn next_page(
    target: &Target<'_>,
    current: &Url,
    headers: &HeaderMap,
) -> Result<Option<Url>, OciError> {
    let Some(link) = headers.get(LINK).and_then(|link| link.to_str().ok()) else { return Ok(None) };
    let parts = link.trim_start().strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let Some((address, _)) =
        parts.filter(|(_, rest)| rest.contains("rel=\"next\"") || rest.contains("rel=next"))
    else {
        return Ok(None);
    };
    match current.join(address).ok().filter(|next| target.is_own(next)) {
        Some(next) => Ok(Some(next)),
        None => {
            let reason = format!("{} names a next page on another server", shown(current));
            Err(target.error(OciErrorKind::Refused, reason))
        }
    }
}
