//! A repository of the hub: its commit, its files and its card.

use super::card;
use super::client::{Client, RequestTarget};
use super::content_digest::{ContentHashes, ObjectId};
use super::error::HubError;
use super::listing::{HubEntry, Listing};
use super::paths::{self, RepositoryName};
use super::source::HubKind;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

/// Maximum size of a page of a listing, or of the answer about a revision.
const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// Maximum number of files of a listing.
const MAX_FILES: usize = 300_000;
/// Maximum size of a listing, in bytes.
const MAX_LISTING_BYTES: usize = 256 << 20;
/// Maximum number of pages of a listing.
const MAX_PAGES: usize = 10_000;
/// Maximum size of a dataset card, in bytes.
const MAX_CARD_BYTES: u64 = 8 << 20;

/// A dataset or model repository on the hub.
#[derive(Clone, Copy)]
pub(super) struct Repository<'a> {
    pub(super) client: &'a Client<'a>,
    pub(super) kind: HubKind,
    pub(super) name: &'a RepositoryName,
    /// Name shown in messages.
    pub(super) asked: RequestTarget<'a>,
}

#[derive(Deserialize)]
struct RevisionAnswer {
    sha: String,
}

#[derive(Deserialize)]
struct TreeAnswer {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    oid: String,
    #[serde(default)]
    size: u64,
    lfs: Option<LargeAnswer>,
}

#[derive(Deserialize)]
struct LargeAnswer {
    oid: String,
    size: u64,
}

impl<'a> Repository<'a> {
    /// Returns the commit that the revision resolves to.
    pub(super) async fn commit(&self) -> Result<String, HubError> {
        let mut url = self.api("revision", self.asked.revision)?;
        // Without this, the answer lists every file of the dataset.
        url.query_pairs_mut().append_pair("expand[]", "sha");
        let (_, body) = self.client.whole(&url, MAX_RESPONSE_BYTES, self.asked).await?;
        let answer: RevisionAnswer = parse(&url, &body)?;
        match paths::is_commit(&answer.sha) {
            true => Ok(answer.sha),
            false => Err(HubError::answer(&url, "'sha' is not a commit of 40 hexadecimal digits")),
        }
    }

    /// Returns the files of a commit and the head of its card.
    pub(super) async fn listing(&self, commit: &str) -> Result<Listing, HubError> {
        let mut url = self.api("tree", commit)?;
        url.query_pairs_mut().append_pair("recursive", "true").append_pair("expand", "false");
        let (mut files, mut bytes) = (Vec::new(), 0);
        for _ in 0..MAX_PAGES {
            let (headers, body) = self.client.whole(&url, MAX_RESPONSE_BYTES, self.asked).await?;
            bytes += body.len();
            for entry in parse::<Vec<TreeAnswer>>(&url, &body)? {
                if entry.kind == "file" {
                    files.push(entry.check().map_err(|reason| HubError::answer(&url, reason))?);
                }
            }
            if files.len() > MAX_FILES || bytes > MAX_LISTING_BYTES {
                let reason = format!(
                    "the {} has more than {MAX_FILES} files, or a listing of more than {MAX_LISTING_BYTES} \
                     bytes, which is not supported",
                    self.kind.noun()
                );
                return Err(HubError::answer(&url, reason));
            }
            match next_page(&url, &headers)? {
                Some(next) => url = next,
                None => {
                    files.sort_by(|one: &HubEntry, other| one.path.cmp(&other.path));
                    if let Some([twice, _]) =
                        files.array_windows().find(|[one, other]| one.path == other.path)
                    {
                        let path = gage_core::printable_line(&twice.path);
                        return Err(HubError::answer(&url, format!("the file '{path}' is listed twice")));
                    }
                    let card = self.card(commit, &files).await?;
                    return Ok(Listing { files, card });
                }
            }
        }
        Err(HubError::answer(&url, format!("the listing has more than {MAX_PAGES} pages")))
    }

    /// Returns the URL of a file's bytes.
    pub(super) fn file(&self, commit: &str, path: &str) -> Result<Url, HubError> {
        // Model repositories have no prefix in the path.
        let above = (self.kind == HubKind::Dataset).then_some(self.kind.folder());
        let parts = above.into_iter().chain(self.name.parts()).chain(["resolve", commit]);
        paths::below(self.client.endpoint(), parts.chain(path.split('/')))
    }

