//! Fetches the packages of a suite from registries into the cache.

use crate::async_runtime::start_runtime;
use crate::{Context, ErrorCategory, RunEvent, RunnerError};
use gage_config::{PipelineConfig, PluginSource, PluginSpec, Problems};
use gage_core::{Digest, OciReference};
use gage_oci::{OciClient, OciError, OciSettings};
use gage_packages::{NewPackage, PackageStore, StoreError};
use gage_plugin::Limits;
use gage_record::RecordedPlugin;

/// The reason why a package was not fetched.
#[derive(Debug, PartialEq, Eq)]
struct FetchProblem {
    category: ErrorCategory,
    message: String,
    help: Option<String>,
}

impl From<OciError> for FetchProblem {
    fn from(error: OciError) -> FetchProblem {
        let category = ErrorCategory::of_registry(error.kind);
        FetchProblem { category, message: error.message, help: error.help }
    }
}

impl From<StoreError> for FetchProblem {
    fn from(error: StoreError) -> FetchProblem {
        FetchProblem { category: ErrorCategory::Configuration, message: error.to_string(), help: None }
    }
}

/// A package of a suite that is not in the cache, or whose tag may have moved.
struct MissingPackage {
    /// The index of its entry in `plugins`.
    index: usize,
    reference: OciReference,
    /// The digest of the manifest in the lock or in the recorded run.
    manifest: Option<Digest>,
}

impl MissingPackage {
    /// Returns the address that the registry is asked for. A locked package is named by its digest, because its tag may have
    /// moved.
    fn exact(&self) -> OciReference {
        self.manifest.map_or_else(|| self.reference.clone(), |manifest| self.reference.with_digest(manifest))
    }
}

impl Context {
    /// Fetches the packages of a suite into the cache. Does nothing if the suite has errors.
    ///
    /// An entry without a digest takes that of `pins`, the packages of a lock or of a recorded run, if its address is the same.
    /// What is pinned and in the cache is not asked for. Of other packages, the registry is asked what their tags are now,
    /// unless `is_offline`. A registry that the policy does not name is not asked: the plan refuses its packages.
    ///
    /// # Errors
    /// Fails if the machine cannot start an async runtime, or a package cannot be fetched. The second error takes `problems`. A
    /// damaged cache is an error in `problems`.
    pub fn fetch_packages(
        &self,
        config: &mut PipelineConfig,
        pins: &[RecordedPlugin],
        is_offline: bool,
        problems: &mut Problems,
    ) -> Result<(), RunnerError> {
        let manifests = pin_packages(config, pins);
        let is_package = |spec: &PluginSpec| matches!(spec.source, PluginSource::Registry(_));
        if is_offline || problems.has_errors() || !config.plugins.iter().any(is_package) {
            return Ok(());
        }
        let Some(store) = self.packages() else {
            problems
                .error_without_place("no cache directory is available for packages of registries")
                .help("set HOME or XDG_CACHE_HOME");
            return Ok(());
        };
        let mut missing = missing_packages(config, &manifests, &store, problems);
        missing.retain(|package| self.trust.check_address(&package.reference).is_ok());
        if missing.is_empty() {
            return Ok(());
        }
        // Redirects lead only to hosts that the suite may reach.
        let permissions = config.resources.permissions().clone();
        let client = match OciClient::new(OciSettings { permissions, ..OciSettings::default() }) {
            Ok(client) => client,
            Err(error) => {
                problems.error_without_place(error.message).help = error.help;
                return Ok(());
            }
        };
        let fetcher = Fetcher { context: self, store, client };
        let runtime = start_runtime(0)?;
        // So far, only the cache had errors.
        let mut failures = vec![ErrorCategory::Configuration; problems.counts().0];
        for package in missing {
            let Some(spec) = config.plugins.get_mut(package.index) else { continue };
            match runtime.block_on(fetcher.fetch(spec, &package)) {
                Ok(component) => spec.resolved = Some(component),
                Err(problem) => {
                    failures.push(problem.category);
                    report(spec, problem, problems);
                }
            }
        }
        match failures.is_empty() {
            true => Ok(()),
            false => Err(RunnerError::UnfetchedPackages {
                problems: Box::new(std::mem::take(problems)),
                category: ErrorCategory::of_all(&failures),
            }),
        }
    }
}

