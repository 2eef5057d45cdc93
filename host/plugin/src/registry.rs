//! From the name of a plugin to the component that holds it.

use crate::backend::BackendComponent;
use crate::component::LoadError;
use crate::host::PluginHost;
use crate::inspect::World;
use crate::limits::Limits;
use crate::metric::MetricFamily;
use crate::preprocessor::PreprocessorFamily;
use gage_config::{PluginReference, shown_path};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A component that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct BundledComponent {
    /// Its name.
    pub name: &'static str,
    /// Its world.
    pub world: World,
    /// The names of what it holds.
    pub members: &'static [&'static str],
    /// The component.
    pub bytes: &'static [u8],
}

/// Why a plugin cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No plugin has this name.
    #[error("there is no {what} '{name}'", what = world.interface())]
    Unknown {
        /// The name.
        name: String,
        /// What was looked for.
        world: World,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read the plugin {}: {error}", shown_path(path))]
    Unreadable {
        /// The path as it was written.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// The component cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Finds plugins by name or file, and loads each component once.
pub struct Registry {
    host: PluginHost,
    limits: Limits,
    bundled: &'static [BundledComponent],
    metrics: Mutex<HashMap<String, Arc<MetricFamily>>>,
    preprocessors: Mutex<HashMap<String, Arc<PreprocessorFamily>>>,
}

struct Found {
    name: String,
    member: Option<String>,
    bytes: std::borrow::Cow<'static, [u8]>,
}

impl Registry {
    /// A registry of the components that come with the program.
    pub fn new(host: PluginHost, limits: Limits, bundled: &'static [BundledComponent]) -> Registry {
        Registry { host, limits, bundled, metrics: Mutex::default(), preprocessors: Mutex::default() }
    }

    /// The components that come with the program.
    pub fn bundled(&self) -> &'static [BundledComponent] {
        self.bundled
    }

    /// The component of a metric, and which of its members is meant.
    ///
    /// # Errors
    /// When there is no such plugin, or its component cannot be used.
    pub fn metric(
        &self,
        reference: &PluginReference,
    ) -> Result<(Arc<MetricFamily>, Option<String>), RegistryError> {
        self.load_once(reference, World::Metric, &self.metrics, MetricFamily::load)
    }

    /// The component of a preprocessor, and which of its members is meant.
    ///
    /// # Errors
    /// As for [`Registry::metric`].
    pub fn preprocessor(
        &self,
        reference: &PluginReference,
    ) -> Result<(Arc<PreprocessorFamily>, Option<String>), RegistryError> {
        self.load_once(reference, World::Preprocessor, &self.preprocessors, PreprocessorFamily::load)
    }

    fn load_once<Family>(
        &self,
        reference: &PluginReference,
        world: World,
        families: &Mutex<HashMap<String, Arc<Family>>>,
        load: fn(&PluginHost, &str, &[u8], &Limits) -> Result<Family, LoadError>,
    ) -> Result<(Arc<Family>, Option<String>), RegistryError> {
        let found = self.find(reference, world)?;
        let mut loaded = families.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(family) = loaded.get(&found.name) {
            return Ok((Arc::clone(family), found.member));
        }
        let family = Arc::new(load(&self.host, &found.name, &found.bytes, &self.limits)?);
        loaded.insert(found.name, Arc::clone(&family));
        Ok((family, found.member))
    }

    /// A backend component, without configuration.
    ///
    /// # Errors
    /// As for [`Registry::metric`].
    pub fn backend(&self, reference: &PluginReference) -> Result<BackendComponent, RegistryError> {
        let found = self.find(reference, World::Backend)?;
        Ok(BackendComponent::load(&self.host, &found.name, &found.bytes, &self.limits)?)
    }

    fn find(&self, reference: &PluginReference, world: World) -> Result<Found, RegistryError> {
        match reference {
            PluginReference::Name(name) => {
                let mut candidates = self.bundled.iter().filter(|component| component.world == world);
                let holds = |component: &&BundledComponent| component.members.contains(&name.as_str());
                match candidates.clone().find(holds) {
                    Some(component) => Ok(Found {
                        name: component.name.to_owned(),
                        member: Some(name.clone()),
                        bytes: component.bytes.into(),
                    }),
                    None => Err(RegistryError::Unknown {
                        name: name.clone(),
                        world,
                        known: candidates.by_ref().flat_map(|component| component.members).copied().collect(),
                    }),
                }
            }
            PluginReference::File { path, member } => {
                let bytes = read(path, self.limits.component_bytes)?;
                Ok(Found { name: path.display().to_string(), member: member.clone(), bytes: bytes.into() })
            }
        }
    }
}

/// Reads a file that is not larger than a component may be.
fn read(path: &Path, most_bytes: usize) -> Result<Vec<u8>, RegistryError> {
    let fail = |error: String| RegistryError::Unreadable { path: path.to_owned(), error };
    let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if usize::try_from(size).is_ok_and(|size| size > most_bytes) {
        return Err(fail(format!("it has {size} bytes; at most {most_bytes} are allowed")));
    }
    std::fs::read(path).map_err(|error| fail(error.to_string()))
}
