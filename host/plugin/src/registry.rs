//! The plugin registry, which finds a plugin's component by the plugin's name.

use crate::any_component::{AnyComponent, AnyKind, summarise};
use crate::component::{InstanceSetup, LoadError};
use crate::component_members::PluginComponent;
use crate::host::PluginHost;
use crate::inspect::ComponentSummary;
use crate::limits::Limits;
use crate::member_description::MemberDescription;
use crate::plugin_description::PluginDescription;
use crate::world::World;
use gage_config::{PluginReference, PluginSource, PluginSpec, shown_path};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, PinnedFile, PinnedFiles, ResourceShortage, SeenFile};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of plugins that a message lists.
const MAX_LISTED_PLUGINS: usize = 20;

/// A component that is bundled with the program.
#[derive(Clone, Copy, Debug)]
pub struct BundledComponent {
    /// The name.
    pub name: &'static str,
    /// The world.
    pub world: World,
    /// Names of its members.
    pub members: &'static [&'static str],
    /// True if only the program uses it: no suite can name it, and it is not listed.
    pub is_internal: bool,
    /// Bytes of the component.
    pub bytes: &'static [u8],
    /// Its [`PluginDescription`] as JSON; `null` if it is not recorded.
    pub description: &'static str,
}

/// Error from looking up or adding a plugin.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No plugin has this name.
    #[error("there is no {world} '{name}'")]
    Unknown {
        /// The name.
        name: String,
        /// The requested world.
        world: World,
        /// The known names.
        known: Vec<String>,
    },
    /// No plugin has this id.
    #[error("there is no plugin '{id}'")]
    UnknownPlugin {
        /// The id.
        id: String,
        /// The known ids.
        known: Vec<String>,
    },
    /// Several plugins have a member with this name.
    #[error("the {world} '{name}' is in several plugins: {}", list(plugins))]
    Ambiguous {
        /// The name.
        name: String,
        /// The requested world.
        world: World,
        /// The plugins, each with its source.
        plugins: Vec<String>,
        /// The unambiguous names.
        known: Vec<String>,
    },
    /// Another plugin already has this id.
    #[error("the id '{id}' is taken by {by}")]
    IdTaken {
        /// The id.
        id: String,
        /// The plugin with this id.
        by: String,
    },
    /// The file cannot be read.
    #[error("cannot read the plugin {}: {error}", shown_path(path))]
    Unreadable {
        /// The path as written.
        path: PathBuf,
        /// The cause.
        error: String,
    },
    /// The file differs from the one named in the suite.
    #[error("sha256 mismatch for {}: expected {}, found {}", .path.display(), .wanted.hex(), .found.hex())]
    Digest {
        /// The file.
        path: PathBuf,
        /// Digest in the suite.
        wanted: Digest,
        /// Digest of the file.
        found: Digest,
    },
    /// The component cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl RegistryError {
    /// Returns advice, if there is any beyond the message.
    pub fn help(&self) -> Option<String> {
        match self {
            RegistryError::Ambiguous { known, .. } => Some(format!("name one of them: {}", list(known))),
            RegistryError::IdTaken { .. } => Some("give the entry another id".to_owned()),
            RegistryError::Digest { .. } => {
                Some("restore the intended file; or, if you trust the new one, write its sha256".to_owned())
            }
            RegistryError::Load(error) => error.help.clone(),
            RegistryError::Unknown { .. }
            | RegistryError::UnknownPlugin { .. }
            | RegistryError::Unreadable { .. } => None,
        }
    }
}

fn list(names: &[String]) -> String {
    gage_core::name_list(names, MAX_LISTED_PLUGINS, ", ")
}

/// Source of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    Bundled(&'static str),
    File(PathBuf),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Bundled(_) => formatter.write_str("comes with the program"),
            Origin::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// A component registered under an id.
struct RegisteredPlugin {
    id: String,
    origin: Origin,
    setup: InstanceSetup,
    /// The file it was read from; `None` if it is bundled.
    file: Option<Arc<PinnedFile>>,
    /// True if it comes from a suite or a folder, and its id is its own name.
    is_entry: bool,
    /// Loaded on first use, if its members are known without loading.
    component: Mutex<Option<AnyComponent>>,
}

