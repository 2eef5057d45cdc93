//! Components that a registry finds.

use crate::any_component::AnyComponent;
use crate::component::InstanceSetup;
use crate::inspect::ComponentSummary;
use crate::member_description::MemberDescription;
use crate::optional_component::OptionalComponent;
use crate::plugin_description::PluginDescription;
use crate::registry_error::RegistryError;
use crate::world::World;
use gage_core::{Digest, OciReference, PinnedFile};
use gage_packages::Signer;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

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

/// Source of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Bundled(&'static str),
    File(PathBuf),
    /// A file of the installation. It is trusted like a bundled component.
    Installed(PathBuf),
    Registry(OciReference),
}

impl Origin {
    /// Returns its name in messages.
    pub(crate) fn place(&self) -> PathBuf {
        match self {
            Origin::Bundled(name) => PathBuf::from(name),
            Origin::File(path) | Origin::Installed(path) => path.clone(),
            Origin::Registry(reference) => PathBuf::from(reference.to_string()),
        }
    }

    /// Returns the name of its file, without the folder.
    pub(crate) fn file_name(&self) -> String {
        let place = self.place();
        place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Bundled(_) => formatter.write_str("comes with the program"),
            Origin::File(path) | Origin::Installed(path) => write!(formatter, "{}", path.display()),
            Origin::Registry(reference) => write!(formatter, "{reference}"),
        }
    }
}

/// A component registered under an id.
pub(crate) struct RegisteredPlugin {
    pub(crate) id: String,
    pub(crate) origin: Origin,
    pub(crate) setup: InstanceSetup,
    /// True if it comes from a suite or a folder, and its id is its own name.
    pub(crate) is_entry: bool,
    /// Loaded on first use, if its members are known without loading.
    pub(crate) loaded: Mutex<Option<LoadedPlugin>>,
}

/// A component, and where it came from.
#[derive(Clone)]
pub(crate) struct LoadedPlugin {
    pub(crate) component: AnyComponent,
    /// The file that it was read from; `None` if it is bundled or from a package.
    pub(crate) file: Option<Arc<PinnedFile>>,
    /// Digest of the manifest of its package.
    pub(crate) manifest: Option<Digest>,
    /// The signer, if the policy has a key for its source.
    pub(crate) signer: Option<Arc<Signer>>,
}

/// Where a component that did not come with the program came from.
#[derive(Clone, Debug)]
pub struct PluginOrigin {
    /// The id in the suite, or the name of the file.
    pub id: String,
    /// The address of a package, or the name of a file without its folder.
    pub source: String,
    /// Digest of the component.
    pub digest: Digest,
    /// Digest of the manifest of a package.
    pub manifest: Option<Digest>,
    /// The signer, if the policy has a key for the source.
    pub signer: Option<Arc<Signer>>,
}

impl PluginOrigin {
    pub(crate) fn of(one: &RegisteredPlugin, loaded: &LoadedPlugin) -> PluginOrigin {
        let source = match &one.origin {
            Origin::Registry(reference) => reference.to_string(),
            Origin::Bundled(_) | Origin::File(_) | Origin::Installed(_) => one.origin.file_name(),
        };
        PluginOrigin {
            id: one.id.clone(),
            source,
            digest: loaded.component.identity().digest,
            manifest: loaded.manifest,
            signer: loaded.signer.clone(),
        }
    }
}

/// An optional component, and its plugin if it is installed.
pub(crate) struct OptionalPlugin {
    pub(crate) component: &'static OptionalComponent,
    pub(crate) installed: Result<RegisteredPlugin, RegistryError>,
}

impl OptionalPlugin {
    /// Returns its plugin.
    ///
    /// # Errors
    /// If it is not installed.
    pub(crate) fn installed(&self) -> Result<&RegisteredPlugin, RegistryError> {
        self.installed.as_ref().map_err(Clone::clone)
    }
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
    /// The signer, if the policy has a key for the source. Components that are described without loading have none.
    pub signer: Option<Arc<Signer>>,
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