/// Pins the packages of a suite that have no digest to those of a lock or of a recorded run. Returns the digest of the manifest
/// for each entry that is the same package.
pub fn pin_packages(config: &mut PipelineConfig, pins: &[RecordedPlugin]) -> Vec<Option<Digest>> {
    let mut manifests = Vec::with_capacity(config.plugins.len());
    for spec in &mut config.plugins {
        manifests.push(pin_package(spec, pins));
    }
    manifests
}

fn pin_package(spec: &mut PluginSpec, pins: &[RecordedPlugin]) -> Option<Digest> {
    let PluginSource::Registry(reference) = &spec.source else { return None };
    let address = reference.to_string();
    let pin = pins.iter().find(|pin| pin.id == spec.id && pin.is_package(&address))?;
    let component = pin.digest.parse::<Digest>().ok()?;
    if spec.sha256.is_some_and(|wanted| wanted != component) {
        return None;
    }
    spec.sha256 = Some(component);
    pin.manifest.as_ref()?.parse().ok()
}

/// Returns the packages that the registry must be asked for.
fn missing_packages(
    config: &PipelineConfig,
    manifests: &[Option<Digest>],
    store: &PackageStore,
    problems: &mut Problems,
) -> Vec<MissingPackage> {
    let mut missing = Vec::new();
    for (index, spec) in config.plugins.iter().enumerate() {
        let PluginSource::Registry(reference) = &spec.source else { continue };
        let is_here = match spec.is_pinned() {
            true => store.find(reference, spec.sha256).map(|package| package.is_some()),
            false => Ok(false),
        };
        match is_here {
            Ok(true) => {}
            Ok(false) => missing.push(MissingPackage {
                index,
                reference: reference.clone(),
                manifest: manifests.get(index).copied().flatten(),
            }),
            Err(error) => report(spec, error.into(), problems),
        }
    }
    missing
}

fn report(spec: &PluginSpec, problem: FetchProblem, problems: &mut Problems) {
    problems.error(spec.spans.source, "source", problem.message).help = problem.help;
}

/// Fetches packages into a store.
struct Fetcher<'c> {
    context: &'c Context,
    store: PackageStore,
    client: OciClient,
}

impl Fetcher<'_> {
    /// Fetches a package, unless it is in the store. Returns the digest of its component.
    async fn fetch(&self, spec: &PluginSpec, package: &MissingPackage) -> Result<Digest, FetchProblem> {
        let MissingPackage { reference, manifest, .. } = package;
        let found = self.client.resolve(&package.exact()).await;
        let found = found.map_err(|error| match manifest {
            Some(manifest) => lost_package(reference, *manifest, error),
            None => FetchProblem::from(error),
        })?;
        if let Some(wanted) = spec.sha256.filter(|wanted| *wanted != found.component) {
            return Err(moved_tag(reference, wanted, found.component));
        }
        let stored = self.store.find(reference, Some(found.component))?;
        if stored.is_some_and(|stored| stored.manifest == found.manifest) {
            return Ok(found.component);
        }
        let address = reference.to_string();
        let progress = |done| {
            let event = RunEvent::Fetching { path: &address, done, total: Some(found.size) };
            self.context.progress.on_event(&event);
        };
        progress(0);
        let max_bytes = Limits::of_interpreter().with(&spec.limits).component_bytes;
        // By its digest, so that a tag that moves meanwhile changes nothing.
        let fetched = self.client.pull(&reference.with_digest(found.manifest), max_bytes).await?;
        self.store.save(&NewPackage { reference: reference.clone(), ..fetched })?;
        progress(found.size);
        Ok(found.component)
    }
}

/// Describes a locked package that the registry does not return.
fn lost_package(reference: &OciReference, manifest: Digest, error: OciError) -> FetchProblem {
    FetchProblem {
        category: ErrorCategory::of_registry(error.kind),
        message: format!(
            "the package {reference} of the lock or of the run, with the manifest {manifest}, is neither in the cache nor can it \
             be fetched: {}",
            error.message
        ),
        help: Some(
            "restore it in the registry, or import it with `gage-host plugin import`; to use what the tag is now, update the \
             lock with `gage-host lock --update`"
                .to_owned(),
        ),
    }
}

/// Describes a package whose component is not the wanted one.
fn moved_tag(reference: &OciReference, wanted: Digest, found: Digest) -> FetchProblem {
    FetchProblem {
        category: ErrorCategory::LockMismatch,
        message: format!(
            "sha256 mismatch for {reference}: expected {}, found {}",
            wanted.hex(),
            found.hex()
        ),
        help: Some(
            "the tag was moved: name a tag or a manifest that has the intended component; or, if you trust the new one, write its \
             sha256"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests;
