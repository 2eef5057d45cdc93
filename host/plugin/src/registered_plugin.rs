//! Components that a registry finds.

use crate::any_component::AnyComponent;
use crate::component::InstanceSetup;
use crate::inspect::ComponentSummary;
use crate::member_description::MemberDescription;
use crate::optional_component::OptionalComponent;
use crate::plugin_description::PluginDescription;
use crate::registry_error::RegistryError;
use crate::world::World;
use gage_core::PinnedFile;
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
pub(crate) struct RegisteredPlugin {
    pub(crate) id: String,
    pub(crate) origin: Origin,
    pub(crate) setup: InstanceSetup,
    /// True if it comes from a suite or a folder, and its id is its own name.
    pub(crate) is_entry: bool,
    /// Loaded on first use, if its members are known without loading.
    pub(crate) loaded: Mutex<Option<LoadedPlugin>>,
}

/// A component, and the file it was read from; `None` if it is bundled.
#[derive(Clone)]
pub(crate) struct LoadedPlugin {
    pub(crate) component: AnyComponent,
    pub(crate) file: Option<Arc<PinnedFile>>,
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
