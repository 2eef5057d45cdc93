//! Pushes packages.

use crate::connection::{Request, location};
use crate::pull::DIGEST_HEADER;
use crate::target::{Target, shown};
use crate::{OciClient, OciError, OciErrorKind, PackageDescription};
use gage_core::{Digest, OciReference};
use gage_packages::{MANIFEST_MEDIA_TYPE, package_manifest};
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use url::Url;

const BLOB_MEDIA_TYPE: &str = "application/octet-stream";

/// A package that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Digest of the component.
    pub component: Digest,
}

impl OciClient {
    /// Pushes a component under a tag. The same component with the same name and description always has the
    /// same manifest. The manifest is written last, so that an interrupted push changes no tag.
    ///
    /// # Errors
    /// If the reference has no tag, or has a digest. If the registry refuses a part.
    pub async fn push(
        &self,
        reference: &OciReference,
        component: Vec<u8>,
        about: &PackageDescription,
    ) -> Result<Pushed, OciError> {
        let target = Target::push(reference)?;
        let (Some(tag), None) = (reference.tag(), reference.digest()) else {
            return Err(target
                .error(OciErrorKind::Refused, "a plugin is pushed under a tag, without a digest")
                .with_help("name it like oci://registry.example/metrics/word-recall:0.1.0"));
        };
        let component_digest = Digest::of_bytes(&component);
        let config = about.config(component_digest);
        // Segments of a repository have neither slashes nor dots at their ends.
        let file_name = format!("{}.wasm", reference.last_segment());
        let manifest = package_manifest(&config, &component, &file_name, &about.annotations);
        self.push_blob(&target, component).await?;
        self.push_blob(&target, config).await?;
        let manifest_digest = Digest::of_bytes(&manifest);
        self.push_manifest(&target, tag, MANIFEST_MEDIA_TYPE, manifest).await?;
        Ok(Pushed { manifest: manifest_digest, component: component_digest })
    }

    /// Uploads a blob, unless the registry has it.
    pub(crate) async fn push_blob(&self, target: &Target<'_>, blob: Vec<u8>) -> Result<(), OciError> {
        let digest = Digest::of_bytes(&blob);
        let request = Request::new(Method::HEAD, target.url(&format!("blobs/{digest}"))?);
        let expected = [StatusCode::OK, StatusCode::NOT_FOUND];
        if self.connection.send(target, &request, &expected).await?.status() == StatusCode::OK {
            return Ok(());
        }
        let begin = Request::new(Method::POST, target.url("blobs/uploads/")?)
            .header(CONTENT_LENGTH, HeaderValue::from_static("0"));
        let begun = self.connection.send(target, &begin, &[StatusCode::ACCEPTED]).await?;
        let mut url = location(begun.url(), begun.headers()).ok_or_else(|| {
            target.error(OciErrorKind::Invalid, "the registry does not say where a blob is uploaded to")
        })?;
        check_upload(target, &url)?;
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let upload = Request::new(Method::PUT, url).body(BLOB_MEDIA_TYPE, blob);
        let uploaded = self.connection.send(target, &upload, &[StatusCode::CREATED]).await?;
        check_stored(target, uploaded.headers(), digest)
    }

    /// Writes a manifest under a tag or its digest. Returns the headers of the answer.
    pub(crate) async fn push_manifest(
        &self,
        target: &Target<'_>,
        name: &str,
        media_type: &'static str,
        manifest: Vec<u8>,
    ) -> Result<HeaderMap, OciError> {
        let digest = Digest::of_bytes(&manifest);
        let url = target.url(&format!("manifests/{name}"))?;
        let request = Request::new(Method::PUT, url).body(media_type, manifest);
        let response = self.connection.send(target, &request, &[StatusCode::CREATED]).await?;
        check_stored(target, response.headers(), digest)?;
        Ok(response.headers().clone())
    }
}

/// Checks the address that a blob is uploaded to. It may be on another server, which gets no credentials.
fn check_upload(target: &Target<'_>, url: &Url) -> Result<(), OciError> {
    match url.scheme() == "https" || target.is_own(url) {
        true => Ok(()),
        false => {
            let reason = format!("the registry wants an upload without TLS to {}", shown(url));
            Err(target.error(OciErrorKind::Refused, reason))
        }
    }
}

/// Checks that the registry stored what was sent.
fn check_stored(target: &Target<'_>, headers: &HeaderMap, expected: Digest) -> Result<(), OciError> {
    let stored = headers.get(DIGEST_HEADER).and_then(|value| value.to_str().ok());
    let stored: Option<Digest> = stored.and_then(|digest| digest.parse().ok());
    match stored.filter(|stored| *stored != expected) {
        Some(stored) => {
            let reason = format!("the registry stored something else: sent {expected}, stored {stored}");
            Err(target.error(OciErrorKind::Digest, reason))
        }
        None => Ok(()),
    }
}
