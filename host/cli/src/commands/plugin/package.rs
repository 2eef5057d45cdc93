//! Packages of registries: where commands find them, and the errors of registries and of the cache.

use crate::commands::{setup, signals};
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Permissions;
use gage_core::{Digest, OciReference};
use gage_oci::{OciClient, OciError, OciSettings};
use gage_packages::{NewPackage, PackageManifest, PackageStore, StoreError, StoredPackage};
use gage_plugin::Limits;
use gage_runner::ErrorCategory;
use gage_signature::{Signature, Subject};
use std::collections::BTreeMap;

/// A package with its component in memory.
pub(super) struct Package {
    /// The name by which it was asked for.
    pub(super) reference: OciReference,
    /// The bytes of the component.
    pub(super) component: Vec<u8>,
    /// Digest of the manifest.
    pub(super) manifest: Digest,
    /// The author's own words about it.
    pub(super) annotations: BTreeMap<String, String>,
    /// The signatures, of anyone.
    pub(super) signatures: Vec<Signature>,
}

impl Package {
    /// Returns what its signatures must be about.
    pub(super) fn subject(&self) -> Subject {
        Subject {
            component: Digest::of_bytes(&self.component),
            manifest: Some(self.manifest),
            name: self.reference.name(),
        }
    }

    /// Returns the name that no push can move.
    pub(super) fn pinned(&self) -> OciReference {
        self.reference.with_digest(self.manifest)
    }
}

/// Reads a package from its registry, or from the cache without asking a registry. Keeps nothing.
pub(super) fn read_package(
    reference: &OciReference,
    is_offline: bool,
    quiet: bool,
) -> anyhow::Result<Package> {
    if is_offline {
        return Ok(stored_package(reference)?);
    }
    let NewPackage { reference, manifest, component, signatures, .. } =
        fetch(reference, Permissions::default(), quiet)?;
    // The client has checked the manifest.
    let annotations = PackageManifest::parse(&manifest).map(|parsed| parsed.annotations).unwrap_or_default();
    let digest = Digest::of_bytes(&manifest);
    Ok(Package { reference, component, manifest: digest, annotations, signatures })
}

/// Reads a package of the cache.
fn stored_package(reference: &OciReference) -> Result<Package, ExitCode> {
    let found = store()?.find(reference, None).map_err(|error| refuse_store(&error))?;
    let Some(StoredPackage { file, manifest, annotations, signatures, .. }) = found else {
        return Err(refuse_missing(reference));
    };
    let component = gage_plugin::read_component(&file, max_component_bytes())
        .map_err(|error| setup::refuse_plugin(&error))?;
    Ok(Package { reference: reference.clone(), component, manifest, annotations, signatures })
}

/// Prints the error of a package that is not in the cache.
pub(super) fn refuse_missing(reference: &OciReference) -> ExitCode {
    let message = format!("{reference} is not in the cache");
    let help = format!(
        "fetch it with `gage-host plugin pull {reference}`, or add it with `gage-host plugin import`"
    );
    terminal::usage_error(&message, Some(&help))
}

/// Fetches a package from its registry. `permissions` name the hosts that may be connected to.
pub(super) fn fetch(
    reference: &OciReference,
    permissions: Permissions,
    quiet: bool,
) -> anyhow::Result<NewPackage> {
    if !quiet {
        terminal::eprint_line(format_args!("fetching {reference}"));
    }
    let client = client(permissions)?;
    let runtime = start_runtime()?;
    let fetched = runtime.block_on(client.pull(reference, max_component_bytes()));
    Ok(fetched.map_err(|error| refuse_registry(&error))?)
}

/// Starts the async runtime of requests to a registry. A signal ends the command with a line.
pub(super) fn start_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    signals::end_with_line();
    Ok(gage_runner::start_runtime(0)?)
}

/// Creates the client of registries.
///
/// # Errors
/// If the environment forbids requests, or its certificates cannot be used. The message is printed.
pub(super) fn client(permissions: Permissions) -> Result<OciClient, ExitCode> {
    if environment::is_offline() {
        let message = "the registry is not asked, because GAGE_HOST_OFFLINE is set";
        return Err(terminal::usage_error(message, Some("unset it, or use what is in the cache")));
    }
    OciClient::new(OciSettings { permissions, ..OciSettings::default() })
        .map_err(|error| refuse_registry(&error))
}

/// Returns the packages in the cache folder.
pub(super) fn store() -> Result<PackageStore, ExitCode> {
    let help = Some("set GAGE_CACHE_DIR");
    let folder = environment::cache_folder();
    let folder = folder.ok_or_else(|| terminal::usage_error("there is no cache folder", help))?;
    Ok(PackageStore::new(folder.join("plugins")))
}

/// Returns the maximum size of a component.
pub(super) fn max_component_bytes() -> usize {
    Limits::of_interpreter().component_bytes
}

/// Prints the error of a registry, and returns its exit code.
pub(super) fn refuse_registry(error: &OciError) -> ExitCode {
    terminal::usage_error(&error.message, error.help.as_deref());
    ErrorCategory::of_registry(error.kind).into()
}

/// Prints the error of the packages in the cache.
pub(super) fn refuse_store(error: &StoreError) -> ExitCode {
    terminal::usage_error(&error.to_string(), None)
}
