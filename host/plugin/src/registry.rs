//! The plugin registry, which finds a plugin's component by the plugin's name.

mod checked_component;
#[cfg(test)]
mod tests;

use crate::any_component::{AnyComponent, AnyKind, summarise};
use crate::component::{InstanceSetup, LoadError};
use crate::component_members::PluginComponent;
use crate::host::PluginHost;
use crate::inspect::ComponentSummary;
use crate::optional_component::OptionalComponent;
use crate::plugin_description::PluginDescription;
use crate::registered_plugin::{
    BundledComponent, ListedPlugin, LoadedPlugin, OptionalPlugin, Origin, PluginOrigin, RegisteredPlugin,
};
use crate::registry_error::RegistryError;
use crate::world::World;
use gage_config::{PluginReference, PluginSource, PluginSpec};
use gage_core::PinnedFiles;
use gage_packages::{PackageStore, Trust};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use checked_component::read_component;

/// Finds plugins by name or file, and loads each component once.
pub struct Registry {
    host: PluginHost,
    bundled: &'static [BundledComponent],
    registered: Vec<RegisteredPlugin>,
    /// Components that are used if no registered one has the name.
    optional: Vec<OptionalPlugin>,
    is_lacking: bool,
    /// Packages that were fetched from registries; `None` if there is no cache.
    packages: Option<PackageStore>,
    /// Decides which components may be loaded.
    trust: Arc<Trust>,
    /// Files that a suite names without an entry in `plugins`.
    files: Mutex<HashMap<PathBuf, AnyComponent>>,
    /// Files of the components that were found, for checks while they run.
    used_files: Arc<PinnedFiles>,
    /// Origins of the components that were found, by id and source.
    used_origins: Mutex<BTreeMap<(String, String), PluginOrigin>>,
    /// Components that only the program uses, by name. Each is loaded on first use.
    internal: Mutex<HashMap<&'static str, AnyComponent>>,
}

impl Registry {
    /// Creates a registry of the bundled components.
    pub fn new(host: PluginHost, bundled: &'static [BundledComponent]) -> Registry {
        let public = bundled.iter().filter(|component| !component.is_internal);
        let registered = public.map(|component| RegisteredPlugin {
            id: component.name.to_owned(),
            origin: Origin::Bundled(component.name),
            setup: InstanceSetup::default(),
            is_entry: false,
            loaded: Mutex::default(),
        });
        Registry {
            host,
            bundled,
            registered: registered.collect(),
            optional: Vec::new(),
            is_lacking: false,
            packages: None,
            trust: Arc::default(),
            files: Mutex::default(),
            used_files: Arc::default(),
            used_origins: Mutex::default(),
            internal: Mutex::default(),
        }
    }

    /// Uses the packages of a store, and loads only components that the policy trusts. Without a store, no package is found.
    #[must_use]
    pub fn with_packages(mut self, packages: Option<PackageStore>, trust: Arc<Trust>) -> Registry {
        self.packages = packages;
        self.trust = trust;
        self
    }

    /// Adds components that may be installed in some folders. A plugin of a suite or of a folder with the same name comes
    /// first. The files are read when they are used.
    #[must_use]
    pub fn with_optional(
        mut self,
        components: &'static [OptionalComponent],
        installation: &[PathBuf],
    ) -> Registry {
        self.optional.extend(components.iter().map(|component| OptionalPlugin {
            component,
            installed: component.locate(installation).map(|file| RegisteredPlugin {
                id: component.name.to_owned(),
                setup: InstanceSetup::of_file(&file),
                origin: Origin::Installed(file),
                is_entry: false,
                loaded: Mutex::default(),
            }),
        }));
        self
    }

    /// Returns the error of using an optional component, or a member of one, that is not installed. `None` if the name is
    /// not one of these.
    pub fn not_installed(&self, name: &str) -> Option<RegistryError> {
        let named = self.optional.iter().find(|one| one.component.has_name(name))?;
        named.installed().err()
    }

