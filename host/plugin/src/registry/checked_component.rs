//! Reads components from the program, from files and from the store of packages, and checks them before they are compiled.

use super::Registry;
use crate::any_component::AnyComponent;
use crate::component::InstanceSetup;
use crate::limits::Limits;
use crate::registered_plugin::{LoadedPlugin, Origin};
use crate::registry_error::RegistryError;
use gage_config::PluginSpec;
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, OciReference, PinnedFile, ResourceShortage, SeenFile};
use gage_packages::{PackageOrigin, Signer, StoredPackage, signatures_beside};
use gage_signature::{Signature, Subject};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes of a component, and where they were read.
pub(super) struct ReadComponent {
    /// The bytes.
    pub(super) bytes: Cow<'static, [u8]>,
    /// The file, pinned to the bytes; `None` if they are of the program or of a package.
    file: Option<Arc<PinnedFile>>,
    /// The package; `None` if they are of the program or of a file.
    package: Option<StoredPackage>,
}

impl Registry {
    /// Reads a component, and compiles it if it has the wanted digest and is trusted. `spec` is the entry of a suite.
    pub(super) fn load(
        &self,
        id: &str,
        origin: &Origin,
        setup: &InstanceSetup,
        spec: Option<&PluginSpec>,
    ) -> Result<LoadedPlugin, RegistryError> {
        let read = self.read(origin, setup, spec)?;
        let of_package = read.package.as_ref().map(|package| package.component);
        let wanted = spec.and_then(|spec| spec.sha256).or(of_package);
        let mut signer = None;
        if wanted.is_some() || !matches!(origin, Origin::Bundled(_)) {
            let found = Digest::of_bytes(&read.bytes);
            if let Some(wanted) = wanted
                && wanted != found
            {
                return Err(RegistryError::Digest { path: origin.place(), wanted, found });
            }
            let is_pinned = spec.is_some_and(PluginSpec::is_pinned);
            signer = self.check_trust(origin, &read, found, is_pinned)?;
        }
        let component = AnyComponent::load(&self.host, id, &read.bytes, setup)?;
        let manifest = read.package.map(|package| package.manifest);
        Ok(LoadedPlugin { component, file: read.file, manifest, signer: signer.map(Arc::new) })
    }

    /// Returns the bytes of a component, without any check of them.
    pub(super) fn read(
        &self,
        origin: &Origin,
        setup: &InstanceSetup,
        spec: Option<&PluginSpec>,
    ) -> Result<ReadComponent, RegistryError> {
        let max_bytes = Limits::of_interpreter().with(&setup.limits).component_bytes;
        match origin {
            Origin::Bundled(name) => {
                let bytes = self.bundled_named(name)?.bytes.into();
                Ok(ReadComponent { bytes, file: None, package: None })
            }
            Origin::File(path) | Origin::Installed(path) => {
                let before = std::fs::metadata(path).map(|metadata| SeenFile::of(&metadata));
                let bytes = read_component(path, max_bytes)?;
                let pinned = |before| Arc::new(PinnedFile::new(path, before, Digest::of_bytes(&bytes)));
                let file = before.ok().map(pinned);
                Ok(ReadComponent { bytes: bytes.into(), file, package: None })
            }
            Origin::Registry(reference) => {
                // Packages of a registry that the policy does not name are not fetched.
                let listed = self.trust.check_address(reference);
                listed.map_err(|error| RegistryError::Untrusted(Box::new(error)))?;
                let wanted = spec.and_then(|spec| spec.sha256.or(spec.resolved));
                let package = self.package(reference, wanted)?;
                let bytes = read_component(&package.file, max_bytes)?.into();
                Ok(ReadComponent { bytes, file: None, package: Some(package) })
            }
        }
    }

    /// Returns the stored package of a reference. Nothing is fetched.
    fn package(
        &self,
        reference: &OciReference,
        wanted: Option<Digest>,
    ) -> Result<StoredPackage, RegistryError> {
        let found = self.packages.as_ref().map(|store| store.find(reference, wanted)).transpose();
        let found = found.map_err(|error| RegistryError::Unreadable {
            path: PathBuf::from(reference.to_string()),
            error: error.to_string(),
        })?;
        let lacking = || RegistryError::NotFetched { reference: reference.to_string(), sha256: wanted };
        found.flatten().ok_or_else(lacking)
    }

    /// Checks that the policy allows a component. Returns its signer, if the policy has a key for its source.
    fn check_trust(
        &self,
        origin: &Origin,
        read: &ReadComponent,
        component: Digest,
        is_pinned: bool,
    ) -> Result<Option<Signer>, RegistryError> {
        let subject = |name: String| Subject {
            component,
            manifest: read.package.as_ref().map(|package| package.manifest),
            name,
        };
        let of_package = || -> Vec<Signature> {
            read.package.as_ref().map(|package| package.signatures.clone()).unwrap_or_default()
        };
        let checked = match origin {
            Origin::Bundled(_) | Origin::Installed(_) => return Ok(None),
            Origin::File(path) => {
                let subject = subject(origin.file_name());
                let beside = || signatures_of_file(path);
                self.trust.check(PackageOrigin::File(path), &subject, is_pinned, &beside)
            }
            Origin::Registry(reference) => {
                let subject = subject(reference.name());
                self.trust.check(PackageOrigin::Registry(reference), &subject, is_pinned, &of_package)
            }
        };
        checked.map_err(|error| RegistryError::Untrusted(Box::new(error)))
    }
}

/// Returns the signatures beside a file. Those that cannot be read are left out, with a warning.
fn signatures_of_file(path: &Path) -> Vec<Signature> {
    signatures_beside(path).unwrap_or_else(|error| {
        tracing::warn!("the signatures of {} cannot be read: {error}", path.display());
        Vec::new()
    })
}

/// Reads a file up to the maximum size of a component.
///
/// # Errors
/// If it cannot be read, or is larger.
pub fn read_component(path: &Path, most_bytes: usize) -> Result<Vec<u8>, RegistryError> {
    let limit = FileLimit::new("a component", most_bytes as u64);
    foreign_file::read_named(path, limit)
        .inspect_err(|error| drop(ResourceShortage::report_in(error)))
        .map_err(|error| RegistryError::Unreadable { path: path.to_owned(), error: error.to_string() })
}
