//! Pulls packages.

use crate::connection::Request;
use crate::target::Target;
use crate::{OciClient, OciError, OciErrorKind};
use gage_core::{Digest, OciReference};
use gage_packages::{Descriptor, MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES, NewPackage, PackageManifest};
use reqwest::StatusCode;

/// Media types that are asked for. Those that no plugin has make the message about them clear.
pub(crate) const MANIFEST_MEDIA_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// Header with the digest of a manifest.
pub(crate) const DIGEST_HEADER: &str = "docker-content-digest";

/// What a reference means in its registry now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Digest of the component.
    pub component: Digest,
    /// Size of the component in bytes.
    pub size: u64,
}

impl OciClient {
    /// Pulls a package with its signatures. Every part is checked against its digest. The signatures are not
    /// verified, and those that cannot be read are left out.
    ///
    /// # Errors
    /// If the registry does not have the package, or does not let it be read. If the package is not a plugin,
    /// is too large, or has other digests than its manifest says.
    pub async fn pull(
        &self,
        reference: &OciReference,
        max_component_bytes: usize,
    ) -> Result<NewPackage, OciError> {
        let target = Target::pull(reference)?;
        let (manifest, parts) = self.package_manifest(&target).await?;
        let config = self.blob(&target, &parts.config, MAX_CONFIG_BYTES, "configuration").await?;
        let component = self.blob(&target, &parts.component, max_component_bytes, "component").await?;
        let signatures = self.signatures(&target, Digest::of_bytes(&manifest)).await;
        let package = NewPackage { reference: reference.clone(), manifest, config, component, signatures };
        match package.check() {
            Ok(_) => Ok(package),
            Err(error) => Err(OciError::new(OciErrorKind::Digest, error.to_string())),
        }
    }

    /// Returns what a reference means now. Only the manifest is read.
    ///
    /// # Errors
    /// If the registry does not have the package, or does not let it be read, or it is not a plugin.
    pub async fn resolve(&self, reference: &OciReference) -> Result<Resolved, OciError> {
        let target = Target::pull(reference)?;
        let (manifest, parts) = self.package_manifest(&target).await?;
        Ok(Resolved {
            manifest: Digest::of_bytes(&manifest),
            component: parts.component.digest,
            size: parts.component.size,
        })
    }

    async fn package_manifest(&self, target: &Target<'_>) -> Result<(Vec<u8>, PackageManifest), OciError> {
        let manifest = match (target.reference.digest(), target.reference.tag()) {
            (Some(digest), _) => self.manifest_of_digest(target, digest).await?,
            (None, tag) => {
                let path = format!("manifests/{}", tag.unwrap_or("latest"));
                self.manifest(target, &path, &[StatusCode::OK]).await?.unwrap_or_default()
            }
        };
        let parts = PackageManifest::parse(&manifest).map_err(|error| {
            target
                .error(OciErrorKind::Invalid, error.to_string())
                .with_help("name a plugin, as `gage-host plugin push` and `wkg oci push` write it")
        })?;
        Ok((manifest, parts))
    }

    /// Reads the manifest of a digest.
    pub(crate) async fn manifest_of_digest(
        &self,
        target: &Target<'_>,
        digest: Digest,
    ) -> Result<Vec<u8>, OciError> {
        let path = format!("manifests/{digest}");
        let manifest = self.manifest(target, &path, &[StatusCode::OK]).await?.unwrap_or_default();
        check_digest(target, "manifest", digest, Digest::of_bytes(&manifest))?;
        Ok(manifest)
    }

    /// Reads the manifest of a tag. `None` if there is no such tag.
    pub(crate) async fn manifest_of_tag(
        &self,
        target: &Target<'_>,
        tag: &str,
    ) -> Result<Option<Vec<u8>>, OciError> {
        self.manifest(target, &format!("manifests/{tag}"), &[StatusCode::OK, StatusCode::NOT_FOUND]).await
    }

    /// Reads a manifest, whose digest must be that of the header. `None` if the status is an expected 404.
    async fn manifest(
        &self,
        target: &Target<'_>,
        path: &str,
        expected: &[StatusCode],
    ) -> Result<Option<Vec<u8>>, OciError> {
        let request = Request::get(target.url(path)?).accept(MANIFEST_MEDIA_TYPES);
        let response = self.connection.send(target, &request, expected).await?;
        if response.status() != StatusCode::OK {
            return Ok(None);
        }
        let announced = response.headers().get(DIGEST_HEADER).and_then(|value| value.to_str().ok());
        // Digests of other kinds are not checked.
        let announced: Option<Digest> = announced.and_then(|digest| digest.parse().ok());
        let manifest = self.connection.read(target, response, MAX_MANIFEST_BYTES, "manifest").await?;
        if let Some(announced) = announced {
            check_digest(target, "manifest", announced, Digest::of_bytes(&manifest))?;
        }
        Ok(Some(manifest))
    }

    /// Reads a blob, which must have the size and the digest of its descriptor.
    pub(crate) async fn blob(
        &self,
        target: &Target<'_>,
        described: &Descriptor,
        max_bytes: usize,
        noun: &str,
    ) -> Result<Vec<u8>, OciError> {
        let Descriptor { digest, size, .. } = described;
        let length = usize::try_from(*size).unwrap_or(usize::MAX);
        if length > max_bytes {
            let reason = format!("the {noun} has {size} bytes, and at most {max_bytes} are allowed");
            return Err(target.error(OciErrorKind::TooLarge, reason));
        }
        let request = Request::get(target.url(&format!("blobs/{digest}"))?);
        let response = self.connection.send(target, &request, &[StatusCode::OK]).await?;
        let bytes = self.connection.read(target, response, length, noun).await?;
        check_digest(target, noun, *digest, Digest::of_bytes(&bytes))?;
        Ok(bytes)
    }
}

fn check_digest(target: &Target<'_>, noun: &str, expected: Digest, found: Digest) -> Result<(), OciError> {
    match expected == found {
        true => Ok(()),
        false => {
            let reason = format!("the {noun} differs from its digest: expected {expected}, found {found}");
            let help = "it was changed in the registry or on the way; nothing was saved";
            Err(target.error(OciErrorKind::Digest, reason).with_help(help))
        }
    }
}