    /// Returns the host that runs its plugins.
    pub fn host(&self) -> &PluginHost {
        &self.host
    }

    /// Returns the files of all components that [`Registry::find`] returned. The components themselves are in memory.
    pub fn used_files(&self) -> &Arc<PinnedFiles> {
        &self.used_files
    }

    /// Returns the origins of all components that [`Registry::find`] returned and that did not come with the program, by id.
    pub fn used_origins(&self) -> Vec<PluginOrigin> {
        self.used_origins.lock().values().cloned().collect()
    }

    /// Returns the origins of the packages among the entries of the suite.
    pub fn package_origins(&self) -> Vec<PluginOrigin> {
        let packages = self.registered.iter().filter(|one| matches!(one.origin, Origin::Registry(_)));
        packages.filter_map(|one| Some(PluginOrigin::of(one, one.loaded.lock().as_ref()?))).collect()
    }

    /// Adds and loads an entry of a suite's `plugins`.
    ///
    /// # Errors
    /// If its id is taken, its file is unreadable or differs from the digest, its package was not fetched, the policy does not
    /// trust it, or the component is unusable with its grants.
    pub fn add(&mut self, spec: &PluginSpec) -> Result<(), RegistryError> {
        let added = self.try_add(spec);
        self.is_lacking |= added.is_err();
        added
    }

    /// Returns whether adding a plugin failed, in which case an unknown name may belong to it.
    pub fn is_lacking(&self) -> bool {
        self.is_lacking
    }

    fn try_add(&mut self, spec: &PluginSpec) -> Result<(), RegistryError> {
        let (origin, name) = match &spec.source {
            PluginSource::File(path) => (Origin::File(path.clone()), path.display().to_string()),
            PluginSource::Registry(reference) => (Origin::Registry(reference.clone()), reference.to_string()),
            PluginSource::Bundled(name) => {
                let optional = self.optional.iter().find(|one| one.component.name == name);
                let origin = match optional {
                    Some(optional) => optional.installed()?.origin.clone(),
                    None => Origin::Bundled(self.bundled_named(name)?.name),
                };
                (origin, name.clone())
            }
        };
        let (limits, grants) = (spec.limits.clone(), spec.grants.clone());
        let setup = InstanceSetup { limits, grants, source: Some(name), ..InstanceSetup::default() };
        let loaded = self.load(&spec.id, &origin, &setup, Some(spec))?;
        // An entry for a bundled component replaces it.
        self.registered.retain(|one| one.is_entry || one.origin != origin);
        let loaded = Mutex::new(Some(loaded));
        self.register(RegisteredPlugin { id: spec.id.clone(), origin, setup, is_entry: true, loaded })
    }