    fn api(&self, what: &str, revision: &str) -> Result<Url, HubError> {
        let parts = ["api", self.kind.folder()].into_iter().chain(self.name.parts()).chain([what, revision]);
        paths::below(self.client.endpoint(), parts)
    }

    async fn card(&self, commit: &str, files: &[HubEntry]) -> Result<Option<String>, HubError> {
        if self.kind != HubKind::Dataset {
            return Ok(None);
        }
        let Some(entry) = files.iter().find(|entry| entry.path == "README.md") else { return Ok(None) };
        if entry.bytes > MAX_CARD_BYTES {
            let message = format!(
                "dataset '{}': its card has {} bytes; at most {MAX_CARD_BYTES} are read",
                self.asked.name, entry.bytes
            );
            return Err(HubError::Choice { key: "hub_id", message });
        }
        let url = self.file(commit, &entry.path)?;
        let asked = RequestTarget { path: Some(&entry.path), ..self.asked };
        let (_, bytes) = self.client.whole(&url, MAX_CARD_BYTES as usize, asked).await?;
        let mut hashes = ContentHashes::new(entry.bytes);
        hashes.update(&bytes);
        let (_, found) = hashes.finish(&entry.oid).map_err(|reason| HubError::answer(&url, reason))?;
        if found != entry.oid {
            let reason = format!(
                "the dataset card differs from what the hub says: expected {}, found {found}",
                entry.oid
            );
            return Err(HubError::answer(&url, reason));
        }
        Ok(card::head(&String::from_utf8_lossy(&bytes)).map(str::to_owned))
    }
}

impl TreeAnswer {
    fn check(self) -> Result<HubEntry, String> {
        let oid = match &self.lfs {
            Some(large) => ObjectId::large(&large.oid),
            None => ObjectId::git(&self.oid),
        };
        let bytes = self.lfs.map_or(self.size, |large| large.size);
        let oid = oid.map_err(|reason| format!("'{}': {reason}", gage_core::printable_line(&self.path)))?;
        Ok(HubEntry { path: self.path, bytes, oid })
    }
}

fn parse<T: DeserializeOwned>(url: &Url, body: &[u8]) -> Result<T, HubError> {
    serde_json::from_slice(body)
        .map_err(|error| HubError::answer(url, format!("the answer is not one of a hub: {error}")))
}

/// Returns the next page of a `Link` header.
fn next_page(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, HubError> {
    for value in headers.get_all(LINK) {
        let mut rest = value.to_str().unwrap_or_default();
        while let Some((target, behind)) = rest.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
            let (parameters, further) = behind.split_once(',').unwrap_or((behind, ""));
            rest = further;
            let is_next = parameters.split(';').any(|parameter| {
                parameter.split_once('=').is_some_and(|(name, value)| {
                    name.trim().eq_ignore_ascii_case("rel") && value.trim().trim_matches('"') == "next"
                })
            });
            if is_next {
                let next = url.join(target).ok().filter(|next| next.scheme() == url.scheme());
                return next
                    .map(Some)
                    .ok_or_else(|| HubError::answer(url, "the link to the next page is not valid"));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {

    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn links_to_the_next_page() {
        let url = Url::parse("https://hub.test/api/tree").expect("a URL");
        let cases = [
            ("<https://hub.test/x?cursor=a,b>; rel=\"next\"", Ok(Some("https://hub.test/x?cursor=a,b"))),
            ("<https://hub.test/x?cursor=ab%3D>; rel=\"next\"", Ok(Some("https://hub.test/x?cursor=ab%3D"))),
            ("</first>; rel=first, </x>; foo=1; rel=next", Ok(Some("https://hub.test/x"))),
            ("</x>; rel=\"prev\"", Ok(None)),
            ("", Ok(None)),
            ("<http://hub.test/x>; rel=next", Err(())),
        ];
        for (link, expected) in cases {
            let headers = HeaderMap::from_iter([(LINK, HeaderValue::from_static(link))]);
            let found = next_page(&url, &headers).map(|next| next.map(String::from)).map_err(drop);
            assert_eq!(found, expected.map(|next| next.map(str::to_owned)), "{link}");
        }
    }
}