/// A registered component, for listings.
#[derive(Clone, Debug)]
pub struct ListedPlugin {
    /// Id in a suite.
    pub id: String,
    /// Source of the plugin.
    pub source: String,
    /// Summary of the bytes.
    pub summary: ComponentSummary,
    /// The component's description of itself.
    pub described: PluginDescription,
}

impl ListedPlugin {
    /// Returns the kind.
    pub fn world(&self) -> World {
        self.summary.world
    }

    /// Returns the descriptions of the members.
    pub fn members(&self) -> &[MemberDescription] {
        &self.described.members
    }
}

/// Finds plugins by name or file, and loads each component once.
pub struct Registry {
    host: PluginHost,
    bundled: &'static [BundledComponent],
    registered: Vec<RegisteredPlugin>,
    is_lacking: bool,
    /// Files that a suite names without an entry in `plugins`.
    files: Mutex<HashMap<PathBuf, AnyComponent>>,
    /// Files of the components that were found, for checks while they run.
    used_files: Arc<PinnedFiles>,
    /// Components that only the program uses, by name. Each is loaded on first use.
    internal: Mutex<HashMap<&'static str, AnyComponent>>,
}

/// Bytes of a component, and the file they were read from; `None` if it is bundled.
type ReadComponent = (Cow<'static, [u8]>, Option<Arc<PinnedFile>>);

impl Registry {
    /// Creates a registry of the bundled components.
    pub fn new(host: PluginHost, bundled: &'static [BundledComponent]) -> Registry {
        let public = bundled.iter().filter(|component| !component.is_internal);
        let registered = public.map(|component| RegisteredPlugin {
            id: component.name.to_owned(),
            origin: Origin::Bundled(component.name),
            setup: InstanceSetup::default(),
            file: None,
            is_entry: false,
            component: Mutex::default(),
        });
        Registry {
            host,
            bundled,
            registered: registered.collect(),
            is_lacking: false,
            files: Mutex::default(),
            used_files: Arc::default(),
            internal: Mutex::default(),
        }
    }

    /// Returns the host that runs its plugins.
    pub fn host(&self) -> &PluginHost {
        &self.host
    }

    /// Returns the files of all components that [`Registry::find`] returned. The components themselves are in memory.
    pub fn used_files(&self) -> &Arc<PinnedFiles> {
        &self.used_files
    }

    /// Adds and loads an entry of a suite's `plugins`.
    ///
    /// # Errors
    /// If its id is taken, its file is unreadable or differs from the digest, or the component is unusable
    /// with its grants.
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
        let (origin, path) = match &spec.source {
            PluginSource::File(path) => (Origin::File(path.clone()), path.clone()),
            PluginSource::Bundled(name) => {
                (Origin::Bundled(self.bundled_named(name)?.name), PathBuf::from(name))
            }
        };
        let (limits, grants) = (spec.limits.clone(), spec.grants.clone());
        let setup = InstanceSetup { limits, grants, ..InstanceSetup::of_file(&path) };
        let (bytes, file) = self.read(&origin, &setup)?;
        let found = Digest::of_bytes(&bytes);
        if let Some(wanted) = spec.sha256
            && wanted != found
        {
            return Err(RegistryError::Digest { path, wanted, found });
        }
        let component = AnyComponent::load(&self.host, &spec.id, &bytes, &setup)?;
        // An entry for a bundled component replaces it.
        self.registered.retain(|one| one.is_entry || one.origin != origin);
        let component = Mutex::new(Some(component));
        self.register(RegisteredPlugin {
            id: spec.id.clone(),
            origin,
            setup,
            file,
            is_entry: true,
            component,
        })
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
            let (bytes, file) = self.read(&origin, &setup)?;
            let component = AnyComponent::load(&self.host, &id, &bytes, &setup)?;
            let component = Mutex::new(Some(component));
            self.register(RegisteredPlugin { id, origin, setup, file, is_entry: true, component })?;
        }
        Ok(())
    }

    fn register(&mut self, new: RegisteredPlugin) -> Result<(), RegistryError> {
        if let Some(other) = self.registered.iter().find(|one| one.id == new.id) {
            let by = match &other.origin {
                Origin::Bundled(_) => "a component that comes with the program".to_owned(),
                Origin::File(path) => path.display().to_string(),
            };
            return Err(RegistryError::IdTaken { id: new.id, by });
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

    /// Returns all components in registration order. Bundled ones with a recorded description are neither compiled nor
    /// loaded.
    ///
    /// # Errors
    /// If a component cannot be loaded.
    pub fn list(&self) -> Result<Vec<ListedPlugin>, RegistryError> {
        self.registered.iter().map(|one| self.listed(one)).collect()
    }

    fn listed(&self, one: &RegisteredPlugin) -> Result<ListedPlugin, RegistryError> {
        let (summary, described) = match self.recorded(one)? {
            Some(recorded) => recorded,
            None => {
                let component = self.component(one)?;
                (component.summary().clone(), PluginDescription::of(&component))
            }
        };
        Ok(ListedPlugin { id: one.id.clone(), source: one.origin.to_string(), summary, described })
    }

    /// Returns the summary and the recorded description of a bundled component; `None` if none is recorded.
    fn recorded(
        &self,
        one: &RegisteredPlugin,
    ) -> Result<Option<(ComponentSummary, PluginDescription)>, RegistryError> {
        let Origin::Bundled(name) = &one.origin else { return Ok(None) };
        let bundled = self.bundled_named(name)?;
        let Some(described) = PluginDescription::from_json(bundled.description) else { return Ok(None) };
        Ok(Some((summarise(&one.id, bundled.bytes)?, described)))
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
                let one = self.registered.iter().find(|one| one.id == *plugin).ok_or_else(|| {
                    let known = self.registered.iter().map(|one| one.id.clone()).collect();
                    RegistryError::UnknownPlugin { id: plugin.clone(), known }
                })?;
                (self.used(one)?, Some(member.clone()))
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
            [] => Err(RegistryError::Unknown { name: name.to_owned(), world, known }),
            several => Err(RegistryError::Ambiguous {
                name: name.to_owned(),
                world,
                plugins: several.iter().map(|one| format!("{} ({})", one.id, one.origin)).collect(),
                known: several.iter().map(|one| format!("{}#{name}", one.id)).collect(),
            }),
        }
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
        one.file.iter().for_each(|file| self.used_files.add(file));
        self.component(one)
    }

    fn component(&self, one: &RegisteredPlugin) -> Result<AnyComponent, RegistryError> {
        let mut slot = one.component.lock();
        if let Some(component) = &*slot {
            return Ok(component.clone());
        }
        // Only bundled components are loaded this late.
        let (bytes, _) = self.read(&one.origin, &one.setup)?;
        let component = AnyComponent::load(&self.host, &one.id, &bytes, &one.setup)?;
        *slot = Some(component.clone());
        Ok(component)
    }

    /// Returns the component of a file without an entry. If the same file has an entry, returns that one.
    fn file(&self, path: &Path) -> Result<AnyComponent, RegistryError> {
        let settled = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_same = |one: &&RegisteredPlugin| match &one.origin {
            Origin::File(other) => other.canonicalize().is_ok_and(|other| other == settled),
            Origin::Bundled(_) => false,
        };
        if let Some(one) = self.registered.iter().find(is_same) {
            return self.used(one);
        }
        let mut files = self.files.lock();
        if let Some(component) = files.get(&settled) {
            return Ok(component.clone());
        }
        let setup = InstanceSetup::of_file(path);
        let (bytes, file) = self.read(&Origin::File(path.to_owned()), &setup)?;
        let component = AnyComponent::load(&self.host, &path.display().to_string(), &bytes, &setup)?;
        file.iter().for_each(|file| self.used_files.add(file));
        files.insert(settled, component.clone());
        Ok(component)
    }

    /// Returns the bytes of a component. A file is pinned to them.
    fn read(&self, origin: &Origin, setup: &InstanceSetup) -> Result<ReadComponent, RegistryError> {
        match origin {
            Origin::Bundled(name) => Ok((self.bundled_named(name)?.bytes.into(), None)),
            Origin::File(path) => {
                let most = Limits::of_interpreter().with(&setup.limits).component_bytes;
                let before = std::fs::metadata(path).map(|metadata| SeenFile::of(&metadata));
                let bytes = read_component(path, most)?;
                let pinned = |before| Arc::new(PinnedFile::new(path, before, Digest::of_bytes(&bytes)));
                let file = before.ok().map(pinned);
                Ok((bytes.into(), file))
            }
        }
    }
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