    /// Adds every `.wasm` file of a folder under its file name, without grants.
    ///
    /// # Errors
    /// If the folder cannot be read, or a file in it cannot be used.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), RegistryError> {
        let fail = |error: std::io::Error| RegistryError::Unreadable {
            path: folder.to_owned(),
            error: error.to_string(),
        };
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .map_err(fail)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(fail)?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
        files.sort();
        for path in files {
            let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let origin = Origin::File(path.clone());
            let setup = InstanceSetup::of_file(&path);
            let loaded = Mutex::new(Some(self.load(&id, &origin, &setup, None)?));
            self.register(RegisteredPlugin { id, origin, setup, is_entry: true, loaded })?;
        }
        Ok(())
    }

    fn register(&mut self, new: RegisteredPlugin) -> Result<(), RegistryError> {
        if let Some(other) = self.registered.iter().find(|one| one.id == new.id) {
            return Err(match &other.origin {
                Origin::Bundled(_) => RegistryError::taken_by_bundled(&new.id),
                origin @ (Origin::File(_) | Origin::Installed(_) | Origin::Registry(_)) => {
                    RegistryError::IdTaken { id: new.id, by: origin.to_string() }
                }
            });
        }
        self.registered.push(new);
        Ok(())
    }

    fn bundled_named(&self, name: &str) -> Result<&'static BundledComponent, RegistryError> {
        let public = || self.bundled.iter().filter(|component| !component.is_internal);
        public().find(|component| component.name == name).ok_or_else(|| {
            let known: Vec<&str> = public().map(|component| component.name).collect();
            RegistryError::Load(LoadError {
                name: name.to_owned(),
                message: "no built-in component has this name".to_owned(),
                help: Some(format!(
                    "expected one of: {}; a file is named by its path: ./{name}.wasm",
                    known.join(", ")
                )),
            })
        })
    }

    /// Returns a component that only the program uses, with the given settings. It is loaded on first use, and keeps the
    /// settings of that use.
    ///
    /// # Errors
    /// If the program has no such component, or it cannot be used.
    pub fn internal<K: AnyKind>(
        &self,
        name: &str,
        setup: &InstanceSetup,
    ) -> Result<Arc<PluginComponent<K>>, RegistryError> {
        let lacks = |message: String| LoadError { name: name.to_owned(), message, help: None };
        let mut bundled = self.bundled.iter().filter(|component| component.is_internal);
        let bundled = bundled.find(|component| component.name == name);
        let bundled = bundled.ok_or_else(|| lacks("it is not part of this program".to_owned()))?;
        let mut loaded = self.internal.lock();
        let component = match loaded.get(bundled.name) {
            Some(component) => component.clone(),
            None => {
                let component = AnyComponent::load(&self.host, bundled.name, bundled.bytes, setup)?;
                loaded.insert(bundled.name, component.clone());
                component
            }
        };
        let found = K::of(&component);
        Ok(found.ok_or_else(|| lacks(format!("it is a {}, not a {}", component.world(), K::WORLD)))?)
    }

    /// Returns all components in registration order, and then the installed optional ones. Those with a recorded
    /// description are neither compiled nor loaded.
    ///
    /// # Errors
    /// If a component cannot be loaded.
    pub fn list(&self) -> Result<Vec<ListedPlugin>, RegistryError> {
        self.registered.iter().chain(self.unreplaced_optional()).map(|one| self.listed(one)).collect()
    }

    /// Returns the installed optional components that no registered one replaces.
    fn unreplaced_optional(&self) -> impl Iterator<Item = &RegisteredPlugin> {
        let installed = self.optional.iter().filter_map(|one| one.installed.as_ref().ok());
        installed.filter(move |optional| {
            // An entry may name the file by its path.
            let is_same = |one: &RegisteredPlugin| one.origin.place() == optional.origin.place();
            !self.registered.iter().any(|one| one.id == optional.id || is_same(one))
        })
    }

    fn listed(&self, one: &RegisteredPlugin) -> Result<ListedPlugin, RegistryError> {
        let (summary, described) = match self.recorded(one)? {
            Some(recorded) => recorded,
            None => {
                let component = self.component(one)?;
                (component.summary().clone(), PluginDescription::of(&component))
            }
        };
        let signer = one.loaded.lock().as_ref().and_then(|loaded| loaded.signer.clone());
        Ok(ListedPlugin { id: one.id.clone(), source: one.origin.to_string(), summary, described, signer })
    }

    /// Returns the summary and the recorded description of a component; `None` if none is recorded.
    fn recorded(
        &self,
        one: &RegisteredPlugin,
    ) -> Result<Option<(ComponentSummary, PluginDescription)>, RegistryError> {
        let description = match &one.origin {
            Origin::Bundled(name) => self.bundled_named(name)?.description,
            Origin::File(_) | Origin::Registry(_) => return Ok(None),
            Origin::Installed(_) if one.is_entry => return Ok(None),
            Origin::Installed(_) => {
                let optional = self.optional.iter().find(|optional| optional.component.name == one.id);
                optional.map_or("null", |optional| optional.component.description)
            }
        };
        let Some(described) = PluginDescription::from_json(description) else { return Ok(None) };
        let read = self.read(&one.origin, &one.setup, None)?;
        Ok(Some((summarise(&one.id, &read.bytes)?, described)))
    }

    /// Returns the built-in component with a member of this name. An entry with the name as its id is used in place of that member.
    pub fn bundled_holder(&self, name: &str) -> Option<&'static BundledComponent> {
        self.bundled.iter().find(|component| !component.is_internal && component.members.contains(&name))
    }

    /// Returns the names that several plugins share, each as an error for its users.
    ///
    /// # Errors
    /// If a component cannot be loaded.
    pub fn conflicts(&self) -> Result<Vec<RegistryError>, RegistryError> {
        let mut names: Vec<(World, String)> = Vec::new();
        for one in &self.registered {
            for world in World::ALL.into_iter().filter(|world| *world != World::Backend) {
                names.extend(self.members(one, world)?.into_iter().map(|name| (world, name)));
            }
        }
        names.sort_by(|one, two| (one.0.kind(), &one.1).cmp(&(two.0.kind(), &two.1)));
        let twice = |pair: &[(World, String)]| (pair[0] == pair[1]).then(|| pair[0].clone());
        let mut repeated: Vec<(World, String)> = names.windows(2).filter_map(twice).collect();
        repeated.dedup();
        Ok(repeated.into_iter().filter_map(|(world, name)| self.holder(&name, world).err()).collect())
    }

    /// Resolves a reference to a component and the member that it names.
    ///
    /// # Errors
    /// If there is no such plugin, there are several, or its component cannot be used.
    pub fn find<K: AnyKind>(
        &self,
        reference: &PluginReference,
    ) -> Result<(Arc<PluginComponent<K>>, Option<String>), RegistryError> {
        let (component, member) = match reference {
            PluginReference::Name(name) => {
                let by_id = self.registered.iter().find(|one| one.is_entry && one.id == *name);
                match by_id {
                    Some(one) => (self.used(one)?, None),
                    None => {
                        let one = self.holder(name, K::WORLD)?;
                        // A backend is its whole component and has no members.
                        let member = (K::WORLD != World::Backend).then(|| name.clone());
                        (self.used(one)?, member)
                    }
                }
            }
            PluginReference::Member { plugin, member } => {
                (self.used(self.with_id(plugin)?)?, Some(member.clone()))
            }
            PluginReference::File { path, member } => (self.file(path)?, member.clone()),
        };
        match K::of(&component) {
            Some(component) => Ok((component, member)),
            None => Err(RegistryError::Load(LoadError {
                name: reference.to_string(),
                message: format!("it is a {} plugin, but is used as a {}", component.world(), K::WORLD),
                help: None,
            })),
        }
    }

    /// Returns the component with an id.
    fn with_id(&self, id: &str) -> Result<&RegisteredPlugin, RegistryError> {
        if let Some(one) = self.registered.iter().find(|one| one.id == id) {
            return Ok(one);
        }
        match self.optional.iter().find(|one| one.component.name == id) {
            Some(optional) => optional.installed(),
            None => {
                let known = self.registered.iter().map(|one| one.id.clone()).collect();
                Err(RegistryError::UnknownPlugin { id: id.to_owned(), known })
            }
        }
    }

    /// Returns the only component that has a member with this name.
    fn holder(&self, name: &str, world: World) -> Result<&RegisteredPlugin, RegistryError> {
        let mut known = Vec::new();
        let mut holders = Vec::new();
        for one in &self.registered {
            for member in self.members(one, world)? {
                if member == name {
                    holders.push(one);
                }
                known.push(member);
            }
            if world == World::Backend && self.members(one, world)?.is_empty() && one.id == name {
                holders.push(one);
            }
        }
        match holders.as_slice() {
            [only] => Ok(only),
            [] => self.optional_holder(name, world, known),
            several => Err(RegistryError::Ambiguous {
                name: name.to_owned(),
                world,
                plugins: several.iter().map(|one| format!("{} ({})", one.id, one.origin)).collect(),
                known: several.iter().map(|one| format!("{}#{name}", one.id)).collect(),
            }),
        }
    }

    /// Returns the optional component that has a member with this name. `known` are the names of other components.
    fn optional_holder(
        &self,
        name: &str,
        world: World,
        mut known: Vec<String>,
    ) -> Result<&RegisteredPlugin, RegistryError> {
        for optional in self.optional.iter().filter(|one| one.component.world == world) {
            let members = optional.component.members;
            if members.contains(&name) {
                return optional.installed();
            }
            if optional.installed.is_ok() {
                known.extend(members.iter().map(|member| (*member).to_owned()));
            }
        }
        Err(RegistryError::Unknown { name: name.to_owned(), world, known })
    }

    /// Returns the names of a component's members, if it belongs to the world.
    fn members(&self, one: &RegisteredPlugin, world: World) -> Result<Vec<String>, RegistryError> {
        if let Origin::Bundled(name) = &one.origin {
            let component = self.bundled_named(name)?;
            let members = if component.world == world { component.members } else { &[] };
            return Ok(members.iter().map(|member| (*member).to_owned()).collect());
        }
        let component = self.component(one)?;
        if component.world() != world {
            return Ok(Vec::new());
        }
        if world == World::Backend {
            return Ok(vec![one.id.clone()]);
        }
        Ok(component.descriptions().iter().map(|member| member.name.clone()).collect())
    }

    /// Returns a component that a suite uses.
    fn used(&self, one: &RegisteredPlugin) -> Result<AnyComponent, RegistryError> {
        let loaded = self.loaded(one)?;
        self.note_use(one, &loaded);
        Ok(loaded.component)
    }

    /// Notes the file and the origin of a component that a suite uses.
    fn note_use(&self, one: &RegisteredPlugin, loaded: &LoadedPlugin) {
        loaded.file.iter().for_each(|file| self.used_files.add(file));
        if !matches!(one.origin, Origin::Bundled(_)) {
            let key = (one.id.clone(), one.origin.to_string());
            self.used_origins.lock().entry(key).or_insert_with(|| PluginOrigin::of(one, loaded));
        }
    }

    fn component(&self, one: &RegisteredPlugin) -> Result<AnyComponent, RegistryError> {
        Ok(self.loaded(one)?.component)
    }

    fn loaded(&self, one: &RegisteredPlugin) -> Result<LoadedPlugin, RegistryError> {
        let mut slot = one.loaded.lock();
        if let Some(loaded) = &*slot {
            return Ok(loaded.clone());
        }
        // Only bundled and optional components are loaded this late.
        let loaded = self.load(&one.id, &one.origin, &one.setup, None)?;
        *slot = Some(loaded.clone());
        Ok(loaded)
    }

    /// Returns the component of a file without an entry. If the same file has an entry, returns that one.
    fn file(&self, path: &Path) -> Result<AnyComponent, RegistryError> {
        let settled = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_same = |one: &&RegisteredPlugin| match &one.origin {
            Origin::File(other) | Origin::Installed(other) => {
                other.canonicalize().is_ok_and(|other| other == settled)
            }
            Origin::Bundled(_) | Origin::Registry(_) => false,
        };
        if let Some(one) = self.registered.iter().find(is_same) {
            return self.used(one);
        }
        let mut files = self.files.lock();
        if let Some(component) = files.get(&settled) {
            return Ok(component.clone());
        }
        let (id, origin) = (path.display().to_string(), Origin::File(path.to_owned()));
        let setup = InstanceSetup::of_file(path);
        let loaded = self.load(&id, &origin, &setup, None)?;
        let (id, component) = (origin.file_name(), loaded.component.clone());
        let one = RegisteredPlugin { id, origin, setup, is_entry: false, loaded: Mutex::default() };
        self.note_use(&one, &loaded);
        files.insert(settled, component.clone());
        Ok(component)
    }
}
